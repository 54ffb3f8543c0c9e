"""Feature gates of the scheduling API: where each is needed, on what it depends, and whether a run takes it as on.

A gate that nobody names is taken as on when manifests need it; the opt-in gates are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

APISERVER: Final = "kube-apiserver"
CONTROLLERS: Final = "kube-controller-manager"
SCHEDULER: Final = "kube-scheduler"
_ALL: Final = (APISERVER, CONTROLLERS, SCHEDULER)

#: Gates that change what happens to objects which do not mention them: on only when the settings say so.
OPT_IN: Final = frozenset({"WorkloadWithJob", "PodGroupPreemptionPolicy"})

#: Per release: gate, the gates it depends on, the components that need it.
GATES: Final[Mapping[str, Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]]] = {
    "1.35": {
        "GenericWorkload": ((), (APISERVER, SCHEDULER)),
        "GangScheduling": (("GenericWorkload",), (SCHEDULER,)),
    },
    "1.36": {
        "GenericWorkload": ((), _ALL),
        "GangScheduling": (("GenericWorkload",), (SCHEDULER,)),
        "WorkloadAwarePreemption": (("GangScheduling",), (APISERVER, SCHEDULER)),
        "TopologyAwareWorkloadScheduling": (("GenericWorkload",), (APISERVER, SCHEDULER)),
        "DRAWorkloadResourceClaims": (("GenericWorkload",), _ALL),
        "WorkloadWithJob": (("GenericWorkload",), (APISERVER, CONTROLLERS)),
    },
    "1.37": {
        "GenericWorkload": ((), _ALL),
        "TopologyAwareWorkloadScheduling": (("GenericWorkload",), (APISERVER, SCHEDULER)),
        "CompositePodGroup": (("GenericWorkload", "TopologyAwareWorkloadScheduling"), _ALL),
        "DRAWorkloadResourceClaims": (("GenericWorkload",), _ALL),
        "WorkloadWithJob": (("GenericWorkload",), (APISERVER, CONTROLLERS)),
        "PodGroupPreemptionPolicy": (("GenericWorkload",), (APISERVER, SCHEDULER)),
    },
}


def is_on(given: Mapping[str, bool], gate: str) -> bool:
    """Whether a run that was given these gates takes `gate` as on."""
    return given.get(gate, gate not in OPT_IN)


def complete(given: Mapping[str, bool], release: str) -> dict[str, bool]:
    """`given` as kube-apiserver reads its flag: where a gate is turned on, those that are not named have their default,
    which is off for all of them. Where gates are only turned off, the others stay open (see is_on)."""
    others = dict.fromkeys(GATES[release], False) if any(given.values()) else {}
    return {**others, **given}


def assume_gates(given: Mapping[str, bool], release: str, text: str) -> Mapping[str, bool]:
    """Every gate for a question to the server about the object `text`.

    Gates that nobody named are on; the one that changes objects by itself only where the object speaks of it.
    """
    gates = {gate: given.get(gate, True) for gate in GATES[release]}
    if _PREEMPTION not in given:
        gates[_PREEMPTION] = "preemptionPolicy" in text
    return {**gates, **given}


_PREEMPTION: Final = "PodGroupPreemptionPolicy"
