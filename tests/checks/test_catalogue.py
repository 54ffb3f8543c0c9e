"""The catalogue: ids are unique, rows are complete, pages are current, and a lookup loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from krmfn.catalogue import RULES, find_duplicates, render_pages, write_pages

PAGES = Path(__file__).parents[2] / "docs" / "rules"


def test_no_id_stands_twice() -> None:
    assert find_duplicates() == []


@pytest.mark.parametrize("rule_id", list(RULES))
def test_a_row_says_what_is_wrong_in_one_sentence(rule_id: str) -> None:
    rule = RULES[rule_id]
    assert rule.id == rule_id == rule_id.lower().replace("_", "-")
    assert rule.stage in ("server", "scheduler", "operator", "gitops")
    assert rule.severity in ("error", "warning", "info")
    assert rule.sentence.endswith(".")
    assert "\n" not in rule.sentence
    assert set(rule.releases) <= {"1.35", "1.36", "1.37"}


def test_an_unknown_id_is_not_found() -> None:
    assert "no-such-rule" not in RULES
    with pytest.raises(KeyError):
        RULES["no-such-rule"]


def test_the_pages_are_current() -> None:
    """Run `python -m krmfn.catalogue docs/rules` when this fails."""
    assert {page.name: page.read_text() for page in PAGES.glob("*.md")} == render_pages()


def test_writing_pages_makes_the_folder_current(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text("a rule that is gone")
    assert "gone.md" in write_pages(str(tmp_path))
    assert {page.name for page in tmp_path.iterdir()} == set(render_pages())
    assert write_pages(str(tmp_path)) == []


def test_a_finding_of_a_source_loads_no_checks() -> None:
    program = (
        "import sys\n"
        "from krmfn.catalogue import RULES\n"
        "assert RULES['group-without-pods'].stage == 'operator'\n"
        "assert not [name for name in sys.modules if name.startswith('krmfn.checks')]\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
