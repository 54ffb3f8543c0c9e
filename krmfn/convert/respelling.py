"""Links, references to templates and disruption modes in the spelling of a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krmfn.convert.board import Board, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.reconcile.links import Site
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import Release
from krmfn.releases.spelling import COUNTS, GROUP_LINKS, TEMPLATES, read_mode


def respell(board: Board, goal: Release, writers: Sequence[Release]) -> None:
    """Spell what stands in pods, and in objects of a version that one of `writers` serves, as `goal` does."""
    for item, site in board.sites():
        if site.path[-2:] in GROUP_LINKS and site.path[-2:] != goal.link:
            board.edit(item, _move_link, site, goal)
    served = {(kind, f"{NATIVE}/{version}") for one in writers for kind in one.kinds for version in one.kinds[kind]}
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            if (kind, item.api_version) in served:
                board.edit(item, _respell, goal)


def _move_link(item: Item, site: Site, goal: Release) -> None:
    item.remove(site.whole[0])
    item.set((*site.path[:-2], *goal.link), site.value)


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
    spec = item.get(("spec",), None)
    places: list[Path] = [("spec",), *(place for place, _, _ in walk_templates(spec))]
    for place in places:
        mode = item.get((*place, "disruptionMode"), None)
        written = goal.modes.get(read_mode(mode), mode)
        if written != mode:
            item.set((*place, "disruptionMode"), written)
        for kind, fields in COUNTS.items():
            gang: Path = (*place, "schedulingPolicy", "gang")
            values = item.get(gang, None)
            for field in set(fields) - {goal.counts[kind]} if isinstance(values, Mapping) else ():
                if field in values:
                    item.set(gang, {goal.counts[kind] if key == field else key: values[key] for key in values})
