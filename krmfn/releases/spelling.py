"""How releases spell what they have in common: links from pods to groups, references to templates, disruption modes.

A manifest may be of any release, so its reader knows all spellings. A release with one of its own is data, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.krm.types import Any, Final
from krmfn.releases.release import find_release, list_releases

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
#: How a kind calls its quorum.
COUNTS: Final = {
    kind: tuple(dict.fromkeys(release.counts[kind] for release in _RELEASES)) for kind in _RELEASES[0].counts
}
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
