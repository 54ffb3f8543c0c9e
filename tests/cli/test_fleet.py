"""`krmfn fleet`: every repository is a line, also a broken one; a run that was killed goes on where it stopped."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Call
from tests.front_door import ROOT
from tests.workspace.repositories import JOB, git

WRONG = JOB.replace("spec:", "spec:\n  backoffLimit: -1", 1)


def make(folder: Path, name: str, text: str, commits: bool = True) -> Path:
    """A repository with a manifest."""
    (folder / name).mkdir(parents=True)
    (folder / name / "job.yaml").write_text(text)
    if commits:
        git(folder / name, "init", "-q", "-b", "main")
        git(folder / name, "add", "-A")
        git(folder / name, "commit", "-q", "-m", "first")
    return folder / name


def write_fleet(folder: Path, *repositories: dict[str, Any]) -> Path:
    path = folder / "fleet.yml"
    path.write_text(yaml.safe_dump({"repositories": repositories}))
    return path


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Repositories of every sort: clean, wrong, bare, with a configuration, with a revision, broken ones."""
    make(tmp_path, "good", JOB)
    wrong = make(tmp_path, "wrong", WRONG)
    git(tmp_path, "clone", "-q", "--bare", str(wrong), "wrong.git")
    (wrong / "job.yaml").write_text(JOB)  # mended, not committed
    make(tmp_path, "broken", "apiVersion: v1\nkind: [\n", commits=False)
    (tmp_path / "gangs.yml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\n"
        'spec: {kubernetes: {version: "1.36"}, rules: {ignore: [{rules: [job-counts], reason: known}]}}\n'
    )
    write_fleet(
        tmp_path,
        {"folder": "good", "owner": "ml"},
        {"folder": "wrong", "owner": "<b>ops", "name": "mended"},
        {"folder": "wrong", "owner": "ops", "name": "committed", "revision": "main"},
        {"folder": "wrong.git", "owner": "ops", "name": "bare"},
        {"folder": "wrong.git", "name": "configured", "configuration": "gangs.yml"},
        {"folder": "broken", "owner": "ml"},
        {"folder": "gone"},
        {"folder": "wrong.git", "name": "lost", "revision": "nowhere"},
        {"folder": "wrong", "name": "optional", "options": ["--stage", "gitops"], "paths": ["job.yaml"]},
    )
    return tmp_path


@pytest.mark.slow
def test_every_repository_is_a_line(fleet: Path, krmfn: Call) -> None:
    done = krmfn("fleet", "fleet.yml", "--into", "out", folder=fleet)
    assert done.code == 2
    table = json.loads((fleet / "out/fleet.json").read_text())
    found = {each["name"]: each for each in table["repositories"]}
    assert {name: each["status"] for name, each in found.items()} == {
        "good": "warning",
        "mended": "warning",
        "committed": "error",
        "bare": "error",
        "configured": "warning",
        "broken": "failed",
        "gone": "failed",
        "lost": "failed",
        "optional": "warning",
    }
    assert "no such folder" in found["gone"]["failure"]
    assert "no such revision" in found["lost"]["failure"]
    assert found["bare"]["rules"][0]["rule"] == found["committed"]["rules"][0]["rule"] == "job-counts"
    assert table["summary"]["failed"] == 3
    assert found["bare"]["before"] is None
    for page in ("index.html", "fleet.md"):
        text = (fleet / "out" / page).read_text()
        assert all(name in text for name in found)
        assert "<b>ops" not in text
    assert "committed (ops): 1 error" in done.out
    assert "0 left" in done.err


@pytest.mark.slow
def test_the_report_of_a_repository_is_what_its_own_run_says(fleet: Path, krmfn: Call) -> None:
    krmfn("fleet", "fleet.yml", "--into", "out", folder=fleet)
    alone = krmfn("validate", "git:main", "-o", "json", folder=fleet / "wrong")
    (report,) = (fleet / "out/reports").glob("committed-*")
    assert report.read_text() == alone.out
    merged = krmfn("merge", f"a={report.relative_to(fleet)}", "-o", "sarif", folder=fleet)
    assert merged.code == 1


