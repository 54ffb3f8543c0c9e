"""The mapping page names every kind that is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.model.kinds import KINDS

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mapping.md"


@pytest.mark.parametrize(("group", "kind"), sorted(key for key, row in KINDS.items() if row.source or row.reason))
def test_every_kind_is_in_the_table(group: str, kind: str) -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    wanted = "Job of Volcano" if group == "batch.volcano.sh" else kind
    assert any(wanted in {word.strip() for word in row.split("|")[1].split(",")} for row in rows)
