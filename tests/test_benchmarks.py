"""The benchmarks' own parts: what is measured is what the row's name says, and a row without its program says so."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from benchmarks import __main__ as table
from benchmarks import mixed, programs
from benchmarks.rows import ROWS


def test_both_styles_hold_the_same_documents_and_no_two_are_alike() -> None:
    block = [yaml.safe_load(text) for text in mixed.stream(400, flow=False)]
    flow = list(mixed.stream(400, flow=True))
    assert [yaml.safe_load(text) for text in flow] == block
    assert len({str(document) for document in block}) == 400
    assert [document["kind"] for document in block[:4]] == ["Job", "ConfigMap", "Deployment", "Service"]
    assert "metadata: {name: train-0, namespace: team-0}" in flow[0]
    assert "requests: {cpu: 100m, memory: 1Gi}" in flow[0]


@pytest.mark.parametrize("flow", [False, True])
def test_the_server_accepts_what_is_measured(flow: bool, tmp_path: Path) -> None:
    path = tmp_path / "mixed.yaml"
    path.write_text("".join(mixed.stream(40, flow)))
    words = [sys.executable, "-m", "krmfn", "validate", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "40 objects: no findings" in done.stderr


@pytest.mark.parametrize("name", [name for name in ROWS if name.startswith("flux")])
def test_a_row_whose_program_is_missing_says_why(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(programs, "CACHE", tmp_path)
    monkeypatch.setattr(programs, "FLUX_SCHEMA", str(tmp_path / "nowhere"))
    assert table.main([name]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.startswith(f"| {name} |"))
    assert "not measured" in row
    assert "flux-schema cannot be built, `git fetch` failed" in row
