"""A rule is one row above the function that finds it. Here: the row, and how a stage runs its rules. Knows no rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, cast

from krmfn.krm.records import NamedTuple
from krmfn.model.findings import Finding, Rule, Stage

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.krm.results import Severity
    from krmfn.survey.census import Census

Find = Callable[["Census", "Settings"], Iterable[Finding]]


class Check(NamedTuple):
    """A row of the catalogue and the pure function that finds it."""

    rule: Rule
    find: Find


def rule(id: str, severity: Severity, sentence: str, *, needs: str = "", lacks: str = "") -> Callable[[Find], Check]:
    """Makes a rule of a function; its stage is the package that the function stands in.

    `id` is permanent, `sentence` says what is wrong, `needs` and `lacks` are the features that a release of
    Kubernetes must have, and must not have, for the rule to hold (see krmfn.releases.release). What else there is
    to say is on its page, `docs/rules/<id>.md`. The function yields findings without id.
    """

    def make(find: Find) -> Check:
        stage = cast(Stage, find.__module__.split(".")[2])
        return Check(Rule(id, stage, severity, sentence, needs, lacks), find)

    return make


def list_checks(stage: str) -> tuple[Check, ...]:
    """Every rule of a stage: those in the modules that its package lists in TOPICS, in the order of the text."""
    package = f"krmfn.checks.{stage}"
    topics = (import_module(f"{package}.{topic}") for topic in import_module(package).TOPICS)
    return tuple(value for topic in topics for value in vars(topic).values() if isinstance(value, Check))


def run(stage: str, census: Census, settings: Settings) -> Iterator[Finding]:
    """The findings of every rule of a stage that holds for the settings' release."""
    for row, find in list_checks(stage):
        if row.holds(settings.release):
            for finding in find(census, settings):
                yield finding if finding.rule else finding._replace(rule=row.id)
