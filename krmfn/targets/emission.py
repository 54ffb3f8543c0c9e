"""What goes into a target and what comes out of it. Knows no release."""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.krm.types import Any, NamedTuple
from krmfn.model.findings import Note


class Link(NamedTuple):
    """A field to set in a pod template of an owner, so that its pods join their group."""

    owner: int
    path: Path
    value: str


class Emission(NamedTuple):
    """The objects of one gang in the order of creation, the links to them, and what there is to say.

    Without objects there are no links: the gang cannot be expressed (a note of severity error says why) or has no pods.
    The paths of notes are in the manifest of the first owner; empty when they concern another one or several.
    """

    objects: tuple[dict[str, Any], ...]
    links: tuple[Link, ...]
    notes: tuple[Note, ...]
