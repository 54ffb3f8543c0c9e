"""What a plan is made of. Imports no logic, so that reports can read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from krmfn.krm.paths import Path
from krmfn.krm.results import FileRef, ResourceRef
from krmfn.model.values import Names

#: `refuse`: the API server would not take the object in any case. `replace`: it takes the object, but not as an update.
Action = Literal["refuse", "replace", "remove", "new", "update", "unchanged"]

ACTIONS: tuple[Action, ...] = ("refuse", "replace", "remove", "new", "update", "unchanged")


class Change(NamedTuple):
    """A field that differs. ABSENT stands for a field that is not there."""

    path: Path
    old: Any
    new: Any


class Reason(NamedTuple):
    """Why an update is refused: the rule's id, the server's type and text, and the field."""

    path: Path
    rule: str
    type: str
    message: str


class JoinedField(NamedTuple):
    """A field that has to be edited together with something else."""

    ref: ResourceRef
    path: Path
    file: FileRef | None


class Entry(NamedTuple):
    """What happens to one object.

    `consequences` are sentences about what this means for running pods; `renames` are the fields that hold the name
    of an object which has to get a new one, its own first. `file` is the new state's, of a removed object the old's.
    `world` is the kustomization that the object was rendered in.
    """

    action: Action
    ref: ResourceRef
    file: FileRef | None
    changes: tuple[Change, ...] = ()
    reasons: tuple[Reason, ...] = ()
    consequences: Names = ()
    renames: tuple[JoinedField, ...] = ()
    world: str = ""

    @property
    def is_silent(self) -> bool:
        """Whether nothing is to be said of it."""
        return self.action == "unchanged" and not self.consequences


class Shift(NamedTuple):
    """A gang whose outlook in the cluster changes, from `before` to `after`: what would become of it in either state,
    empty where it is not there. `why` says what keeps it from running then, `harmful` whether that is new. `origin` and
    `target` are where its pods would be in either state, with their number: domains of the topology `key`, or nodes."""

    gang: str
    before: str
    after: str
    why: str
    way_out: str
    harmful: bool
    key: str = ""
    origin: Mapping[str, int] = {}
    target: Mapping[str, int] = {}


class Plan(NamedTuple):
    """Every object of both states, in the order of the new one; removed objects at the end. `shifts` is None where no
    cluster was given; `preempted` are the pods that have to make room in the new state and not in the old one."""

    entries: tuple[Entry, ...]
    shifts: tuple[Shift, ...] | None = None
    preempted: Names = ()

    @property
    def counts(self) -> Mapping[Action, int]:
        """How many entries each action has, in the order of ACTIONS."""
        return {action: sum(entry.action == action for entry in self.entries) for action in ACTIONS}

    @property
    def is_refused(self) -> bool:
        """Whether the API server would refuse a part of it: an object, or a change that needs a replacement."""
        return any(entry.action in ("refuse", "replace") for entry in self.entries)

    @property
    def is_harmful(self) -> bool:
        """Whether a gang that could run does not after it."""
        return any(shift.harmful for shift in self.shifts or ())
