"""The README: its commands print what it shows, the files in it are the examples', and its links lead somewhere."""

import re
import shutil
from pathlib import Path

import pytest

from tests.docs.pages import Block, matches, read_page, read_steps
from tests.docs.sessions import ROOT, run_commands
from tests.e2e.tools import PATH, require_kustomize

README = ROOT / "README.md"
PAGE = read_page(README)


@pytest.mark.parametrize("block", [b for b in PAGE.blocks if b.language == "console"], ids=lambda b: f"line-{b.line}")
def test_a_session_prints_what_is_shown(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", PATH)
    require_kustomize()
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    steps = read_steps(block)
    for step, outcome in zip(steps, run_commands([step.command for step in steps], folder), strict=True):
        assert matches(step.output, outcome.output), outcome.output


def test_files_are_the_examples() -> None:
    files = [block for block in PAGE.blocks if block.title]
    assert files
    for block in files:
        assert (ROOT / block.title).read_text() == block.text


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text())
    assert links
    missing = [link for link in links if "://" not in link and not (ROOT / link).exists()]
    assert not missing
