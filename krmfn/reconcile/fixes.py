"""Fixes: the edits that put the value which a finding proposes into the text that the user wrote.

Knows items and findings; not what any rule means.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import NamedTuple

from krmfn.krm.errors import EditRefused
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT, Edit
from krmfn.model.findings import Finding


class Fixed(NamedTuple):
    """What became of findings: `made` are mended in their items, `left` are not (no proposal, or refused)."""

    made: tuple[Finding, ...]
    left: tuple[Finding, ...]


def apply_fixes(findings: Iterable[Finding]) -> Fixed:
    """Set every proposed value in its item; of several proposals for one place the first is made.

    A place that cannot be edited without changing others leaves its finding in `left`.
    """
    made: list[Finding] = []
    left: list[Finding] = []
    done: set[tuple[int, Path]] = set()
    for finding in findings:
        place = (id(finding.item), finding.path)
        if finding.proposed is ABSENT or place in done or not _set(finding):
            left.append(finding)
        else:
            done.add(place)
            made.append(finding)
    return Fixed(tuple(made), tuple(left))


def _set(finding: Finding) -> bool:
    try:
        finding.item.set(finding.path, finding.proposed)
    except EditRefused:
        return False
    return True


def find_edit(finding: Finding) -> Edit | None:
    """The edit of the finding's file that `apply_fixes` would make, as one region; the item stays as it is.

    None without a proposal, for items whose text is not that of a file (stdin, new objects, items already edited), and
    where the edit is refused.
    """
    item, proposed = finding.item, finding.proposed
    if proposed is ABSENT or not item.source.path or item.is_new or item.touched:
        return None
    trial = copy.copy(item)
    if not _set(finding._replace(item=trial)):
        return None
    return _difference(item, item.text, trial.text)


def _difference(item: Item, before: str, after: str) -> Edit | None:
    """The smallest region of `before` that makes it `after`, in lines and columns of the file."""
    if before == after:
        return None
    most = min(len(before), len(after))
    head = next((at for at in range(most) if before[at] != after[at]), most)
    tail = next((at for at in range(most - head) if before[-1 - at] != after[-1 - at]), most - head)
    start = item.start + len(before[:head].encode())
    end = item.start + len(before[: len(before) - tail].encode())
    source = item.source
    return Edit(
        source.line(start),
        source.column(start) + 1,
        source.line(end),
        source.column(end) + 1,
        after[head : len(after) - tail],
    )
