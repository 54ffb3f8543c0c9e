"""The page on which people find a rule: by what they see in the cluster, by stage, by release, by words.

Static: a small script hides the rows that are not wanted. Of a rule it knows its row and its page.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from krmfn.model.findings import Rule
from krmfn.model.rules import RULES
from krmfn.releases.release import find_release, list_releases

HERE = Path(__file__).parent
PAGES = HERE.parent / "docs" / "rules"
STAGES = {"server": "API server", "scheduler": "scheduler", "operator": "operators", "gitops": "delivery from Git"}
#: What people see: see symptoms.yaml.
SYMPTOMS = yaml.safe_load((HERE / "symptoms.yaml").read_text())


def render() -> str:
    """The page, with all rules in it."""
    page = (HERE / "src" / "rules.html").read_text()
    parts = {
        "symptoms": _choices("symptom", {name: told["title"] for name, told in SYMPTOMS.items()}),
        "stages": _choices("stage", STAGES),
        "releases": "".join(f"<option>{name}</option>" for name in reversed(list_releases())),
        "rows": "\n".join(_row(rule) for rule in sorted(RULES.values(), key=lambda rule: rule.id)),
        "count": str(len(RULES)),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], page)


def _choices(name: str, words: dict[str, str]) -> str:
    """One of these, or any of them."""
    labels = []
    for value, text in {"": "all", **words}.items():
        checked = "" if value else " checked"
        labels.append(f'<label class="chip"><input type="radio" name="{name}" value="{value}"{checked}>{text}</label>')
    return "\n".join(labels)


def _row(rule: Rule) -> str:
    held = " ".join(name for name in list_releases() if rule.holds(find_release(name)))
    return (
        f'<li data-stage="{rule.stage}" data-releases="{held}" data-symptoms="{" ".join(find_symptoms(rule))}">'
        f'<p><a href="../docs/rules/{rule.id}/">{rule.id}</a> <b class="{rule.severity}">{rule.severity}</b> '
        f"<span>{STAGES[rule.stage]}</span></p><p>{_mark(rule.sentence)}</p><p>{_mark(find_harm(rule))}</p></li>"
    )


def find_symptoms(rule: Rule) -> Iterator[str]:
    """The names of the symptoms that a rule is about."""
    text = f"{rule.sentence} {find_harm(rule, whole=True)}"
    refused = rule.stage == "server" and rule.severity == "error"
    for name, told in SYMPTOMS.items():
        if (name == "refused" and refused) or re.search("|".join(told["words"]), text, re.IGNORECASE):
            yield name


def find_harm(rule: Rule, *, whole: bool = False) -> str:
    """What goes wrong, from the page of the rule: the first sentence, or the whole section without its blocks."""
    path = PAGES / f"{rule.id}.md"
    found = re.search(r"^## What goes wrong\n+(.*?)(?=^## |\Z)", path.read_text(), re.MULTILINE | re.DOTALL)
    text = re.sub(r"^```.*?^```", "", found[1] if found else "", flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    first = re.match(r".+?[.:](?= [A-Z`*]|$)", text)
    return text if whole or not first else first[0].removesuffix(":")


def _mark(text: str) -> str:
    """Text as HTML, with its `code`."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text).replace("**", ""))
