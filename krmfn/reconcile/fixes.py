"""Fixes: the edits that put the value which a finding proposes into the text that the user wrote.

Knows items and findings; not what any rule means.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, Edit
from krmfn.model.findings import EditStep, Finding
from krmfn.model.showing import hides_keys, is_secret


class Fixed(NamedTuple):
    """What became of findings: `made` are mended in their items, `left` are not (no proposal, or refused)."""

    made: tuple[Finding, ...]
    left: tuple[Finding, ...]


class Region(NamedTuple):
    """Characters of the text of an item, and what replaces them."""

    start: int
    end: int
    text: str


def apply_fixes(findings: Iterable[Finding]) -> Fixed:
    """Make the changes that findings propose; of several for one place the first is made.

    A place that cannot be edited without changing others leaves its finding in `left`.
    """
    made: list[Finding] = []
    left: list[Finding] = []
    done: set[tuple[int, Path]] = set()
    for finding in findings:
        if not finding.is_mendable or finding.place in done or not _mend(finding):
            left.append(finding)
        else:
            done.add(finding.place)
            made.append(finding)
    return Fixed(tuple(made), tuple(left))


def _mend(finding: Finding) -> bool:
    item = finding.item

    def work() -> None:
        for path, value, key in finding.mend or (EditStep(finding.path, finding.proposed),):
            if key:
                item.rename(path, key)
            elif value is ABSENT:
                item.remove(path)
            else:
                item.set(path, value)

    try:
        item.atomically(work)
    except EditRefused:
        return False
    return True


def find_edits(findings: Iterable[Finding]) -> dict[int, Edit]:
    """The edits of files that `apply_fixes` would make, each by the id() of its finding; the items stay as they are.
    Edits that would meet are one, which all of their findings have.

    None without a proposal, for items whose text is not that of a file (stdin, new objects, items already edited), and
    where the edit is refused.
    """
    by_item: dict[int, list[Finding]] = {}
    for finding in findings:
        if finding.is_mendable and not (finding.item.is_new or finding.item.touched) and finding.item.source.path:
            by_item.setdefault(id(finding.item), []).append(finding)
    found: dict[int, Edit] = {}
    for together in by_item.values():
        clusters: list[tuple[Region, list[Finding]]] = []
        for finding in together:
            region, joined = _try([finding]), [finding]
            while region and (met := next((each for each in clusters if _meet(each[0], region)), None)):
                clusters.remove(met)
                joined = [*met[1], *joined]
                region = _try(joined)
            if region:
                clusters.append((region, joined))
        item = together[0].item
        whole = _try(together)
        if whole and _replace(item.text, [region for region, _ in clusters]) != _replace(item.text, [whole]):
            clusters = [(whole, together)]  # such as two that make the same map
        for region, joined in clusters:
            edit = _locate(item, region)
            found |= {} if _shows_secrets(item, edit) else {id(each): edit for each in joined}
    return found


def _try(findings: Sequence[Finding]) -> Region | None:
    """The smallest region of the text of an item that mending some findings changes."""
    item = findings[0].item
    trial = copy.copy(item)
    apply_fixes(finding._replace(item=trial) for finding in findings)
    before, after = item.text, trial.text
    if before == after:
        return None
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    return Region(head, len(before) - tail, after[head : len(after) - tail])


def _shows_secrets(item: Item, edit: Edit) -> bool:
    """Whether an edit has something in it that reports do not show: it is in the region, or in the new text."""
    text, shift, place = item.text, item.span[0], item.source.place
    for path, first, last, is_key in item.list_scalars():
        if (hides_keys if is_key else is_secret)(item.kind, path):
            words = (text[first - shift : last - shift], str(path[-1] if is_key else item.get(path)))
            within = place(first) < (edit.end_line, edit.end_column) and (edit.line, edit.column) < place(last)
            if within or any(word and word in edit.text for word in words):
                return True
    return False


def _meet(one: Region, other: Region) -> bool:
    """Whether two changes cannot be made one after the other from the end of the text."""
    return one.start <= other.end and other.start <= one.end


def _replace(text: str, regions: Iterable[Region]) -> str:
    for start, end, new in sorted(regions, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _locate(item: Item, region: Region) -> Edit:
    """A change of an item in lines and columns of its file."""
    source, before = item.source, item.text
    start, end = (item.start + len(before[:at].encode()) for at in (region.start, region.end))
    return Edit(*source.place_of(start), *source.place_of(end), region.text)
