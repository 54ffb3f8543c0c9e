"""The rows of the stage `server`: what each rule of the API server is called here, why it is there, what to do.

A rule id stands for a keyword or a hand-written rule; the texts of findings are the server's own.
"""

from __future__ import annotations

from krmfn.findings import Rule

_R = "reference "
_GROUPS = ("1.36", "1.37")


def _error(id: str, sentence: str, why: str, fix: str, *sources: str, releases: tuple[str, ...] = ()) -> Rule:
    return Rule(id, "server", "error", sentence, why, fix, releases, sources)


_DECODING = (
    _error(
        "unknown-field",
        "The object has a field that its kind does not have.",
        "With strict field validation, which kubectl asks for, the server refuses the object with HTTP 400. Without it the"
        " field is silently lost. Field names are case-sensitive.",
        "Correct the name; the hint names the nearest one that the kind has.",
        _R + "2.1",
    ),
    _error(
        "duplicate-field",
        "A key stands twice in one object.",
        "The server refuses it with HTTP 400 under strict field validation; other readers keep one of the two, and not all"
        " the same one.",
        "Keep one of the two.",
        _R + "2.1",
    ),
    _error(
        "wrong-type",
        "A value has another type than the field: a text for a number, a list for an object, a number out of range.",
        "The server cannot decode the object and answers HTTP 400; it names the first such field only, and looks at nothing"
        " else. Integers must be written as integers: `1.0` is refused.",
        "Write the value in the type that the message names.",
        _R + "2.1",
    ),
    _error(
        "bad-value",
        "A text cannot be read as the time or quantity that it should be.",
        "The server cannot decode the object and answers HTTP 400.",
        "Write times as RFC 3339 (`2026-01-31T12:00:00Z`) and quantities with a known suffix.",
        _R + "2.1",
    ),
    _error(
        "wrong-kind",
        "apiVersion or kind do not fit the address that the object is sent to.",
        "The server answers HTTP 400.",
        "Correct apiVersion and kind.",
        _R + "2.1",
    ),
    _error(
        "namespace-of-request",
        "The object's namespace is not the one that it is sent to.",
        "The server answers HTTP 400.",
        "Send it to its own namespace, or leave the namespace out.",
        _R + "2.2",
    ),
    _error(
        "name-of-request",
        "The object's name is not the one that it is sent to.",
        "A name is part of the address and cannot change; the server answers HTTP 400.",
        "Keep the name, or create a new object.",
        _R + "2.2",
    ),
    _error(
        "version-not-served",
        "The release does not serve the kind in this API version, or not at all.",
        "The alpha versions of the scheduling API exist in one release each, and a kind is served only while its feature"
        " gates are on. The server answers HTTP 404.",
        "Use the version of the release; `krmfn convert` rewrites the objects.",
        _R + "1.1",
    ),
)

_DECLARATIVE = (
    _error("required", "A required field is missing, empty or zero.", "To the server a missing field is its zero value:"
           " `gang: {}` has minCount 0 and fails as required.", "Give the field a value.", _R + "2.3"),
    _error("minimum", "A number is too small.", "The bound is part of the API.", "Raise the number.", _R + "2.3"),
    _error("maximum", "A number is too large.", "The bound is part of the API; priorities above 1000000000 belong to the"
           " system.", "Lower the number.", _R + "2.3"),
    _error("max-items", "A list has too many entries.", "Lists of the scheduling API are short: 8 templates, 4 claims, 1"
           " topology key. The entries themselves are not looked at then.", "Shorten the list; more than 8 templates fit"
           " into nested composite templates.", _R + "2.3"),
    _error("unique-key", "Two entries of a list have the same key.", "Entries are told apart by their key, which is the"
           " name in most lists.", "Rename one of them.", _R + "2.3"),
    _error("enum", "A text is none of the values that the field can have.", "The values are spelled exactly as the message"
           " lists them.", "Use one of the values.", _R + "2.3"),
    _error("union", "Of fields that exclude each other none or several are set.", "A policy is basic or gang, a mode is"
           " single or all, a claim names a claim or a template.", "Set exactly one of them.", _R + "2.3"),
    _error("immutable", "A field that cannot change was changed, set or cleared.", "What the scheduler acts on is fixed"
           " when the object is created.", "Restore the old value, or create the object under a new name.", _R + "2.3"),
    _error("no-set", "A field was set that can be set on creation only.", "The shape of a policy is fixed when the object"
           " is created.", "Leave it out, or create the object under a new name.", _R + "2.3"),
    _error("no-unset", "A field was cleared that can only be set on creation.", "The shape of a policy is fixed when the"
           " object is created.", "Restore it, or create the object under a new name.", _R + "2.3"),
    _error("no-add-item", "An entry was added to a list that is fixed on creation.", "Running groups refer to the entries"
           " by name. A renamed entry counts as one removed and one added.", "Create the object under a new name.",
           _R + "2.3", releases=("1.37",)),
    _error("no-remove-item", "An entry was taken out of a list that is fixed on creation.", "Running groups refer to the"
           " entries by name. A renamed entry counts as one removed and one added.", "Restore the entry.", _R + "2.3",
           releases=("1.37",)),
    _error("feature-gate", "A field was changed whose feature gate is off.", "A stored object may keep such a field, but"
           " not change it.", "Restore the old value, or turn the gate on.", _R + "4.5, 5.9", releases=_GROUPS),
    _error("format-short-name", "A name is no DNS label.", "Names of templates and claims become parts of other names.",
           "Use at most 63 lower case letters, digits and dashes, with a letter or digit at both ends.", _R + "2.2"),
    _error("format-long-name", "A name is no DNS subdomain.", "It names another object, whose name has that form.",
           "Use at most 253 lower case letters, digits, dashes and dots.", _R + "2.2"),
    _error("format-label-key", "A text is no label key.", "A topology key is the key of a node's label.",
           "Write `name` or `prefix/name`, such as topology.kubernetes.io/zone.", _R + "2.2"),
    _error("format-path-segment-name", "A text cannot stand in a URL.", "It names an object by which it is fetched.",
           "Leave out `/` and `%`.", _R + "2.2"),
)  # fmt: skip

