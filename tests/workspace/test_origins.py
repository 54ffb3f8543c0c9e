"""Findings on rendered objects, told of the objects that somebody wrote."""

from __future__ import annotations

from krmfn.krm import FileRef, Item
from krmfn.krm.results import Result
from krmfn.model.findings import Finding
from krmfn.workspace.origins import Origins, merge
from tests.workspace.repositories import JOB


def test_a_finding_calls_an_object_what_its_file_calls_it() -> None:
    source = Item.parse(JOB.encode(), "base/job.yaml")
    rendered = Item.parse(JOB.replace("name: train", "name: dev-train\n  namespace: dev", 1).encode())
    finding = Finding(
        rendered, ("spec",), "Job dev-train, Job dev/dev-train, Job dev-train-2", hint="Delete Job dev-train."
    )
    found = Origins("dev/kustomization.yaml", {id(rendered): source}).trace(finding)
    assert (found.item, found.message) == (source, "Job train, Job train, Job dev-train-2")
    assert found.hint == "Delete Job train."


def test_a_world_is_named_where_the_place_does_not() -> None:
    top, base = FileRef("kustomization.yaml"), FileRef("base/job.yaml")
    results = merge([(".", Result("a", file=top)), (".", Result("b", file=base)), ("dev", Result("b", file=base))])
    assert [result.tags.get("world") for result in results] == [None, "., dev"]


def test_a_place_in_what_kustomize_printed_is_not_told() -> None:
    told = Origins("dev/kustomization.yaml", {}).settle(Result("defined twice ((rendered):805); one is kept"))
    assert (told.message, told.file) == ("defined twice; one is kept", FileRef("dev/kustomization.yaml"))
