"""Every fixture through the front door: the console script's function, bytes in, bytes out.

`fixtures/accept` and `fixtures/reject` hold ResourceLists; `golden/` holds what stdout (.out), stderr and the exit
status (.err) must be. `pytest tests/test_goldens.py --snapshot-update` rewrites them: only with the behaviour that
they show.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.front_door import ROOT, Done, call
from tests.golden_files import CALLS, FIXTURES, GOLDEN, LISTS, assert_golden

#: One of each way to end, and one of each way in which text is written: the real thing says the same.
PROCESSES = (
    "accept/text/json.json",
    "accept/text/crlf.yaml",
    "accept/kustomize/empty.yaml",
    "accept/config/validate-mode.yaml",
    "accept/raycluster/group-1-37.yaml",
    "reject/job/no-template.yaml",
    "reject/config/unknown-key.yaml",
    "reject/resourcelist/no-yaml.yaml",
)


@pytest.mark.filterwarnings(r"ignore:\s*Can not relate snapshot location")
@pytest.mark.parametrize("fixture", LISTS, ids=str)
def test_golden(fixture: Path, snapshot: SnapshotAssertion) -> None:
    done = call((FIXTURES / fixture).read_bytes())
    assert_golden(fixture, done, snapshot)
    assert (done.code == 0) == (fixture.parts[0] == "accept")


@pytest.mark.parametrize("fixture", PROCESSES)
def test_process_of_its_own_says_the_same(fixture: str) -> None:
    data = (FIXTURES / fixture).read_bytes()
    done = subprocess.run([sys.executable, "-m", "krmfn"], input=data, capture_output=True, check=False, cwd=ROOT)
    assert Done(done.stdout, done.stderr, done.returncode) == call(data)


@pytest.mark.parametrize("fixture", [each for each in LISTS if each.parts[0] == "accept"], ids=str)
def test_second_run_changes_nothing(fixture: Path) -> None:
    golden = (GOLDEN / fixture.with_suffix(".out")).read_bytes()
    again = call(golden)
    assert again.code == 0
    assert _without_results(again.out) == _without_results(golden)


def test_fixtures_say_why_they_exist() -> None:
    texts = {each: (FIXTURES / each).read_text() for each in [*LISTS, *(call / "command" for call in CALLS)]}
    assert [each for each, text in texts.items() if not text.startswith("# ") and each.suffix != ".json"] == []


def test_no_orphans() -> None:
    wanted = {f"{fixture.with_suffix('')}{end}" for fixture in [*LISTS, *CALLS] for end in (".out", ".err")}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*") if path.is_file()} == wanted


def _without_results(data: bytes) -> bytes:
    return data.partition(b"\nresults:")[0]
