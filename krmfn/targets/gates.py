"""Which feature gates the objects of a gang need, and what to do when one is off. One table per release.

Source: section 1.2 of the API reference (pkg/features of each release); observed on live servers for 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from krmfn.model.findings import Note

#: Gate -> fields of `spec`, at any depth, that need it. The first gates of a release are needed by every object.
_FIELDS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "1.35": {},
    "1.36": {
        "TopologyAwareWorkloadScheduling": frozenset({"schedulingConstraints"}),
        "WorkloadAwarePreemption": frozenset({"disruptionMode", "priorityClassName"}),
    },
    "1.37": {
        "TopologyAwareWorkloadScheduling": frozenset({"schedulingConstraints", "compositePodGroupTemplates"}),
        "CompositePodGroup": frozenset({"compositePodGroupTemplates", "parentCompositePodGroupName"}),
        "PodGroupPreemptionPolicy": frozenset({"preemptionPolicy"}),
    },
}
_ALWAYS: Final[Mapping[str, tuple[str, ...]]] = {
    "1.35": ("GenericWorkload", "GangScheduling"),
    "1.36": ("GenericWorkload", "GangScheduling"),
    "1.37": ("GenericWorkload",),
}
_WAYS_OUT: Final[Mapping[str, str]] = {
    "TopologyAwareWorkloadScheduling": "Turn the gate on, or ask for no topology key and for granularity Cluster.",
    "CompositePodGroup": "Turn the gate on (it needs TopologyAwareWorkloadScheduling), or use granularity Cluster.",
    "WorkloadAwarePreemption": "Turn the gate on, or ask for no disruption mode.",
}


def needed_gates(release: str, objects: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The gates without which the API server drops a field of these objects, or the scheduler ignores them."""
    fields: set[str] = set()
    found = False
    for value in objects:
        found = True
        _collect(value.get("spec"), fields)
    if not found:
        return ()
    more = (gate for gate, needs in _FIELDS[release].items() if needs & fields)
    return (*_ALWAYS[release], *more)


def _collect(value: Any, into: set[str]) -> None:
    if isinstance(value, dict):
        into.update(value)
        value = value.values()
    elif not isinstance(value, list):
        return
    for child in value:
        if isinstance(child, dict | list):
            _collect(child, into)


def check_gates(needed: Iterable[str], given: Mapping[str, bool]) -> Iterator[Note]:
    """An error for every needed gate that the configuration turns off."""
    for gate in needed:
        if given.get(gate) is False:
            message = f"the gang needs the feature gate {gate}, which the configuration turns off"
            yield Note("gate-off", (), message, False, True, _WAYS_OUT.get(gate, "Turn the gate on."))


def note_gates(release: str, needed: Iterable[str], given: Mapping[str, bool]) -> Note | None:
    """What to turn on in the cluster, for one line per run: the needed gates that the configuration does not name.

    None when it names all of them. Call it once with the gates of all emissions.
    """
    missing = [gate for gate in dict.fromkeys(needed) if gate not in given]
    if not missing:
        return None
    gates = ",".join(f"{gate}=true" for gate in missing)
    where = "on kube-apiserver and kube-scheduler"
    message = f"on Kubernetes {release} the generated groups need --feature-gates={gates} {where}"
    hint = (
        f"They also need --runtime-config={_SERVED[release]} on kube-apiserver; "
        "name the gates in the configuration to confirm them."
    )
    return Note("gates-needed", (), message, hint=hint)


_SERVED: Final[Mapping[str, str]] = {
    "1.35": "scheduling.k8s.io/v1alpha1=true",
    "1.36": "scheduling.k8s.io/v1alpha2=true",
    "1.37": "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true",
}
