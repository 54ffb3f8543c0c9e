"""An emission under the names that its objects have after a renaming. Knows which fields hold names, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.reconcile.links import is_name
from krmfn.reconcile.marked import Renaming
from krmfn.targets.emission import Emission, Gang, Link
from krmfn.targets.marks import GENERATED_FROM

#: Keys of `spec` whose text is the name of a generated object, at any depth.
_REFERENCES: Final = frozenset({"workloadName", "parentCompositePodGroupName"})


def rename(
    gang: Gang, emission: Emission, renaming: Renaming | None, sources: str
) -> tuple[tuple[dict[str, Any], ...], tuple[Link, ...]]:
    """The objects and links of `emission`, named as they would be had they been made before `renaming`."""
    if renaming is None:
        return emission.objects, emission.links

    def name(old: str) -> str:
        return renaming.apply(old, gang.name)

    objects = []
    for value in emission.objects:
        metadata = value["metadata"]
        annotations = {**metadata["annotations"], GENERATED_FROM: sources}
        metadata = {**metadata, "name": name(metadata["name"]), "annotations": annotations}
        objects.append({**value, "metadata": metadata, "spec": _rename_references(value["spec"], name)})
    links = tuple(link._replace(value=name(link.value)) if is_name(link.path) else link for link in emission.links)
    return tuple(objects), links


def _rename_references(value: Any, name: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            key: name(entry) if key in _REFERENCES else _rename_references(entry, name) for key, entry in value.items()
        }
    return value
