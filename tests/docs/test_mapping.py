"""The mapping page says of every kind that gets a gang how its pods are counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.model.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mapping.md"


@pytest.mark.parametrize("kind", sorted(row.name for row in KINDS.values() if row.has_gangs))
def test_every_kind_is_in_the_table(kind: str) -> None:
    table = PAGE.read_text().partition("## Kinds\n")[2].partition("\n## ")[0]
    rows = [line.split("|")[1].split(",") for line in table.splitlines() if line.startswith("| ")]
    told = f"the table Kinds of docs/reference/mapping.md has no row of {kind}: say there how its pods are counted"
    assert any(kind in map(str.strip, row) for row in rows), told
