"""Stage gitops: what goes wrong between Git and the cluster, although every object is right by itself.

Order of apply, names that a prefix broke, deletion and recreation, functions that did not run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.rule import Check, run

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.model.findings import Finding
    from krmfn.survey.census import Census


def list_checks() -> tuple[Check, ...]:
    """Every rule of this stage, topic by topic."""
    from krmfn.checks.gitops import applying, deleting, functions, naming

    return tuple(check for topic in (applying, naming, deleting, functions) for check in topic.CHECKS)


def find_all(census: Census, settings: Settings) -> Iterator[Finding]:
    """The findings of this stage."""
    from krmfn.checks.reading import find_problems

    yield from run(list_checks(), census, settings)
    yield from find_problems(census)
