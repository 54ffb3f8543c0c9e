"""The pages of the rules: `docs/rules/<id>.md` here, `krmfn/pages` in a wheel.

People write the sections of a page; its head comes from the rule's row, and `python docs/generate.py` puts it there.
The examples on a page are its rule's tests. Knows no rule.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from krmfn.krm.records import NamedTuple
from krmfn.model.findings import Rule
from krmfn.releases.release import find_release, list_releases
from krmfn.releases.schemastore import find_folder

#: The sections of a page, in order; those that a page may do without are in brackets.
SECTIONS = ("What goes wrong", "Example", "[How to fix it]", "[Sources]")
STAGES: Mapping[str, str] = {
    "server": "What would the API server refuse, drop or warn about?",
    "scheduler": "Will the pods be scheduled, and all together?",
    "operator": "Will KubeRay, the Job controller, Volcano and Kueue do what is intended?",
    "gitops": "Will the delivery from Git work: the order, the names, deletion, functions?",
}
_EXAMPLE = re.compile(r'^```yaml title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


class Page(NamedTuple):
    """A page: its text as it stands, and what is below its headings."""

    text: str
    sections: Mapping[str, str]

    @property
    def examples(self) -> dict[str, str]:
        """The manifests on the page by title: `bad.yaml`, `good.yaml`, and `bad.old.yaml` where there is an earlier
        state."""
        return dict(_EXAMPLE.findall(self.text))


def read_page(rule_id: str) -> Page:
    """The page of a rule. Raises FileNotFoundError when it has none."""
    with open(os.path.join(_folder(), f"{rule_id}.md"), encoding="utf-8") as stream:
        return parse_page(stream.read())


def parse_page(text: str) -> Page:
    """The page with this text."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return Page(text, {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)})


def write_head(rule: Rule) -> str:
    """What stands above the first section: the id, the sentence, and the row as a table."""
    row = f"| {rule.stage} | {rule.severity} | {_say_releases(rule)} |"
    return f"# {rule.id}\n\n{rule.sentence}\n\n| stage | severity | Kubernetes |\n|---|---|---|\n{row}\n\n"


def write_index(rules: Iterable[Rule]) -> str:
    """The page that lists the rules, by stage."""
    lines = ["# Rules", "", "Every finding names its rule. `krmfn rules ID` prints the page of a rule.", ""]
    lines[2] += " The [glossary](../concepts.md#glossary) explains the terms."
    by_stage: dict[str, list[Rule]] = {}
    for rule in rules:
        by_stage.setdefault(rule.stage, []).append(rule)
    for stage, question in STAGES.items():
        if stage in by_stage:
            lines += [f"## {stage}", "", question, "", "| rule | severity | what it finds |", "|---|---|---|"]
            lines += [f"| [{rule.id}]({rule.id}.md) | {rule.severity} | {rule.sentence} |" for rule in by_stage[stage]]
            lines.append("")
    return "\n".join(lines)


def _say_releases(rule: Rule) -> str:
    every = list_releases()
    held = [name for name in every if rule.holds(find_release(name))]
    if held == every:
        return "all"
    if held[-1] == every[-1]:
        return f"{held[0]} and later"
    if held[0] == every[0]:
        return f"up to {held[-1]}"
    return held[0] if len(held) == 1 else f"{held[0]} to {held[-1]}"


def _folder() -> str:
    return find_folder("pages", "docs/rules")
