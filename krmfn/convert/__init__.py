"""Converting scheduling objects and links from release to release, and other schedulers' groups to native ones.

One step per release, chained; each step edits items in place and says what gets lost. Reads no file and knows no
configuration. Pods cannot change their group: what runs has to be created anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from krmfn.convert import steps
from krmfn.convert.board import Board
from krmfn.convert.fitting import fit, respell
from krmfn.krm.item import Item, Items
from krmfn.model.findings import Finding
from krmfn.reconcile import Addition
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import NotWritable, Release, find_release, first_release, list_fields, list_releases
from krmfn.releases.spelling import GROUP_LINKS, SCHEDULING_KINDS

__all__ = ["Conversion", "convert"]

_Step = Callable[[Board], None]
#: Feature -> the steps to the first release that has it, and back from there.
_STEPS: tuple[tuple[str, _Step, _Step], ...] = (
    ("pod-groups", steps.to_1_36, steps.to_1_35),
    ("composite-groups", steps.to_1_37, steps.back_to_1_36),
)


class Conversion(NamedTuple):
    """What is to be added and taken out; items that stay were edited in place. Findings say what was lost, what could
    not be converted, and what has to be created anew."""

    added: tuple[Addition, ...]
    removed: tuple[Item, ...]
    findings: tuple[Finding, ...]


def convert(items: Items, to: str, pinned: Mapping[str, str] | None = None) -> Conversion:
    """Make the scheduling objects and links of `items` those of release `to`, such as "1.37".

    `pinned` gives kinds the version that they are written in, where the release serves it and it has their fields.
    Objects of any release may be mixed. PodGroups of other schedulers become native ones. Raises UnknownRelease.
    """
    goal = find_release(to)
    releases = [find_release(name) for name in list_releases()]
    board = Board(items, goal)
    before = {id(item): (item, item.text) for item, _ in board.sites()}
    steps.to_native(board)
    versions = {item.api_version for kind in SCHEDULING_KINDS for item in board.of(NATIVE, kind)}
    fields = {site.field for _, site in board.sites()}
    origins = [
        next((one for one in releases if any(one.serves(version, kind) for kind in one.kinds)), goal)
        for version in versions
    ]
    if not goal.has("pod-groups") and not fields.isdisjoint(GROUP_LINKS):
        origins.append(first_release("pod-groups"))  # links alone do not say which release they are of
    if ("workloadRef", "name") in fields:
        origins.append(releases[0])
    end, *places = map(releases.index, (goal, *origins))
    last = max([*places, end])
    if last > end:  # the steps know the spelling of the first release with trees
        trees = first_release("composite-groups")
        respell(board, trees, releases[releases.index(trees) :])
    for up, _ in _list_steps(releases[min([*places, end]) : end + 1]):
        up(board)
    for _, down in reversed(_list_steps(releases[end : last + 1])):
        down(board)
    _rewrite_versions(board, goal, releases, pinned or {})
    if goal.has("pod-groups"):
        respell(board, goal, [goal])
    fit(board, goal, [one for one in releases if one is not goal], last > end)
    for kind in sorted({*SCHEDULING_KINDS} - {*goal.kinds}):
        for item in board.of(NATIVE, kind):
            message = f"Kubernetes {goal} has no {kind}; the object is unchanged"
            board.note(item, "convert-impossible", message, ("kind",), "Remove it, and what refers to it.")
    for item, text in before.values():
        if item.text != text:
            board.note(item, "convert-recreate", "running pods keep their old group until they are created again")
    added = tuple(
        Addition(dict(item.value), board.owners[id(item)]) for item in board.items if id(item) in board.owners
    )
    return Conversion(added, tuple(board.removed), tuple(board.findings))


def _list_steps(releases: Sequence[Release]) -> list[tuple[_Step, _Step]]:
    """What changes from release to release, oldest first."""
    return [
        (up, down)
        for old, new in pairwise(releases)
        for feature, up, down in _STEPS
        if new.has(feature) and not old.has(feature)
    ]


def _rewrite_versions(board: Board, goal: Release, releases: Sequence[Release], pinned: Mapping[str, str]) -> None:
    """Objects in a version of `goal`, or of a release between which and `goal` there is no step, get the most stable
    version of `goal` that has their fields: such versions differ in their names, and in fields."""
    alike = [one for one in releases if not _list_steps(sorted((one, goal), key=releases.index))]
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            fields = list_fields(item.value.get("spec") or {})
            try:
                best = goal.api_version(kind, fields, pinned.get(kind, ""))
            except NotWritable:
                best = goal.api_version(kind, fields)
            if best != item.api_version and any(one.serves(item.api_version, kind) for one in alike):
                board.edit(item, Item.set, ("apiVersion",), best)
