"""The admission plugins that speak about groups: priority classes, the protecting finalizer, existing Workloads.

A plugin takes a Write and the schema's argument, may fill in fields of the new object, and returns its denial or None.
They run before validation (the last two of 1.36 after it) and answer 403. What they need to know of the cluster comes
in as Facts; a question that no fact answers is left open, never guessed. Schemas name them as `x-kubernetes-admission`.

Source: k8s.io/kubernetes/plugin/pkg/admission.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Fields
from krmfn.server.formats import check_path_segment
from krmfn.server.schema import Gates, Stored
from krmfn.server.spell import read_written
from krmfn.server.verdict import Cause


class PriorityClass(NamedTuple):
    """A class as the cluster has it."""

    value: int
    preemption_policy: str
    default: bool


class AdmissionFacts(NamedTuple):
    """What is known of the cluster; None where nothing is.

    `workloads` maps (namespace, name) to the template names, `gangs` holds (namespace, name) of PodGroups with a gang
    policy. With `complete` what is not listed does not exist; without it nobody knows. `accounts`: ServiceAccount
    admission is on, as in every cluster whose administrator did not turn it off.
    """

    priority_classes: Mapping[str, PriorityClass] | None = None
    runtime_classes: frozenset[str] | None = None
    workloads: Mapping[tuple[str, str], frozenset[str]] = {}
    gangs: frozenset[tuple[str, str]] = frozenset()
    complete: bool = False
    accounts: bool = True


#: Of a cluster of which nothing is known.
NO_FACTS = AdmissionFacts()


class Write(NamedTuple):
    """A request that is admitted: the `new` object, and the stored one where there is one."""

    gates: Gates
    facts: AdmissionFacts
    new: Fields
    old: Stored


def deny(rule: str, detail: str, path: Path) -> Cause:
    """A 403: its text stands behind "is forbidden:"."""
    return Cause("Forbidden", path, detail, rule)


#: Classes that every cluster has; their values are above what users may write.
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_TEXTS = {
    "pod group": "priority set in the pod group (%d) must match the priority computed (%d) based on the priority class"
    " set in the spec",
    "pod": "the integer value of priority (%d) must not be provided in pod spec; priority admission controller"
    " computed %d from the given PriorityClass name",
}


def resolve_priority(write: Write, argument: Any) -> Cause | None:
    """Priority: the class becomes a number. `argument`: {gate, noun, policy, names}, `policy` being the gate of its
    preemption, `names` the fields that have other names than in 1.37."""
    if argument.get("gate") and not write.gates.get(argument["gate"], False):
        return None
    noun: str = argument["noun"]
    spec = write.new.setdefault("spec", {})
    names = argument.get("names", {})
    field, number = names.get("priorityClassName", "priorityClassName"), names.get("priority", "priority")
    name = spec.get(field, "")
    found = _resolve(name, write.facts)
    if found is None:
        if write.facts.priority_classes is None:
            return None
        return deny("priority-class", f"no PriorityClass with name {name} was found", ("spec", field))
    class_name, value, policy = found
    given = spec.get(number)
    if given is not None and given != value:
        if write.facts.priority_classes is None and not name:
            return None  # there may be a class for all that name none
        text = _TEXTS["pod" if noun == "pod" else "pod group"].replace("the pod group", f"the {noun}")
        return deny("priority-class", text % (given, value), ("spec", number))
    spec[number] = value
    if class_name:
        spec[field] = class_name
    gate = argument.get("policy")
    if gate is not None and (gate == "" or write.gates.get(gate, False)):
        return _compare_policy(spec, names.get("preemptionPolicy", "preemptionPolicy"), policy, noun, write.facts)
    return None


def _compare_policy(spec: Fields, field: str, policy: str, noun: str, facts: AdmissionFacts) -> Cause | None:
    given = spec.get(field)
    if given is not None and given != policy:
        if facts.priority_classes is None and not spec.get("priorityClassName"):
            return None
        detail = (
            f"the string value of PreemptionPolicy ({given}) must not be provided in {noun} spec; priority admission"
            f" controller computed {policy} from the given PriorityClass name"
        )
        return deny("preemption-policy-of-class", detail, ("spec", field))
    spec[field] = policy
    return None


def _resolve(name: str, facts: AdmissionFacts) -> tuple[str, int, str] | None:
    """(class, value, preemption policy), or None when the class does not exist or nobody knows."""
    classes = facts.priority_classes
    if name:
        if classes is not None and name in classes:
            return name, classes[name].value, classes[name].preemption_policy
        if name in SYSTEM_CLASSES:
            return name, SYSTEM_CLASSES[name], "PreemptLowerPriority"
        return None
    defaults = [(found.value, name) for name, found in (classes or {}).items() if found.default]
    if defaults and classes:
        value, name = min(defaults)
        return name, value, classes[name].preemption_policy
    return "", 0, "PreemptLowerPriority"


def keep_priority(write: Write, argument: Any) -> Cause | None:
    """Priority on the update of a pod: what is left out is restored."""
    spec, before = write.new.setdefault("spec", {}), (write.old or {}).get("spec", {})
    for name in ("priority", "preemptionPolicy"):
        if name in before:
            spec.setdefault(name, before[name])
    return None


def name_account(write: Write, argument: Any) -> Cause | None:
    """ServiceAccount: a pod that names no account has the one called default; a mirror of the kubelet has none."""
    spec, metadata = write.new.setdefault("spec", {}), write.new.get("metadata", {})
    is_mirror = "kubernetes.io/config.mirror" in metadata.get("annotations", {})
    if write.facts.accounts and not is_mirror and not spec.get("serviceAccountName"):
        spec["serviceAccountName"] = "default"
    return None


def add_tolerations(write: Write, argument: Any) -> Cause | None:
    """DefaultTolerationSeconds: a pod stays 300 seconds on a node that is not ready or not reachable."""
    spec = write.new.setdefault("spec", {})
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"):
        tolerations = spec.get("tolerations", [])
        if not any(one.get("key", key) == key and one.get("effect", "NoExecute") == "NoExecute" for one in tolerations):
            added = {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            spec["tolerations"] = [*tolerations, added]
    return None


def resolve_runtime(write: Write, argument: Any) -> Cause | None:
    """RuntimeClass: the class exists, and only it says what a pod costs on top of its containers."""
    name = write.new.get("spec", {}).get("runtimeClassName")
    if name is None:
        return None
    path, wrong = ("spec", "runtimeClassName"), check_path_segment(name)
    if wrong or not name:
        detail = (
            f"invalid resource name {quote(name)}: [{' '.join(wrong)}]" if name else "resource name may not be empty"
        )
        return Cause("InternalError", path, detail, "runtime-class")
    if write.facts.runtime_classes is not None and name not in write.facts.runtime_classes:
        return deny("runtime-class", f"pod rejected: RuntimeClass {quote(name)} not found", path)
    return None


def check_overhead(write: Write, argument: Any) -> Cause | None:
    """RuntimeClass: without a class there is no overhead."""
    spec = write.new.get("spec", {})
    if ("overhead" not in spec and read_written(write.new, "spec", "overhead") is None) or "runtimeClassName" in spec:
        return None
    detail = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    return deny("runtime-class", detail, ("spec", "overhead"))


def add_finalizer(write: Write, argument: Any) -> Cause | None:
    """PodGroupProtection: a finalizer is appended. `argument` is its name."""
    meta = write.new.setdefault("metadata", {})
    if argument not in meta.get("finalizers", ()):
        meta["finalizers"] = [*meta.get("finalizers", ()), argument]
    return None


def check_workload_exists(write: Write, argument: Any) -> Cause | None:
    """PodGroupWorkloadExists of 1.36: the template that a group names is there."""
    reference = write.new.get("spec", {}).get("podGroupTemplateRef", {}).get("workload")
    if reference is None:
        return None
    workload = reference.get("workloadName", "")
    template = reference.get("podGroupTemplateName", "")
    path = ("spec", "podGroupTemplateRef", "workload")
    templates = write.facts.workloads.get((write.new["metadata"].get("namespace", ""), workload))
    if templates is None:
        if not write.facts.complete:
            return None
        return deny("workload-exists", f"PodGroup rejected: Workload {quote(workload)} not found", path)
    if template in templates:
        return None
    detail = f"PodGroup rejected: PodGroupTemplate {quote(template)} not found in Workload {quote(workload)}"
    return deny("workload-exists", detail, path)


def check_gang_parallelism(write: Write, argument: Any) -> Cause | None:
    """JobValidation of 1.36: parallelism stays while the Job's group is a gang."""
    if write.old is None:
        return None
    spec, before = write.new.get("spec", {}), write.old.get("spec", {})
    if spec.get("parallelism") == before.get("parallelism"):
        return None
    group = before.get("template", {}).get("spec", {}).get("schedulingGroup", {}).get("podGroupName")
    if group is None or (write.old["metadata"].get("namespace", ""), group) not in write.facts.gangs:
        return None
    detail = f"cannot change parallelism for a Job referencing gang-scheduled PodGroup {quote(group)}"
    return deny("gang-parallelism", detail, ("spec", "parallelism"))
