"""What the schemas of a release say of groups: how much a Workload can describe, which fields can change, finalizers.

Finalizers are put on groups when they are created, and removed by a controller when nothing needs the group any more:
they are the argument of the admission plugin. All of it is read from the schemas, so that other limits are data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from krmfn.releases import schemastore
from krmfn.releases.release import Release

_KEYS = "x-kubernetes-list-map-keys"


class Limits(NamedTuple):
    """The longest lists: `groups` at the top of a Workload, `leaves` and `composites` in a composite template. `levels`
    composites may stand above a leaf (0: there are no trees)."""

    groups: int
    leaves: int
    composites: int
    levels: int


def read_limits(release: Release) -> Limits:
    """The limits of the release, from `workload.json`; none where groups need no Workload."""
    if "Workload" not in release.kinds:
        return Limits(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize)
    schema = schemastore.load(f"kubernetes/{release}/workload.json")
    rules = dict(schema.get("x-kubernetes-handwritten", {}).get("create", ()))
    rows = schemastore.load("kubernetes/parts.json")["firstWorkload"]
    first = next(row["most"] for row in rows if "most" in row)
    top = schema["$defs"]["WorkloadSpec"]["properties"]
    below = schema["$defs"].get("CompositePodGroupTemplate", {}).get("properties", {})
    lists = [release.call(name) for name in ("podGroupTemplates", "compositePodGroupTemplates")]
    groups = _longest(top, lists[0]) or first
    leaves, composites = (_longest(below, field) for field in lists)
    return Limits(groups, leaves, composites, rules.get("groups.check_depth", 1) - 1)


def _longest(properties: Mapping[str, Any], field: str) -> int:
    return int(properties.get(field, {}).get("maxItems", 0))


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


def find_finalizer(kind: str, release: Release) -> str:
    """The finalizer of a kind of scheduling.k8s.io, "" where the release gives it none, or does not serve the kind."""
    if kind not in release.kinds:
        return ""
    admission = schemastore.load(f"kubernetes/{release}/{kind.lower()}.json").get("x-kubernetes-admission", {})
    finalizer: str = admission.get("mutating", {}).get("admission.add_finalizer", "")
    return finalizer


def list_finalizers(release: Release) -> frozenset[str]:
    """All finalizers that the release puts on groups."""
    return frozenset(filter(None, (find_finalizer(kind, release) for kind in release.kinds)))
