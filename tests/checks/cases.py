"""Reading a case: the examples on a rule's page, what they are told, and what the checks find in them.

`# settings: {…}` in the first line is the `spec` of the configuration; `# file: NAME` starts another file. The earlier
state of an update is in `{bad,good}.old.yaml`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import yaml

from krmfn.checks import reading
from krmfn.checks.rule import list_checks
from krmfn.checks.stages import check_stages
from krmfn.config import Settings, read_settings
from krmfn.krm import Item, Stream
from krmfn.model.findings import Finding
from krmfn.reports.pages import read_page
from krmfn.survey.counting import count_members
from krmfn.survey.gangs import survey

#: Rules whose examples are read by the three stages; those of the others come with `krmfn validate` and `generate`.
CHECKED = tuple(sorted(check.rule.id for stage in ("scheduler", "operator", "gitops") for check in list_checks(stage)))
PROBLEMS = tuple(sorted(rule.id for rule in reading.RULES))


class Case(NamedTuple):
    """One input of the checks."""

    items: list[Item]
    old: list[Item] | None
    settings: Settings


def read_case(rule: str, name: str) -> Case:
    """The case `name` (bad or good) of a rule."""
    examples = read_page(rule).examples
    text = examples[f"{name}.yaml"]
    first = re.match(r"# settings: (.*)\n", text)
    spec: dict[str, Any] = yaml.safe_load(first[1]) if first else {}
    old = examples.get(f"{name}.old.yaml")
    return Case(
        read_items(text),
        None if old is None else read_items(old),
        read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec}),
    )


def read_items(text: str) -> list[Item]:
    """The objects of a case's text; they are on stdin unless a `# file:` line says otherwise."""
    parts = re.split(r"^# file: (.*)\n", text, flags=re.MULTILINE)
    files = [("-", parts[0]), *zip(parts[1::2], parts[2::2], strict=True)]
    return [item for path, content in files for item in Stream.parse(content.encode(), path).items]


def find_all(case: Case) -> list[Finding]:
    """The findings of the three stages, with the members that the sources count."""
    found = survey(case.items, case.settings)
    members, _ = count_members(found.present, case.settings)
    asking = [item for asked in found.asked for item in asked.items]
    stages = ("scheduler", "operator", "gitops")
    return list(check_stages(stages, case.items, members, case.old, case.settings, asking))
