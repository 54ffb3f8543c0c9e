"""How releases spell what they have in common: links from pods to groups, fields of groups, disruption modes. And what
their schemas say of groups: how much a Workload can describe, which fields can change, which finalizers they get.

A manifest may be of any release, so its reader knows all spellings. A release with one of its own is data, too.
Finalizers are put on groups when they are created, and removed by a controller when nothing needs the group any more:
they are the argument of the admission plugin.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from krmfn.releases import schemastore
from krmfn.releases.release import QUORUMS, Release, Row, all_releases

_RELEASES = all_releases()


def _unique(paths: Iterator[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(path for path in paths if path))


#: Paths from the spec of a pod to the name of its PodGroup.
GROUP_LINKS = _unique(release.link for release in _RELEASES if release.has("pod-groups"))
#: Paths from there to the name of a group or of a Workload.
LINKS = _unique(release.link for release in reversed(_RELEASES))
#: The fields of a pod that hold a link.
LINK_FIELDS = frozenset(path[0] for path in LINKS)
#: Paths from the spec of a group to the name of its template; that of the Workload is beside it.
TEMPLATES = _unique(release.template for release in _RELEASES)
#: The kinds of scheduling.k8s.io that a release has. PriorityClass is in that group, too.
SCHEDULING_KINDS = tuple(dict.fromkeys(kind for release in _RELEASES for kind in release.kinds))
#: What 1.37 calls `schedulingPolicy`, and so on -> all words for it, where releases have several.
NAMES = {
    name: tuple(dict.fromkeys([name, *(release.call(name) for release in reversed(_RELEASES))]))
    for name in dict.fromkeys(name for release in _RELEASES for name in release.names)
}
#: The other way round: a word of a release -> the name in 1.37.
NAMED = {word: name for name, words in NAMES.items() for word in words[1:]}
#: What stands below a field of a group or a template, where another name has to be looked for at any depth.
_INNER = frozenset({"gang", "basic", "topology", "key", "workloadName"})
_QUORUMS = frozenset(QUORUMS.values())
#: How a kind calls its quorum.
COUNTS = {kind: NAMES.get(name, (name,)) for kind, name in QUORUMS.items()}
#: Disruption modes as they are written (a word, or the field of a union) -> their names.
MODES: Mapping[str, str] = {
    word: name
    for release in _RELEASES
    for name, written in release.modes.items()
    for word in ([written] if isinstance(written, str) else written)
}


def read_mode(written: Any) -> str:
    """The name of a disruption mode, "" for none that a release has."""
    words = [written] if isinstance(written, str) else written if isinstance(written, Mapping) else ()
    return next((MODES[word] for word in words if word in MODES), "")


def list_words(names: Iterable[str]) -> frozenset[str]:
    """`names`, and what releases call them otherwise."""
    return frozenset(word for name in names for word in NAMES.get(name, (name,)))


def find_word(fields: Any, name: str) -> str:
    """The word for `name` among the fields of a group or a template; `name` itself where it is absent."""
    if name in NAMES and isinstance(fields, dict):
        for word in NAMES[name]:
            if word in fields:
                return word
    return name


def read_fields(spec: Row) -> Row:
    """The fields of a group or a template under the names of 1.37; quorums as they are written."""
    if not _INNER.isdisjoint(NAMES):
        found: Row = _rename(spec, {word: name for word, name in NAMED.items() if name not in _QUORUMS})
        return found
    if NAMED.keys().isdisjoint(spec):
        return spec
    return {**{NAMED[key]: spec[key] for key in spec if key in NAMED}, **spec}


def spell(spec: dict[str, Any], release: Release) -> dict[str, Any]:
    """The spec of a group or a Workload, in the names of 1.37, in those of `release`."""
    found: dict[str, Any] = _rename(spec, release.names) if release.names else spec
    return found


def _rename(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {names.get(key, key): _rename(child, names) for key, child in value.items()}
    return [_rename(child, names) for child in value] if isinstance(value, list) else value


def as_written(value: Any, path: tuple[str | int, ...], release: Release) -> tuple[str | int, ...]:
    """A path of names of 1.37 in the words of an object of scheduling.k8s.io, or of `release` for missing fields."""
    made: list[str | int] = []
    for part in path:
        if isinstance(part, str):
            fields = value if isinstance(value, Mapping) else {}
            word = find_word(fields, part)
            made.append(word if word in fields else release.call(part))
            value = fields.get(word)
        else:
            made.append(part)
            value = value[part] if isinstance(value, list) and part < len(value) else None
    return tuple(made)


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


def _longest(properties: Row, field: str) -> int:
    return int(properties.get(field, {}).get("maxItems", 0))


def list_mutable(release: Release) -> frozenset[str]:
    """The fields without fields of their own that can change anywhere in a group's spec; none without PodGroups."""
    free: set[str] = set()
    fixed: set[str] = set()
    for kind in release.kinds if release.has("pod-groups") else ():
        schema = schemastore.load(f"kubernetes/{release}/{kind.lower()}.json")
        for field, is_free in _list_ends(schema["properties"]["spec"], schema["$defs"], True):
            (free if is_free else fixed).add(field)
    return frozenset(free - fixed)


def _list_ends(schema: Row, types: Row, is_free: bool) -> Iterator[tuple[str, bool]]:
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
