"""Findings on rendered objects, told of the objects that somebody wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.cli.entry import main
from krmfn.krm import FileRef, Item
from krmfn.krm.results import Result
from krmfn.model.findings import Finding
from krmfn.workspace.world import World, merge
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import FLUX, JOB
from tests.workspace.test_worlds import folder, write

__all__ = ["folder"]


def test_a_finding_calls_an_object_what_its_file_calls_it() -> None:
    source = Item.parse(JOB.encode(), "base/job.yaml")
    rendered = Item.parse(JOB.replace("name: train", "name: dev-train\n  namespace: dev", 1).encode())
    finding = Finding(
        rendered, ("spec",), "Job dev-train, Job dev/dev-train, Job dev-train-2", hint="Delete Job dev-train."
    )
    found = World("", "", [rendered], None, "", sources={id(rendered): source}).trace(finding)
    assert (found.item, found.message) == (source, "Job train, Job train, Job dev-train-2")
    assert found.hint == "Delete Job train."


def test_a_world_is_named_where_the_place_does_not() -> None:
    top, base = FileRef("kustomization.yaml"), FileRef("base/job.yaml")
    results = merge([(".", Result("a", file=top)), (".", Result("b", file=base)), ("dev", Result("b", file=base))])
    assert [result.tags.get("world") for result in results] == [None, "., dev"]


def test_a_place_in_what_kustomize_printed_is_not_told() -> None:
    told = World("", "", [], None, "", overlay="dev/kustomization.yaml").settle(
        Result("defined twice ((rendered):805); one is kept")
    )
    assert (told.message, told.file) == ("defined twice; one is kept", FileRef("dev/kustomization.yaml"))


def test_quotes_around_a_variable_are_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The API server refuses the annotation that Flux sends, and the line to change is that of the variable."""
    require_kustomize(monkeypatch)
    job = JOB.replace('krmfn.dev/gang: "true"', 'flag: "${gang}"')
    write(folder, {"a.yaml": FLUX.replace('pods: "4"', 'gang: "true"'), "apps/train/job.yaml": job})
    write(folder, {"apps/train/kustomization.yaml": "resources: [job.yaml]\nnamePrefix: my-\n"})
    assert main(["validate", "."]) == 1
    out = capsys.readouterr().out
    assert "apps/train/job.yaml:5:23: error: Job train metadata.annotations.flag: json: cannot unmarshal" in out
    assert "kustomize drops quotes around a variable" in out
    write(folder, {"a.yaml": FLUX.replace('pods: "4"', "gang: '\"true\"'")})
    assert main(["validate", "."]) == 0


@pytest.mark.parametrize("affix", ["namePrefix: my-", "nameSuffix: -eval", "namePrefix: my-\nnameSuffix: '-2'"])
def test_an_object_whose_name_begins_like_another_ones_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], affix: str
) -> None:
    require_kustomize(monkeypatch)
    wrong = JOB.replace("spec:", "spec:\n  backoffLimit: many", 1)
    names = ("train", "train-a", "train-a-2")
    write(folder, {"job.yaml": "---\n".join(wrong.replace("name: train", f"name: {name}", 1) for name in names)})
    write(folder, {"kustomization.yaml": f"resources: [job.yaml]\n{affix}\n"})
    assert main(["validate", "."]) == 1
    out = capsys.readouterr().out
    assert [f"error: Job {name} spec.backoffLimit" in out for name in names] == [True] * 3
    assert out.count("job.yaml:") >= 3
    assert "kustomization.yaml: error" not in out
