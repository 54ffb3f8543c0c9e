"""Variables of Flux: what is filled in, as Flux does it, and what they may do to a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.workspace.deployers import substitute
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import find_worlds
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import FLUX, JOB, git
from tests.workspace.test_worlds import write


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as working directory."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${image} ${pods:=2} ${pods=2}", "train:1 4 4"),
        ("${other}", "${other}"),  # a Secret may have it
        ("${other:-one}${other:=two}${other=}", "onetwo"),
        ("${empty:=one}${empty}", "one"),
        ("${named} ${other:=${named}}", "${pods} ${pods}"),
        ("${other:=a-${image}-${else:=${last:=b}}}", "a-train:1-b"),
        ("$${image} $image {image} ${2}", "$${image} $image {image} ${2}"),
    ],
)
def test_a_value_is_filled_in_once(text: str, filled: str) -> None:
    """As envsubst of fluxcd/pkg does it: the result of one expression is no template for the next."""
    variables = {"image": "train:1", "pods": "4", "empty": "", "named": "${pods}"}
    assert substitute(text.encode(), variables).decode() == filled


def test_what_variables_spoil_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_kustomize(monkeypatch)
    flux = FLUX.replace("NAME", "a").replace('{pods: "4"}', '{image: "a\\n}]: ["}')
    jobs = {
        "resources: [job.yaml]\n": JOB + "x: ${image}\n",
        "resources: [job.yaml]\nnamePrefix: p-\n": JOB.replace("image: train", 'image: "${image}"'),
    }
    for overlay, job in jobs.items():
        write(folder, {"f.yaml": flux, "apps/train/job.yaml": job, "apps/train/kustomization.yaml": overlay})
        found = find_worlds(["."], Rendering(required=True))
        assert "cannot be read" in " ".join(problem.message for problem in found.problems)
        assert found.unreadable


def test_variables_that_grow_are_refused(folder: Path) -> None:
    flux = FLUX.replace("NAME", "a").replace('{pods: "4"}', "{a: " + "x" * 100_000 + "}")
    write(folder, {"f.yaml": flux, "apps/train/job.yaml": JOB + "# ${a}\n" * 1_000})
    found = find_worlds(["."], Rendering())
    assert "variables filled in" in " ".join(problem.message for problem in found.problems)
