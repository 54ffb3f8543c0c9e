"""Targets: from a tree of groups to the objects of one Kubernetes release or scheduler, and the links to them.

One file per target. To add one:

1. Write `krmfn/targets/<name>.py` with `emit(gang, settings) -> Emission` and `TARGET = Target(<key>, emit, <gates>)`.
   `layout.lay_out` gives the tree with all names, `flat.flatten` the list of groups where there are no trees,
   `agreement.agree` what the pods have in common, `marks.describe` an object with our marks. Say what gets lost in a
   note; refuse with a note of severity error that says the way out (`workload.blame` then drops the objects).
2. Name it in _MODULES below. The key is the release, or the scheduler's name in the configuration.
3. Add its gates to `gates.py`, its rules to `rules.py`, its paths to `krmfn/workspace/name_references.py`, the fields
   that it writes to `OWNED` in `krmfn/reconcile/updates.py`.
4. Send every shape to a real API server: `tests/targets/test_live.py` does so for all targets in the table.

A target knows no source and no check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from krmfn.model.tree import Gang
from krmfn.targets.emission import Emission, Link, Target

if TYPE_CHECKING:
    from krmfn.config.settings import Settings

__all__ = ["TARGETS", "Emission", "Link", "Target", "choose_target", "emit"]

#: Key of the target -> its module here.
_MODULES: Final = {
    "1.35": "kubernetes_1_35",
    "1.36": "kubernetes_1_36",
    "1.37": "kubernetes_1_37",
    "Volcano": "volcano",
}


class _Targets(Mapping[str, Target]):
    """The targets by key, each imported when it is asked for: a run needs one, or none."""

    def __getitem__(self, key: str) -> Target:
        module = __import__(f"{__name__}.{_MODULES[key]}", fromlist=["TARGET"])
        target: Target = module.TARGET
        return target

    def __contains__(self, key: object) -> bool:
        return key in _MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


TARGETS: Final[Mapping[str, Target]] = _Targets()


def choose_target(settings: Settings) -> Target:
    """The target that the settings ask for: a scheduler other than Kubernetes' own goes before the release."""
    return TARGETS[settings.scheduler if settings.scheduler in TARGETS else settings.release]


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects and links of `gang` for the release and scheduler of `settings`."""
    return choose_target(settings).emit(gang, settings)
