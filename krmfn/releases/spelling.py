"""How releases spell what they have in common: links from pods to groups, fields of groups, disruption modes.

A manifest may be of any release, so its reader knows all spellings. A release with one of its own is data, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from krmfn.releases.release import QUORUMS, Release, find_release, list_releases

_RELEASES: Final = [find_release(name) for name in list_releases()]


def _unique(paths: Iterator[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(path for path in paths if path))


#: Paths from the spec of a pod to the name of its PodGroup.
GROUP_LINKS: Final = _unique(release.link for release in _RELEASES if release.has("pod-groups"))
#: Paths from there to the name of a group or of a Workload.
LINKS: Final = _unique(release.link for release in reversed(_RELEASES))
#: The fields of a pod that hold a link.
LINK_FIELDS: Final = frozenset(path[0] for path in LINKS)
#: Paths from the spec of a group to the name of its template; that of the Workload is beside it.
TEMPLATES: Final = _unique(release.template for release in _RELEASES)
#: The kinds of scheduling.k8s.io that a release has. PriorityClass is in that group, too.
SCHEDULING_KINDS: Final = tuple(dict.fromkeys(kind for release in _RELEASES for kind in release.kinds))
#: What 1.37 calls `schedulingPolicy`, and so on -> all words for it, where releases have several.
NAMES: Final = {
    name: tuple(dict.fromkeys([name, *(release.call(name) for release in reversed(_RELEASES))]))
    for name in dict.fromkeys(name for release in _RELEASES for name in release.names)
}
#: The other way round: a word of a release -> the name in 1.37.
NAMED: Final = {word: name for name, words in NAMES.items() for word in words[1:]}
#: What stands below a field of a group or a template, where another name has to be looked for at any depth.
_INNER: Final = frozenset({"gang", "basic", "topology", "key", "workloadName"})
_QUORUMS: Final = frozenset(QUORUMS.values())
#: How a kind calls its quorum.
COUNTS: Final = {kind: NAMES.get(name, (name,)) for kind, name in QUORUMS.items()}
#: Disruption modes as they are written (a word, or the field of a union) -> their names.
MODES: Final[Mapping[str, str]] = {
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


def read_fields(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a group or a template under the names of 1.37; quorums as they are written."""
    if not _INNER.isdisjoint(NAMES):
        found: Mapping[str, Any] = _rename(spec, {word: name for word, name in NAMED.items() if name not in _QUORUMS})
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
    """A path of names of 1.37 in the words of an object of scheduling.k8s.io; in those of `release` where the object
    does not have the field."""
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
