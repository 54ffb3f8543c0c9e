"""Which fields of a group can change: read from the schemas, where those that cannot are marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.krm.types import Any
from krmfn.releases import schemastore
from krmfn.releases.release import Release

_KEYS = "x-kubernetes-list-map-keys"


def list_mutable(release: Release) -> frozenset[str]:
    """The fields without fields of their own, at any depth of a group's spec, that can change wherever they stand; none
    before there are PodGroups."""
    free: set[str] = set()
    fixed: set[str] = set()
    for kind in release.kinds if release.has("pod-groups") else ():
        schema = schemastore.load(f"kubernetes/{release}/{kind.lower()}.json")
        for field, is_free in _list_ends(schema["properties"]["spec"], schema["$defs"], True):
            (free if is_free else fixed).add(field)
    return frozenset(free - fixed)


def _list_ends(schema: Mapping[str, Any], types: Mapping[str, Any], is_free: bool) -> Iterator[tuple[str, bool]]:
    """The ends of a tree of fields, each with whether it can change. A field that cannot be set or unset says nothing
    of what is in it; the keys of a list do not change."""
    name = str(schema.get("$ref")).rpartition("/")[2]
    left = {key: value for key, value in types.items() if key != name}  # composites hold composites
    keys = schema.get(_KEYS, ())
    for field, child in types.get(name, schema).get("properties", {}).items():
        marked = (child, *child.get("x-kubernetes-if-enabled", {}).values())
        can = is_free and field not in keys and not any("x-kubernetes-immutable" in part for part in marked)
        inside = child.get("items", child)
        ends = list(_list_ends({**inside, _KEYS: child.get(_KEYS, ())}, left, can))
        yield from ends or [(field, can and "x-kubernetes-update" not in child)]
