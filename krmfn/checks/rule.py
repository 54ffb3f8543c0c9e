"""A rule as a row with its function, and how a stage runs its rows. Knows no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from krmfn.krm.records import NamedTuple
from krmfn.model.findings import Finding, Rule

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census

Find = Callable[["Census", "Settings"], Iterable[Finding]]


class Check(NamedTuple):
    """A row of the catalogue and the pure function that finds it."""

    rule: Rule
    find: Find


def run(checks: Iterable[Check], census: Census, settings: Settings) -> Iterator[Finding]:
    """The findings of every rule that holds for the settings' release."""
    for rule, find in checks:
        if not rule.releases or settings.release in rule.releases:
            yield from find(census, settings)
