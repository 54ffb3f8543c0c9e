"""Every fixture through the front door: the console script's function, bytes in, bytes out.

`fixtures/accept` and `fixtures/reject` hold ResourceLists; `golden/` holds what stdout (.out), stderr and the exit
status (.err) must be. `pytest tests/test_goldens.py --snapshot-update` rewrites them: only with the behaviour that
they show.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension
from syrupy.location import PyTestLocation

ROOT = Path(__file__).parent.parent
FIXTURES = sorted(path.relative_to(ROOT / "fixtures") for path in (ROOT / "fixtures").rglob("*.*"))


class Golden(SingleFileSnapshotExtension):
    """Snapshots that lie in golden/ under the fixture's own name."""

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """The one folder of all goldens."""
        return str(ROOT / "golden")

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """The file of a golden; `index` is its path below the folder."""
        return str(ROOT / "golden" / str(index))


def call(data: bytes) -> tuple[bytes, bytes, int]:
    """The function on `data`: stdout, stderr, exit status."""
    done = subprocess.run([sys.executable, "-m", "krmfn"], input=data, capture_output=True, check=False, cwd=ROOT)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.filterwarnings("ignore:.*Can not relate snapshot location")
@pytest.mark.parametrize("fixture", FIXTURES, ids=str)
def test_golden(fixture: Path, snapshot: SnapshotAssertion) -> None:
    golden = snapshot.use_extension(Golden)
    out, err, code = call((ROOT / "fixtures" / fixture).read_bytes())
    assert out == golden(name=f"{fixture.with_suffix('')}.out")
    assert err + f"exit {code}\n".encode() == golden(name=f"{fixture.with_suffix('')}.err")
    assert (code == 0) == (fixture.parts[0] == "accept")


@pytest.mark.parametrize("fixture", [each for each in FIXTURES if each.parts[0] == "accept"], ids=str)
def test_second_run_changes_nothing(fixture: Path) -> None:
    golden = (ROOT / "golden" / fixture.with_suffix(".out")).read_bytes()
    again, _, code = call(golden)
    assert code == 0
    assert _without_results(again) == _without_results(golden)


@pytest.mark.parametrize("fixture", FIXTURES, ids=str)
def test_fixture_says_why_it_exists(fixture: Path) -> None:
    first = (ROOT / "fixtures" / fixture).read_text().splitlines()[0]
    assert first.startswith("# ") or fixture.suffix == ".json"


def test_no_orphans() -> None:
    wanted = {f"{fixture.with_suffix('')}{end}" for fixture in FIXTURES for end in (".out", ".err")}
    golden = ROOT / "golden"
    assert {str(path.relative_to(golden)) for path in golden.rglob("*") if path.is_file()} == wanted


def _without_results(data: bytes) -> bytes:
    return data.partition(b"\nresults:")[0]
