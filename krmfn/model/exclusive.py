"""Exclusive placement: an annotation by which JobSet and LeaderWorkerSet place each job alone in a topology domain.

The other pods of a job go where its first pod went, so that they are created only after that one has a node. Source:
kubernetes-sigs/jobset `pkg/webhooks/pod_webhook.go` (ValidateCreate refuses the others until then) and
`pkg/controllers/jobset_controller.go` (labelAndAnnotateObject); kubernetes-sigs/lws `pkg/controllers/pod_controller.go`
(no StatefulSet of workers until then).
"""

from __future__ import annotations

from typing import NamedTuple

from krmfn.krm.paths import Path, Texts, dig

JOBSET = "alpha.jobset.sigs.k8s.io/exclusive-topology"
#: The nodes carry the names of their jobs already, so that no pod waits for another. Its value does not matter.
LABELLED = "alpha.jobset.sigs.k8s.io/node-selector"
LEADER_WORKER_SET = "leaderworkerset.sigs.k8s.io/exclusive-topology"

_JOBS = "replicatedJobs"
_SET = "leaderWorkerTemplate"


class Exclusive(NamedTuple):
    """An annotation in force: its path, its topology key, and whether a job's other pods wait for the first."""

    path: Path
    key: str
    waits: bool


def find_exclusive(value: object, template: Path) -> Exclusive | None:
    """The exclusive placement of the pods of `template`, the path of a pod template of a JobSet or LeaderWorkerSet, or
    of one that the object `value` wraps. None without, and for other kinds."""
    if _SET in template:
        key, owners = LEADER_WORKER_SET, [template[: template.index(_SET) - 1]]
    elif _JOBS in template:
        start = template.index(_JOBS)
        # A job's own annotation goes before that of the JobSet, and both before that of the pods.
        key, owners = JOBSET, [template[: start + 3], template[: start - 1], template]
    else:
        return None
    places = [(*owner, "metadata", "annotations") for owner in owners]
    read = [_read(value, place) for place in places]
    labelled = key == JOBSET and (LABELLED in read[2] or any(JOBSET in found and LABELLED in found for found in read))
    for place, found in zip(places, read, strict=True):
        if key in found:
            return Exclusive((*place, key), found[key], not labelled)
    return None


def _read(value: object, path: Path) -> Texts:
    found = dig(value, *path)
    return {key: text for key, text in found.items() if isinstance(text, str)} if isinstance(found, dict) else {}
