"""Links, references to templates and disruption modes in the spelling of a release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from krmfn.convert.board import Board, relink, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.values import as_list
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import QUORUMS, Release
from krmfn.releases.spelling import GROUP_LINKS, NAMES, TEMPLATES, find_word, read_mode

_PARTS: Final = ("schedulingPolicy", "disruptionMode", "schedulingConstraints")


def respell(board: Board, goal: Release, writers: Sequence[Release]) -> None:
    """Spell what stands in pods, and in objects of a version that one of `writers` serves, as `goal` does."""
    for item, site in board.sites():
        if site.field in GROUP_LINKS and site.field != goal.link:
            board.edit(item, relink, site.whole[0], goal.link, site.value)
    served = {(kind, f"{NATIVE}/{version}") for one in writers for kind in one.kinds for version in one.kinds[kind]}
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            if (kind, item.api_version) in served:
                board.edit(item, _respell, goal)


def _respell(item: Item, goal: Release) -> None:
    for path in TEMPLATES:
        names = item.get(("spec", *path[:-1]), None)
        if path != goal.template and isinstance(names, Mapping) and path[-1] in names:
            if path[:-1] != goal.template[:-1]:
                item.remove(("spec", path[0]))
                item.set(("spec", *goal.template[:-1]), {key: names[key] for key in names if key != path[-1]})
            else:
                item.remove(("spec", *path))
            item.set(("spec", *goal.template), names[path[-1]])
    _rename(item, ("spec", *goal.template[:-1]), ("workloadName",), goal)
    spec = item.get(("spec",), None)
    root = (("spec",), item.kind == "CompositePodGroup")
    places: list[tuple[Path, bool]] = [root, *((place, above) for place, _, above in walk_templates(spec))]
    for place, is_composite in reversed(places):  # a list is renamed after what is in it
        fields = item.get(place, None)
        policy, field, keys = (find_word(fields, name) for name in _PARTS)
        mode = item.get((*place, field), None)
        written = goal.modes.get(read_mode(mode), mode)
        if written != mode:
            item.set((*place, field), written)
        quorum = QUORUMS["CompositePodGroup" if is_composite else "PodGroup"]
        _rename(item, (*place, policy, find_word(item.get((*place, policy), None), "gang")), (quorum,), goal)
        _rename(item, (*place, policy), ("gang", "basic"), goal)
        topology = find_word(item.get((*place, keys), None), "topology")
        for index, _ in enumerate(as_list(item.get((*place, keys, topology), None))):
            _rename(item, (*place, keys, topology, index), ("key",), goal)
        _rename(item, (*place, keys), ("topology",), goal)
        _rename(item, place, NAMES.keys() - {*QUORUMS.values()}, goal)


def _rename(item: Item, place: Path, names: Iterable[str], goal: Release) -> None:
    """Give fields the words of `goal`, in their order."""
    values = item.get(place, None)
    if isinstance(values, Mapping):
        words = {find_word(values, name): goal.call(name) for name in names}
        made = {words.get(key, key): values[key] for key in values}
        if [*made] != [*values]:
            item.set(place, made)
