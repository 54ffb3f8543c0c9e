"""The function under kustomize's `validators:`: passes what is right, unchanged, and stops what is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tests.e2e.tools import ROOT, build


def test_the_example_passes_and_a_mistake_stops_the_build(tmp_path: Path) -> None:
    folder = tmp_path / "validator"
    shutil.copytree(ROOT / "examples" / "validator", folder)
    done = build(folder)
    assert done.returncode == 0, done.stderr
    job = folder / "job.yaml"
    assert list(yaml.safe_load_all(done.stdout)) == list(yaml.safe_load_all(job.read_text()))
    job.write_text(job.read_text().replace("minCount: 4", "minCount: 5"))
    done = build(folder)
    assert done.returncode == 1
    assert "[min-count-above-pods]" in done.stderr
