"""The rules behind the notes that targets leave, as rows of the catalogue. Knows no target."""

from __future__ import annotations

from typing import Final

from krmfn.model.findings import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        "priority-not-shared", "scheduler", "error",
        "The pods of one gang have different priority classes.",
        "The scheduler compares the priority of every pod with that of the root group and refuses the whole gang "
        "when one differs. The API server wants one priority configuration for all templates of a Workload.",
        "Write the same `priorityClassName` into every pod template of the gang, or none into all of them. "
        "Resources that need different priorities cannot be one gang.",
        ("1.36", "1.37"), ("R24", "C22"),
    ),
    Rule(
        "scheduler-not-shared", "scheduler", "error",
        "The pods of one gang have different schedulers.",
        "A scheduler counts only the pods that it serves, so a gang that is split between two schedulers never "
        "has enough members and waits without any event.",
        "Write the same `schedulerName` into every pod template of the gang, or none into all of them. With "
        "`scheduler: Volcano` the only name that fits is `volcano`.",
        (), ("R13", "R23"),
    ),
    Rule(
        "preemption-policy-not-shared", "scheduler", "error",
        "The pods of one gang have different preemption policies.",
        "The scheduler wants one preemption policy for all pods of a tree of groups and refuses the gang "
        "otherwise.",
        "Use one priority class for all pod templates of the gang; the policy comes from the class.",
        ("1.37",), ("R25",),
    ),
    Rule(
        "quorum-out-of-bounds", "scheduler", "error",
        "More pods or groups would have to start together than there can be.",
        "A group whose `minCount` is larger than the number of its pods waits for ever, and nothing says so: no "
        "condition, no event. The same holds for `minGroupCount` and the number of groups.",
        "Ask for a number from 1 to the number of pods. Without `krmfn.dev/min-count` it is the number of pods "
        "itself.",
        (), ("R3", "R11", "R21", "R22"),
    ),
    Rule(
        "gate-off", "scheduler", "error",
        "The gang needs a feature gate that the configuration turns off.",
        "With the gate off the API server does not serve the kind, or drops the field silently, or the scheduler "
        "ignores the groups: pods are scheduled one by one although the manifests look right.",
        "Turn the gate on in the cluster and in the configuration, or ask for what does without it: granularity "
        "Cluster needs neither CompositePodGroup nor TopologyAwareWorkloadScheduling.",
        (), ("R5", "R17", "R32", "KEP-4671"),
    ),
    Rule(
        "gates-needed", "scheduler", "info",
        "The generated groups need feature gates that are off by default.",
        "All gates of workload-aware scheduling are off by default in every release, and the API versions have to "
        "be enabled, too. The manifests cannot show whether a cluster has them.",
        "Turn them on for kube-apiserver and kube-scheduler (and GenericWorkload for kube-controller-manager, "
        "which removes the finalizer of PodGroups), and name them under `kubernetes.featureGates` to confirm it.",
        (), ("R5", "R32", "KEP-4671", "KEP-6012"),
    ),
    Rule(
        "groups-do-not-fit", "scheduler", "error",
        "A resource has more groups than one Workload can describe.",
        "A list of templates holds 8 entries. Kubernetes 1.37 can nest them, four levels deep; earlier releases "
        "cannot.",
        "Use granularity Cluster: one group that counts all pods has no limit. It is also the form that needs the "
        "fewest feature gates.",
        (), ("A3", "B3", "C2", "C21"),
    ),
    Rule(
        "groups-nested", "scheduler", "info",
        "Groups are nested because a list of a Workload holds 8.",
        "The groups beyond the eighth move into composites that require all of their children, so the gang as a "
        "whole behaves as if the list were long enough.",
        "Nothing to do.",
        ("1.37",), ("C2", "KEP-6012"),
    ),
    Rule(
        "group-renamed", "scheduler", "info",
        "A group has another name in the Workload than in the manifest.",
        "Names of templates are DNS labels of at most 63 characters, unique in the whole Workload. Other names "
        "are turned into one, with a digest behind it so that two of them never meet.",
        "Nothing to do; a group name that is a DNS label is used as it is.",
        (), ("A4", "B5", "C4", "C20"),
    ),
    Rule(
        "groups-apart", "scheduler", "warning",
        "The groups of one resource are scheduled one by one.",
        "Before Kubernetes 1.37 groups have no relation to each other. When two clusters compete, the head of the "
        "loser is bound and keeps its node although its workers never start, and two clusters can block each "
        "other for ever.",
        "Use granularity Cluster: one group over head and workers starts completely or not at all.",
        ("1.35", "1.36"), ("R43",),
    ),
    Rule(
        "topology-loosened", "scheduler", "warning",
        "A topology key holds for each group by itself, not for all together.",
        "Without trees of groups there is no place for a constraint over several groups, so it is written into "
        "each of them. Two groups can then land in two different domains.",
        "Use granularity Cluster with the topology key, or Kubernetes 1.37.",
        ("1.36",), ("KEP-5732", "KEP-6012"),
    ),
    Rule(
        "topology-lost", "scheduler", "warning",
        "A topology key cannot be expressed for this target.",
        "The objects are generated without it, so pods of the gang may be spread over several domains.",
        "Ask for no topology key, or generate for a release whose groups have constraints (1.36 and later; "
        "different keys per group together with one over all of them need 1.37).",
        (), ("KEP-5732",),
    ),
    Rule(
        "disruption-mode-lost", "scheduler", "warning",
        "A disruption mode cannot be expressed for this target.",
        "The objects are generated without it, so pods of the gang may be preempted one by one.",
        "Ask for no disruption mode, or generate for Kubernetes 1.36 or later.",
        (), ("KEP-5710",),
    ),
    Rule(
        "name-taken", "gitops", "error",
        "A generated object would have the name of an object that is not generated.",
        "Two objects of one kind, namespace and name are one object to the API server: whichever is applied last "
        "wins. The tool changes only what carries its own mark.",
        "Rename the other object, or put the resource into a gang with a name of its own (`krmfn.dev/gang- "
        "group`). An object that the tool is to take over needs the annotation `krmfn.dev/generated-from` with "
        "its source.",
        (), (),
    ),
    Rule(
        "generated-names-meet", "gitops", "error",
        "Two resources would generate objects of the same name.",
        "Names are made of kind, resource and group: the group `b` of a resource `a` and the resource `a-b` can "
        "end up at the same one.",
        "Rename the resource or the group, or use granularity Cluster for the first of them, which needs no names "
        "for groups.",
        (), (),
    ),
    Rule(
        "name-of-operator", "operator", "error",
        "A generated object would have a name that the operator uses for its own.",
        "KubeRay adopts or rewrites what it finds under the name of its own PodGroup or Workload, or refuses to "
        "create any pod because the object is not its own.",
        "Rename the resource or the gang group, or let the operator create the group alone (`krmfn.dev/gang: "
        "\"false\"`).",
        (), ("KubeRay 1.7.0: controllers/ray/batchscheduler",),
    ),
    Rule(
        "link-foreign", "scheduler", "warning",
        "The pods of a resource are linked to a group that is not generated.",
        "A pod belongs to one group. Somebody has chosen it by hand, so nothing is generated for this resource.",
        "Remove the field to let the tool link the pods, or say `krmfn.dev/gang: \"false\"` to keep the link and "
        "silence this.",
        (), (),
    ),
    Rule(
        "link-partly-foreign", "scheduler", "error",
        "Some pods of a gang are linked to a group that is not generated.",
        "They would not count in the generated group, which would wait for them for ever.",
        "Remove the field from all pod templates of the resource, or say `krmfn.dev/gang: \"false\"` and link all "
        "of them by hand.",
        (), ("R11", "R21"),
    ),
    Rule(
        "generated-left-over", "gitops", "info",
        "A generated object's source is not in the input.",
        "The source may be deleted, renamed, or in a file that was not given: the tool cannot tell, so it leaves "
        "the object as it is.",
        "Give the tool the whole directory. When the source is gone, delete the object, too.",
        (), (),
    ),
    Rule(
        "edit-refused", "gitops", "error",
        "A manifest cannot be edited without changing something else.",
        "The place to edit is reached through an anchor, an alias or a merge key that other parts of the file "
        "use, too.",
        "Write the pod template out, or link it by hand.",
        (), (),
    ),
    Rule(
        "scheduler-not-volcano", "scheduler", "error",
        "The pods name another scheduler than Volcano.",
        "Volcano counts only pods with `schedulerName: volcano`, so the group would never have enough members.",
        "Remove `schedulerName` from the pod templates: the tool sets it. Or take the resource out of the gang.",
        (), ("volcano 1.15: plugins/gang",),
    ),
    Rule(
        "queue-not-shared", "scheduler", "error",
        "The resources of one gang are in different queues.",
        "A PodGroup of Volcano is in one queue, and its resources are counted there.",
        "Write the same `volcano.sh/queue-name` label on all resources of the gang, or on one of them.",
        (), ("KubeRay: controllers/ray/batchscheduler/volcano",),
    ),
    Rule(
        "generated-not-selected", "gitops", "info",
        "A generated object's source is not selected by this configuration.",
        "Another configuration may have generated it: two of them, with a selector each, can stand in one "
        "kustomization. So the object stays.",
        "To have it removed, set `krmfn.dev/gang: \"false\"` on the resource, or delete the object.",
        (), (),
    ),
)  # fmt: skip
