"""Targets: from a tree of groups to the objects of a scheduler, and the links to them.

One file per scheduler; releases of Kubernetes are data (`schemas/kubernetes`). To add a scheduler:

1. Write `krmfn/targets/<name>.py` with `emit(gang, settings) -> Emission`. All groups of the gang have pods.
   `layout.lay_out_whole` gives the tree with all names, and `podgroups.emit_pod_group` does what all other schedulers
   have in common: `emission.agree` says what the pods share, `emission.describe` makes an object with our marks. Say
   what gets lost in a note; refuse with a note of severity error that says the way out (`emission.blame` drops the
   objects).
2. Add its row to `krmfn/model/schedulers.py` (its PodGroup, what is written into it, and the link to it) and to
   `schemas/names.json` (the link, for kustomize), its name (the module's, in any case of letters) to the schema of the
   configuration and to `Scheduler` in `krmfn/config/settings.py`.
3. Add its rules to `schemas/rules.json`.
4. Send every shape to a real API server: `tests/targets/test_live.py` does so for all targets.

A target knows no source and no check.
"""

from __future__ import annotations

from krmfn.config.settings import Settings
from krmfn.model.tree import Gang
from krmfn.targets.emission import Emission, Link
from krmfn.targets.layout import prune

__all__ = ["Emission", "Link", "emit"]


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects and links of the groups of `gang` that have pods, by the module of the scheduler of `settings`."""
    root = prune(gang.root)
    if root is None:
        return Emission((), (), ())
    target = __import__(f"krmfn.targets.{settings.scheduler.lower()}", fromlist=["emit"])
    emission: Emission = target.emit(gang._replace(root=root), settings)
    return emission