_TREES = (
    _error("unique-template-names", "A template's name is used again elsewhere in the tree.", "Groups refer to a template"
           " by its name alone, whatever its level.", "Rename one of them.", "C20", releases=("1.37",)),
    _error("max-tree-depth", "The tree of templates is deeper than four levels.", "The scheduler walks at most four.",
           "Put at most three composite levels above the leaf templates.", "C21", releases=("1.37",)),
    _error("single-priority", "The templates of a Workload have different priorities.", "One tree is scheduled and"
           " preempted as one; a template without a class differs from one with a class.", "Give every template the same"
           " priorityClassName and priority, or none.", "C22", releases=("1.37",)),
    _error("composite-has-children", "A composite template has no template below it.", "A group of nothing would wait"
           " forever.", "Add a template, or remove the composite one.", "C12", releases=("1.37",)),
    _error("parent-needs-workload-ref", "A PodGroup names a parent but no Workload.", "The parent's tree is described by a"
           " Workload.", "Set spec.workloadRef.", "C17", releases=("1.37",)),
    _error("claim-status-name", "The status of a claim belongs to no claim of the spec.", "Statuses are told apart by the"
           " claim's name.", "Use the name of an entry of spec.resourceClaims.", "B40", releases=_GROUPS),
    _error("conditions", "A condition in the status is malformed.", "Conditions are read by other programs.",
           "Give type, status, reason and lastTransitionTime as the API conventions say.", "B43", releases=_GROUPS),
    _error("pod-groups", "The groups of a Workload of 1.35 are malformed.", "Release 1.35 checks them all by hand.",
           "See the message.", "A2-A8", releases=("1.35",)),
    _error("controller-ref", "The controllerRef of a Workload of 1.35 is malformed.", "It names the object that made the"
           " Workload.", "See the message.", "A9-A12", releases=("1.35",)),
)  # fmt: skip

_METADATA = (
    _error("metadata-name", "metadata.name or generateName is missing or malformed.", "Names are part of addresses.",
           "Use lower case letters, digits, dashes and dots.", _R + "2.2"),
    _error("metadata-namespace", "metadata.namespace is no DNS label.", "Namespaces are named like that.",
           "Use at most 63 lower case letters, digits and dashes.", _R + "2.2"),
    _error("metadata-label", "A label's key or value is malformed.", "Selectors are written in the same form.",
           "Use at most 63 letters, digits, `-`, `_` and `.`, with an optional DNS prefix before the key.", _R + "2.2"),
    _error("metadata-annotation", "An annotation's key is malformed, or all of them are too large.", "Keys have the form"
           " of label keys; together annotations have at most 256 KiB.", "Correct the key.", _R + "2.2"),
    _error("metadata-owner", "An owner reference is incomplete, or two of them are controllers.", "The garbage collector"
           " follows them.", "Leave ownerReferences out of Git: the uid is not known there.", _R + "2.2"),
    _error("metadata-finalizer", "A finalizer's name is malformed or has no domain.", "An object with an unknown finalizer"
           " can never be deleted.", "Write `domain/name`.", _R + "2.2"),
    _error("metadata-generation", "metadata.generation is negative.", "The server counts it.", "Leave it out.",
           _R + "2.2"),
    _error("metadata-managed-fields", "metadata.managedFields is malformed.", "The server writes it.", "Leave it out.",
           _R + "2.2"),
    _error("metadata-immutable", "A field of metadata that only the server writes was changed.", "uid and the timestamps"
           " identify the stored object.", "Leave the field out.", _R + "2.2"),
    _error("resource-version", "An update does not say which version it replaces.", "In 1.37 the server refuses such a PUT"
           " of the scheduling kinds.", "Use apply, or add metadata.resourceVersion.", _R + "2.4", releases=("1.37",)),
)  # fmt: skip

