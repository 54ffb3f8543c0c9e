"""Reading a case: manifests in `cases/<rule>/{bad,good}.yaml`, what they are told, and what the checks find in them.

`# settings: {…}` in the first line is the `spec` of the configuration; `# file: NAME` starts another file. The earlier
state of an update is in `{bad,good}.old.yaml`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from krmfn.checks.stages import check_stages
from krmfn.config import Settings, read_settings
from krmfn.krm import Item, Stream
from krmfn.model.findings import Finding
from krmfn.survey.counting import count_members
from krmfn.survey.gangs import survey

FOLDER = Path(__file__).parent / "cases"


class Case(NamedTuple):
    """One input of the checks."""

    items: list[Item]
    old: list[Item] | None
    settings: Settings


def read_case(rule: str, name: str) -> Case:
    """The case `name` (bad or good) of a rule."""
    text = (FOLDER / rule / f"{name}.yaml").read_text()
    first = re.match(r"# settings: (.*)\n", text)
    spec: dict[str, Any] = yaml.safe_load(first[1]) if first else {}
    old = FOLDER / rule / f"{name}.old.yaml"
    return Case(
        read_items(text),
        read_items(old.read_text()) if old.exists() else None,
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
