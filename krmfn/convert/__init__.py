"""Converting scheduling objects and links from release to release, and other schedulers' groups to native ones.

One step per release, chained; each step edits items in place and says what gets lost. Reads no file and knows no
configuration. Pods cannot change their group: what runs has to be created anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from krmfn.convert import downward, foreign, upward
from krmfn.convert.board import NATIVE, Board
from krmfn.krm.item import Item
from krmfn.krm.records import NamedTuple
from krmfn.model.findings import Finding
from krmfn.reconcile import Addition

__all__ = ["RELEASES", "Conversion", "convert"]

RELEASES: Final = ("1.35", "1.36", "1.37")
_RELEASE_OF: Final = {
    f"{NATIVE}/v1alpha1": "1.35",
    f"{NATIVE}/v1alpha2": "1.36",
    f"{NATIVE}/v1alpha3": "1.37",
    f"{NATIVE}/v1beta1": "1.37",
}
_KINDS: Final = ("Workload", "PodGroup", "CompositePodGroup")
_UP: Final[dict[str, Callable[[Board], None]]] = {"1.36": upward.to_1_36, "1.37": upward.to_1_37}
_DOWN: Final[dict[str, Callable[[Board], None]]] = {"1.36": downward.to_1_36, "1.35": downward.to_1_35}


class Conversion(NamedTuple):
    """What is to be added and taken out; items that stay were edited in place. Findings say what was lost, what could
    not be converted, and what has to be created anew."""

    added: tuple[Addition, ...]
    removed: tuple[Item, ...]
    findings: tuple[Finding, ...]


def convert(items: Sequence[Item], to: str) -> Conversion:
    """Make the scheduling objects and links of `items` those of release `to` ("1.35", "1.36" or "1.37").

    Objects of any release may be mixed. PodGroups of Volcano and scheduler-plugins become native ones. Raises KeyError
    for a release that is not known.
    """
    goal = {release: index for index, release in enumerate(RELEASES)}[to]
    board = Board(items)
    found = {_RELEASE_OF.get(item.api_version, "") for kind in _KINDS for item in board.of(NATIVE, kind)} - {""}
    before = {id(item): (item, item.text) for item, _ in board.sites()}
    foreign.to_native(board)
    if board.of(NATIVE, "PodGroup"):
        found |= {_RELEASE_OF.get(item.api_version, "1.36") for item in board.of(NATIVE, "PodGroup")}
    if to == "1.35" and any(site.path[-1] == "podGroupName" for _, site in board.sites()):
        found.add("1.36")  # links alone do not say which release they are of; 1.35 has no such links
    found |= {"1.35"} if any(site.path[-2:] == ("workloadRef", "name") for _, site in board.sites()) else set()
    places = [RELEASES.index(release) for release in found]
    for release in RELEASES[min(places, default=goal) + 1 : goal + 1]:
        _UP[release](board)
    if to == RELEASES[-1]:
        upward.to_latest_version(board)
    for release in reversed(RELEASES[goal : max(places, default=goal)]):
        _DOWN[release](board)
    for item in (item for item, text in before.values() if item.text != text):
        board.note(item, "convert-recreate", "the pods keep their old group until they are created anew")
    added = tuple(
        Addition(dict(item.value), board.owners[id(item)]) for item in board.items if id(item) in board.owners
    )
    return Conversion(added, tuple(board.removed), tuple(board.findings))
