"""What agents read: the commands of the skill print what it shows, and its references say what API servers say."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.commands import DATA
from conformance.storage import read_records
from tests.docs.pages import matches, read_page, read_steps
from tests.docs.sessions import ROOT, run_commands
from tests.e2e.tools import PATH, require

SKILL = ROOT / ".agents" / "skills" / "krmfn"
RELEASES = ("1.35", "1.36", "1.37")
#: The number of an entry, `[3]`: a field has one line whatever the entry.
ENTRY = re.compile(r"\[[0-9]+]")


@pytest.mark.parametrize("block", read_page(SKILL / "SKILL.md").blocks, ids=lambda block: f"line-{block.line}")
def test_a_session_prints_what_is_shown(block: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", PATH)
    require("jq", "apt-get install jq")
    shutil.copytree(ROOT / read_page(SKILL / "SKILL.md").start, tmp_path / "here")
    steps = read_steps(block)
    assert steps
    for step, done in zip(steps, run_commands([step.command for step in steps], tmp_path / "here"), strict=True):
        assert matches(step.output, done.output), done.output


def test_links_lead_somewhere() -> None:
    for page in (SKILL / "SKILL.md", ROOT / "AGENTS.md"):
        links = re.findall(r"\]\(([^)#]+)\)", page.read_text())
        assert links
        assert [link for link in links if not (page.parent / link).exists()] == []


def read_fields(release: str) -> dict[str, str]:
    """The lines of a release by their paths; paths in deep trees repeat those above."""
    lines = (SKILL / "references" / f"fields-{release}.txt").read_text().splitlines()
    pairs = (line.removeprefix(f"{release} ").partition(": ") for line in lines)
    return {path: said for path, _, said in pairs}


def list_paths(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if each is not None:
                yield f"{path}.{key}"
                yield from list_paths(each, f"{path}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from list_paths(each, f"{path}[]")


@pytest.mark.parametrize("release", RELEASES)
def test_fields_are_those_that_servers_take(release: str) -> None:
    """Of recorded answers: every field of an object that was accepted is there, none that was called unknown."""
    fields = read_fields(release)
    taken: set[str] = set()
    unknown: set[str] = set()
    for path in sorted(DATA.glob(f"verdicts/{release}-*.jsonl.xz")):
        for record in read_records(path):
            body = record.get("object")
            if f"{record['kind']}.spec" not in fields or not isinstance(body, dict):
                continue
            if record["verdict"]["accepted"]:
                taken.update(list_paths(body.get("spec"), f"{record['kind']}.spec"))
            for name in re.findall(r'unknown field \\?"(spec\.[^"\\]+)', record["verdict"].get("message", "")):
                unknown.add(f"{record['kind']}.{ENTRY.sub('[]', name)}")
    shallow = {each for each in taken if each.count("compositePodGroupTemplates") < 3}
    assert len(shallow) > 9
    assert shallow - fields.keys() == set()
    assert unknown & fields.keys() == set()
    assert unknown


def test_what_cannot_change_says_so() -> None:
    fields = read_fields("1.37")
    immutable = set()
    for record in read_records(DATA / "verdicts" / "1.37-was-all.jsonl.xz"):
        for cause in record["verdict"].get("causes", ()) if record["operation"] == "update" else ():
            if "field is immutable" in cause["message"] and cause["field"].startswith("spec."):
                immutable.add(f"{record['kind']}.{ENTRY.sub('[]', cause['field'])}")
    named = {path: fields[path] for path in immutable if path in fields}
    assert len(named) > 5
    assert {path: line for path, line in named.items() if "immutable" not in line and "update" not in line} == {}
