"""Reading a case: the examples on a rule's page, what they are told, and what is found in them.

The first lines of an example may be comments that say how it is read:
`# settings: {…}` is the `spec` of the configuration; `# command: generate` and `# command: convert --to 1.36` find what
those commands tell, otherwise it is what `krmfn validate` tells; `# update: replace` is how a change is sent.
`# file: NAME` starts another file. The earlier state of an update is in `{bad,good}.old.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import yaml

from krmfn import pipeline
from krmfn.checks.rule import check_stages, list_checks, list_topics
from krmfn.config import Settings, read_settings
from krmfn.convert import convert
from krmfn.krm import Item, Result, Stream
from krmfn.model.findings import STAGES, Finding
from krmfn.model.rules import PARTS, RULES
from krmfn.releases.release import find_release, list_releases
from krmfn.reports.pages import read_page
from krmfn.survey.counting import count_members
from krmfn.survey.gangs import list_present, survey

TOPICS = [topic for stage in ("scheduler", "operator", "gitops") for topic in list_topics(stage)]
CHECKS = [check for topic in TOPICS for check in list_checks(topic)]
#: Rules that the three stages find in the objects by themselves.
CHECKED = tuple(sorted(check.rule.id for check in CHECKS))
PROBLEMS = tuple(sorted(PARTS["reading"]))
#: Rules about files that cannot be read as objects; tests/workspace shows them.
FILES = {*PARTS["files"]}
#: What a request says besides its object; tests/conformance shows them.
REQUESTS = {"wrong-kind", "namespace-of-request", "claim-status-name", "conditions"}
#: Whose example no release shows while there is no preview.
IDLE = set() if any(find_release(name).preview for name in list_releases()) else {"release-preview"}
#: The rules whose pages have an example.
SHOWN = tuple(sorted(rule for rule in RULES if rule not in FILES | REQUESTS | IDLE))
_HEADER = re.compile(r"# (settings|command|update): (.*)\n")


class Case(NamedTuple):
    """One input of the checks; `command` and `update` are what the example's first lines say."""

    items: list[Item]
    old: list[Item] | None
    settings: Settings
    command: str = "validate"
    update: str = "apply"


def read_case(rule: str, name: str, edits: Iterable[tuple[str, str]] = ()) -> Case:
    """The case `name` (bad or good) of a rule; with other words where `edits` say so, which must all occur."""
    examples = read_page(rule).examples
    text = examples[f"{name}.yaml"]
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    told = read_header(text)
    spec: dict[str, Any] = yaml.safe_load(told.get("settings", "{}"))
    before = examples.get(f"{name}.old.yaml")
    return Case(
        read_items(text),
        None if before is None else read_items(before),
        read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec}),
        told.get("command", "validate"),
        told.get("update", "apply"),
    )


def read_header(text: str) -> dict[str, str]:
    """What the first lines of an example say, by `settings`, `command` and `update`."""
    said: dict[str, str] = {}
    while first := _HEADER.match(text, sum(map(len, said.values()))):
        said[first[1]] = first[0]
    return {key: line.partition(": ")[2].strip() for key, line in said.items()}


def read_items(text: str) -> list[Item]:
    """The objects of a case's text; they are on stdin unless a `# file:` line says otherwise."""
    parts = re.split(r"^# file: (.*)\n", text, flags=re.MULTILINE)
    files = [("-", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return [item for path, content in files for item in Stream.parse(content.encode(), path).items]


def run(case: Case) -> list[Result]:
    """What the command of the case tells."""
    command, *words = case.command.split()
    if command == "generate":
        return list(pipeline.generate(case.items, case.settings).results)
    if command == "convert":
        return list(pipeline.to_results(convert(case.items, words[-1]).findings))
    return list(pipeline.to_results(pipeline.find_all(case.items, case.settings, case.old, STAGES, case.update)))


def find_all(case: Case) -> list[Finding]:
    """The findings of the three stages, with the members that the sources count."""
    found = survey(case.items, case.settings)
    members, _ = count_members(list_present(case.items), case.items, case.settings)
    asking = [item for asked in found.asked for item in asked.items]
    stages = ("scheduler", "operator", "gitops")
    return list(check_stages(stages, case.items, members, case.old, case.settings, asking))
