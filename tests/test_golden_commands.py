"""Every fixture of a command: a folder with the files that it reads, and a file `command` that says why and what.

Updates, conversions, and files that are no ResourceList: what a user calls krmfn with words for.
"""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from krmfn.workspace import simulator
from tests.front_door import call
from tests.golden_files import CALLS, FIXTURES, assert_golden


@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot location")
@pytest.mark.parametrize("fixture", CALLS, ids=str)
def test_golden(fixture: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "SIMULATORS", "none-")  # which simulators a machine has does not show
    _, line = (FIXTURES / fixture / "command").read_text().splitlines()
    program, *words = shlex.split(line)
    assert program == "krmfn"
    assert_golden(fixture, call(words=words, folder=FIXTURES / fixture), snapshot)
