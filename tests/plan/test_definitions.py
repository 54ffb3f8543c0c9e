"""A plan refuses what a definition or the fields of a kind refuse, as validate does."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.cli.entry import main
from tests.checks.definitions import define

OLD = """\
apiVersion: example.com/v1
kind: Foo
metadata: {name: a}
spec: {count: 1}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: b}
data: {a: "1"}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: c}
spec: {suspend: true}
"""
DEFINITION = define("{spec: {type: object, properties: {count: {type: integer, minimum: 1}}}}")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("count: 1", "count: 0", "Foo a"),
        ("count: 1", "counts: 1", "Foo a"),
        ("count: 1", "count: 2", ""),
        ('a: "1"', "a: 1", "ConfigMap b"),
        ('a: "1"', 'a: "2"', ""),
        ("suspend: true", "suspend: 1", "JobSet c"),
        # Only a version that is not known here may have such a field.
        ("suspend: true", "suspended: true", ""),
        ("suspend: true", "suspend: false", ""),
    ],
)
def test_what_is_refused(old: str, new: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states = {"old.yaml": OLD, "new.yaml": OLD.replace(old, new), "crd.yaml": DEFINITION}
    for name, text in states.items():
        (tmp_path / name).write_text(text)
    paths = {name: str(tmp_path / name) for name in states}
    code = main(["diff", "--crds", paths["crd.yaml"], paths["old.yaml"], paths["new.yaml"]])
    out = capsys.readouterr().out
    assert code == bool(told)
    assert ("Refused by the API server" in out) == bool(told)
    assert f"\n  {told}" in out
    # The same definition among the objects that are applied.
    (tmp_path / "new.yaml").write_text(states["new.yaml"] + "---\n" + DEFINITION)
    assert main(["diff", paths["old.yaml"], paths["new.yaml"]]) == bool(told)


def test_crds_without_a_definition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.yaml").write_text(OLD)
    path = str(tmp_path / "old.yaml")
    assert main(["diff", "--crds", path, path, path]) == 2
    assert "no CustomResourceDefinition in it" in capsys.readouterr().err
