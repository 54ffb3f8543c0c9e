"""What to say of the feature gates that the objects of a gang need."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from krmfn.model.findings import Note
from krmfn.releases.release import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_NONE: Final[Mapping[str, str]] = {}
_WAYS_OUT: Final[Mapping[str, str]] = {
    "TopologyAwareWorkloadScheduling": "Turn the feature gate on, or use granularity Cluster without a topology key.",
    "CompositePodGroup": (
        "Turn the feature gate on (it requires TopologyAwareWorkloadScheduling), or use granularity Cluster."
    ),
    "WorkloadAwarePreemption": "Turn the feature gate on, or remove the disruption mode.",
}


def check_gates(needed: Iterable[str], given: Mapping[str, bool]) -> Iterator[Note]:
    """An error for every needed gate that the configuration turns off."""
    for gate in needed:
        if given.get(gate) is False:
            message = f"the gang needs the feature gate {gate}, which the configuration turns off"
            yield Note("gate-off", (), message, False, True, _WAYS_OUT.get(gate, "Turn the feature gate on."))


def note_gates(
    release: Release, needed: Iterable[str], given: Mapping[str, bool], pinned: Mapping[str, str] = _NONE
) -> Note | None:
    """What to turn on in the cluster, for one line per run: the needed gates that the configuration does not name.

    None when it names all of them. Call it once with the gates of all emissions; `pinned` are versions of kinds.
    """
    missing = [gate for gate in dict.fromkeys(needed) if gate not in given and not release.gates[gate].default]
    if not missing:
        return None
    gates = ",".join(f"{gate}=true" for gate in missing)
    where = "on kube-apiserver and kube-scheduler"
    message = f"on Kubernetes {release} the generated groups need --feature-gates={gates} {where}"
    kept = {kind: version for kind, version in pinned.items() if version in release.kinds.get(kind, ())}
    versions = dict.fromkeys(release.api_version(kind, pinned=kept.get(kind, "")) for kind in release.kinds)
    served = ",".join(f"{version}=true" for version in versions if re.search("alpha|beta", version))
    hint = "list the gates in the configuration to confirm them."
    if served:
        hint = f"They also need --runtime-config={served} on kube-apiserver; {hint}"
    return Note("gates-needed", (), message, hint=hint[0].upper() + hint[1:])
