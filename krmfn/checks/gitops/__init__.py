"""Stage gitops: what goes wrong between Git and the cluster, although every object is right by itself.

Order of apply, names that a prefix broke, deletion and recreation, functions that did not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from krmfn.checks.rule import Check, run

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.findings import Finding, Member
    from krmfn.krm.item import Item


def list_checks() -> tuple[Check, ...]:
    """Every rule of this stage, topic by topic."""
    from krmfn.checks.gitops import applying, deleting, functions, naming

    return tuple(check for topic in (applying, naming, deleting, functions) for check in topic.CHECKS)


def check(
    objects: Sequence[Item], members: Sequence[Member], old: Sequence[Item] | None, settings: Settings
) -> Iterator[Finding]:
    """The findings of this stage on `objects`; `old` is the earlier state, None when there is none."""
    from krmfn.checks.census import take_census
    from krmfn.checks.reading import find_problems

    census = take_census(objects, members, old, settings.cluster)
    yield from run(list_checks(), census, settings)
    yield from find_problems(census)
