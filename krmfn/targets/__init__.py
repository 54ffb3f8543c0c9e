"""Targets: from a tree of groups to the objects of one Kubernetes release or scheduler, and the links to them.

One file per target. To add one:

1. Write `krmfn/targets/<name>.py` with `emit(gang, settings) -> Emission` and `TARGET = Target(<name>, emit)`.
   `layout.lay_out` gives the tree with all names, `flat.flatten` the list of groups where there are no trees,
   `agreement.agree` what the pods have in common, `marks.describe` an object with our marks. Say what gets lost in a
   note; refuse with a note of severity error that says the way out (`workload.blame` then drops the objects).
2. Choose it in choose_target below.
3. Add its rules to `rules.py`, its paths to `krmfn/workspace/name_references.py`, the fields
   that it writes to `OWNED` in `krmfn/reconcile/updates.py`.
4. Send every shape to a real API server: `tests/targets/test_live.py` does so for all targets in the table.

A target knows no source and no check.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krmfn.model.tree import Gang
from krmfn.targets.emission import Emission, Link, Target

if TYPE_CHECKING:
    from krmfn.config.settings import Settings

__all__ = ["Emission", "Link", "Target", "choose_target", "emit"]


def choose_target(settings: Settings) -> Target:
    """The target that the settings ask for: a scheduler other than Kubernetes' own goes before the release."""
    if settings.scheduler == "Volcano":
        from krmfn.targets.volcano import TARGET
    elif settings.release.has("composite-groups"):
        from krmfn.targets.kubernetes_1_37 import TARGET
    elif settings.release.has("pod-groups"):
        from krmfn.targets.kubernetes_1_36 import TARGET
    else:
        from krmfn.targets.kubernetes_1_35 import TARGET
    return TARGET


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects and links of `gang` for the release and scheduler of `settings`."""
    return choose_target(settings).emit(gang, settings)
