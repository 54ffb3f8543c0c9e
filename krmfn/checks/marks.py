"""The marks by which a generated object is known. The targets write them; a test holds both to the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from krmfn.krm.item import Item

MANAGED_BY: Final = ("app.kubernetes.io/managed-by", "krmfn")
GENERATED_FROM: Final = "krmfn.dev/generated-from"


def is_generated(item: Item) -> bool:
    """Whether the object carries the label of generated objects."""
    return item.labels.get(MANAGED_BY[0]) == MANAGED_BY[1]


def list_sources(item: Item) -> list[str]:
    """What the object was generated from, as `RayCluster.ray.io/demo`; empty without the mark."""
    return [source for source in item.annotations.get(GENERATED_FROM, "").split(",") if source]


def name_source(item: Item) -> str:
    """How an object is spelled in that annotation."""
    return f"{item.kind}.{item.ref.group}/{item.name}" if item.ref.group else f"{item.kind}/{item.name}"