@pytest.mark.slow
def test_the_next_run_shows_the_trend(fleet: Path, krmfn: Call) -> None:
    krmfn("fleet", "fleet.yml", folder=fleet)
    (fleet / "good/job.yaml").write_text(WRONG)
    krmfn("fleet", "fleet.yml", folder=fleet)
    (row,) = [line for line in (fleet / "report/fleet.md").read_text().splitlines() if line.startswith("| good")]
    assert "1 (+1)" in row
    (fleet / "report/fleet.json").write_text("[")  # nothing is known then
    assert krmfn("fleet", "fleet.yml", folder=fleet).code == 2
    assert "(+1)" not in (fleet / "report/fleet.md").read_text()


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(tmp_path: Path, krmfn: Call) -> None:
    for number in range(12):
        make(tmp_path, f"r{number}", WRONG if number % 3 else JOB, commits=False)
    write_fleet(tmp_path, *({"folder": f"r{number}"} for number in range(12)))
    words = [sys.executable, "-m", "krmfn", "fleet", "fleet.yml", "--jobs", "1"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for _ in range(4):
        process.stderr.readline()
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1)  # the check that was at work ends by itself
    reports = {path: path.stat().st_mtime_ns for path in (tmp_path / "report/reports").iterdir()}
    with (tmp_path / "report/unfinished.jsonl").open("a") as stream:
        stream.write('{"file": "r1')  # as a kill in the middle of a line leaves it
    done = krmfn("fleet", "fleet.yml", folder=tmp_path)
    known = re.search(r"(\d+) of 12 were done", done.err)
    assert known is not None
    assert 4 <= int(known[1]) <= len(reports) < 12
    assert sum(path.stat().st_mtime_ns == at for path, at in reports.items()) >= int(known[1])
    table = json.loads((tmp_path / "report/fleet.json").read_text())
    assert [each["name"] for each in table["repositories"]] == [f"r{number}" for number in range(12)]
    assert table["summary"]["error"] == 8
    assert len(list((tmp_path / "report/reports").iterdir())) == 12
    assert "were done" not in krmfn("fleet", "fleet.yml", folder=tmp_path).err


@pytest.mark.slow
@pytest.mark.parametrize("number", ["1e999", "[" * 100_000, "{}"])
def test_what_an_earlier_run_left_is_believed_only_where_it_can_be_read(
    number: str, tmp_path: Path, krmfn: Call
) -> None:
    (tmp_path / "empty").mkdir()
    file = write_fleet(tmp_path, {"name": "empty", "folder": "empty"})
    (tmp_path / "out").mkdir()
    (tmp_path / "out/fleet.json").write_text(f'{{"repositories": [{{"name": "empty", "summary": {{"a": {number}}}}}]}}')
    line = f'"status": {number}, "failure": "", "seconds": 1}}\n'
    (tmp_path / "out/unfinished.jsonl").write_text(
        f'{{"file": "a", {line}{{"file": [], {line}{{"file": [], "status": 0, "failure": "", "seconds": 1}}\n'
    )
    assert krmfn("fleet", str(file), "--into", str(tmp_path / "out")).code == 0


@pytest.mark.slow
def test_the_page_runs_no_script_but_its_own(fleet: Path, krmfn: Call) -> None:
    krmfn("fleet", "fleet.yml", "--into", "out", folder=fleet)
    page = (fleet / "out/index.html").read_text()
    (script,) = re.findall("<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert not re.search(r'(src|href)="', page)
    assert page.count('<option value="">all</option>') == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "should be a mapping"),
        ("repositories: []", "should be a mapping with a list"),
        ("repositories: [{folder: a}]\nmore: 1", "nothing else"),
        ("repositories: [{}]", "repositories[0].folder: is missing"),
        ("repositories: [{folder: a, onwer: b}]", "Did you mean owner?"),
        ("repositories: [{folder: 1}]", "should be a string"),
        ("repositories: [{folder: a, paths: b}]", "should be a list of strings"),
        ("repositories: [{folder: a, paths: [1]}]", "should be a list of strings"),
        ("repositories: [{folder: a}, {folder: b/a}]", "two repositories are called a"),
        ("repositories: [", "fleet.yml"),
    ],
)
def test_mistakes_in_the_file_are_told(text: str, said: str, tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "fleet.yml").write_text(text)
    done = krmfn("fleet", "fleet.yml", folder=tmp_path)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_other_mistakes_are_told(fleet: Path, krmfn: Call) -> None:
    for words in (["gone.yml"], ["fleet.yml", "--jobs", "none"], ["fleet.yml", "--into", "fleet.yml"]):
        done = krmfn("fleet", *words, folder=fleet)
        assert (done.code, "Traceback" in done.err) == (2, False)


@pytest.mark.slow
def test_the_example_is_checked(tmp_path: Path, krmfn: Call) -> None:
    done = krmfn("fleet", str(ROOT / "examples/fleet/repositories.yml"), "--into", "out", folder=tmp_path)
    assert done.code == 0, done.err
    assert "| training | research |" in (tmp_path / "out/fleet.md").read_text()


def test_no_repository_is_taken_for_a_module(tmp_path: Path, krmfn: Call) -> None:
    place = make(tmp_path, "evil", JOB, commits=False)
    for name in ("yaml.py", "krmfn.py", "json.py"):
        (place / name).write_text(f"open({str(tmp_path / 'trap')!r}, 'w')\n")
    write_fleet(tmp_path, {"folder": "evil"})
    assert krmfn("fleet", "fleet.yml", folder=tmp_path).code == 0
    assert not (tmp_path / "trap").exists()
