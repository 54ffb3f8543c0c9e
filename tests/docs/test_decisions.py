"""Decisions that hang on numbers are looked at again when the numbers are others."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "decisions" / "050-capabilities.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| ") and "`" in line
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_capability_has_the_lines_that_its_decision_says(row: list[str]) -> None:
    places = [place for name in re.findall("`(.*?)`", row[1]) for place in (ROOT / "krmfn").glob(name)]
    files = {file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place])}
    lines, said = sum(file.read_text().count("\n") for file in files), int(row[2].replace(",", ""))
    assert abs(lines - said) <= said / 10, f"{lines} lines: look again whether it is worth them, and write the number"
