"""What is often written for what was meant: one round of edits makes nearly all of it valid, and none of it worse."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.build import find_program
from conformance.versions import read_releases
from krmfn import server
from tests.front_door import ROOT, call

TEXT = (Path(__file__).parent / "mistakes.yaml").read_text()
CASES = dict(re.findall(r"^---\n# (.*)\n((?:(?!---\n).*\n)+)", TEXT, re.MULTILINE))
#: What cannot be known, and what is left to say of it after the edits.
LEFT: dict[str, str] = {}


def judge(text: str) -> list[str]:
    """What the API server of 1.37 refuses, in its words."""
    from krmfn.releases.release import find_release

    verdict = server.answer(yaml.safe_load(text), "1.37", dict.fromkeys(find_release("1.37").gates, True))
    assert verdict is not None
    return [] if verdict.accepted else [cause.message for cause in verdict.causes] or ["not served"]


def run(*words: str) -> Any:
    return call(words=["validate", "--kubernetes", "1.37", "--stage", "server", *words])


def validate(path: Path) -> list[dict[str, Any]]:
    done = run("-o", "json", str(path))
    results: list[dict[str, Any]] = json.loads(done.out)["results"]
    return [each for each in results if each["severity"] == "error"]


def make_edits(text: str, results: list[dict[str, Any]]) -> str:
    """The text after all edits, from its end to its start."""
    edits = {json.dumps(each["edit"]): each["edit"] for each in results if "edit" in each}
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def find(place: dict[str, int]) -> int:
        return starts[place["line"] - 1] + place["column"] - 1

    for edit in sorted(edits.values(), key=lambda edit: -find(edit["start"])):
        text = text[: find(edit["start"])] + edit["text"] + text[find(edit["end"]) :]
    return text


@pytest.mark.parametrize("name", CASES)
def test_one_round(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(CASES[name])
    results = validate(path)
    assert results, "it is a mistake"
    assert judge(CASES[name]), "the server refuses it, too"
    edited = make_edits(CASES[name], results)
    assert run("--fix", str(path)).code in (0, 1)
    assert path.read_text() == edited, "the edits are those of --fix"
    left = validate(path)
    assert [each["message"] for each in left] == ([LEFT[name]] if name in LEFT else [])
    assert len(judge(edited)) == len(left)


@pytest.mark.slow
@pytest.mark.skipif(not find_program(read_releases()["1.37"], "kube-apiserver"), reason="python -m conformance build")
def test_the_api_server_takes_what_was_edited(tmp_path: Path) -> None:
    if shutil.which("etcd") is None:
        pytest.skip("apt-get install etcd-server")
    written, edited = [], []
    for number, text in enumerate(CASES.values()):
        own = re.sub(r"(metadata:(?: \{name: |\n  name: ))a\b", rf"\g<1>a{number}", text, count=1)
        (tmp_path / "a.yaml").write_text(own)
        written.append(own)
        edited.append(make_edits(own, validate(tmp_path / "a.yaml")))

    def send(texts: list[str]) -> str:
        (tmp_path / "sent.yaml").write_text("---\n".join(texts))
        words = [sys.executable, "-m", "conformance", "accept", "1.37", str(tmp_path / "sent.yaml")]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    assert "\n0 accepted" in send(written)
    assert f"{len(CASES)} accepted" in send(edited)


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    assert len(LEFT) <= len(CASES) - 57