_ADMISSION = (
    _error("priority-class", "The PriorityClass does not exist, or `priority` is not its value.", "The server resolves the"
           " class when the group is created and answers HTTP 403.", "Name a class that exists and leave `priority` out.",
           _R + "8.2"),
    _error("preemption-policy-of-class", "preemptionPolicy is not that of the PriorityClass.", "A group without a policy"
           " is first given PreemptLowerPriority; a class with Never then refuses it with HTTP 403.",
           "Write the policy of the class.", _R + "8.2"),
    _error("workload-exists", "The Workload, or the template in it, does not exist.", "Release 1.36 looks it up when a"
           " PodGroup is created and answers HTTP 403.", "Create the Workload first.", _R + "8.2", releases=("1.36",)),
    _error("gang-parallelism", "parallelism of a Job was changed whose PodGroup is a gang.", "In 1.36 minCount cannot"
           " follow; the server answers HTTP 403.", "Create a new Job.", _R + "8.2", releases=("1.36",)),
)  # fmt: skip

_PODS = (
    _error("scheduling-group", "schedulingGroup of a pod is malformed.", "It names the PodGroup that the pod belongs to.",
           "Set podGroupName to the PodGroup's name.", "P4, P5", releases=_GROUPS),
    _error("workload-ref", "workloadRef of a pod is malformed.", "It names the Workload and the group of a pod in 1.35.",
           "Set name and podGroup.", "P1-P3", releases=("1.35",)),
    _error("pod-immutable", "A field of a pod was changed that cannot change.", "The group, like most fields, is fixed"
           " when the pod is created.", "Create a new pod.", "P6"),
    _error("pod-containers", "A pod has no container.", "Every pod runs something.", "Add a container."),
    _error("pod-priority", "The priority class or preemption policy of a pod is malformed.", "They must be those of the"
           " pod's group.", "Name a PriorityClass and leave the policy out.", _R + "6.3"),
    _error("pod-claims", "A resource claim of a pod is malformed.", "A pod shares a claim of its group by an equal entry.",
           "Give name and one of resourceClaimName and resourceClaimTemplateName.", _R + "6.3"),
    _error("gang-within-parallelism", "The gang of a Job is larger than its parallelism.", "It would never be complete.",
           "Lower minCount, raise parallelism, or leave minCount out.", "J4", releases=("1.37",)),
    _error("all-needs-gang", "The disruption mode `all` stands without a gang policy.", "Pods that start one by one cannot"
           " be preempted as one.", "Use a gang policy, or the mode `single`.", "J8", releases=("1.37",)),
    _error("policy-variant", "The scheduling policy of a Job was switched between basic and gang.", "Only minCount can"
           " change.", "Create a new Job.", "J22", releases=("1.37",)),
    _error("job-counts", "A count of a Job is negative, or one that it needs is missing.", "The group's size is taken from"
           " them.", "See the message.", _R + "7.3"),
    _error("job-completion-mode", "The completion mode of a Job and its counts do not fit.", "Indexed Jobs need"
           " completions, and some counts need Indexed.", "See the message."),
    _error("job-selector", "The selector or the generated labels of a Job do not fit.", "The server generates both; a PUT"
           " must repeat them.", "Use apply, and leave selector and the labels out."),
    _error("job-hostname", "Pods of an Indexed Job would get a host name that is no DNS label.", "It is the Job's name and"
           " the index.", "Shorten the Job's name."),
    _error("job-restart-policy", "restartPolicy of a Job's pods is missing or Always.", "A Job ends; its pods must too.",
           "Use Never or OnFailure."),
    _error("job-immutable", "A field of a Job was changed that cannot change.", "The template, and with it the link to a"
           " group, is fixed when the Job is created.", "Create a new Job.", _R + "6.3"),
    _error("cronjob-schedule", "schedule or concurrencyPolicy of a CronJob is missing or unknown.", "A CronJob needs a"
           " schedule.", "Set spec.schedule."),
)  # fmt: skip

_OTHERS = (
    Rule("dropped-field", "server", "info", "A field is silently removed because its feature gate is off.", "The server"
         " stores the object without the field and says nothing. What is dropped is not checked either.",
         "Turn the gate on, or leave the field out.", (), (_R + "4.5, 5.9",)),
    Rule("server-warning", "server", "warning", "The server accepts the object with a warning.", "kubectl prints it.",
         "See the message."),
    Rule("priority-class-unknown", "server", "info", "Whether a PriorityClass exists cannot be told from Git.", "The"
         " server refuses a group or pod with HTTP 403 when its class does not exist.", "Give the cluster's"
         " PriorityClasses as facts.", (), (_R + "8.2",)),
)  # fmt: skip

RULES: tuple[Rule, ...] = (*_DECODING, *_DECLARATIVE, *_TREES, *_METADATA, *_ADMISSION, *_PODS, *_OTHERS)
