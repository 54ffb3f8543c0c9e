"""Files that a kustomization lists as patches look like objects and are none: they are not checked as some."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.cli.entry import main
from krmfn.workspace.kustomization import list_patches

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: a, image: a, resources: {requests: {cpu: "1", memory: 1Gi}}}
"""
PATCH = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {nodeSelector: {a: b}}}}\n"


@pytest.mark.parametrize(
    "listed",
    ["patches: [{path: patch.yaml}]", "patchesStrategicMerge: [./patch.yaml]", "patchesJson6902: [{path: patch.yaml}]"],
)
def test_a_listed_patch_is_not_an_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listed: str) -> None:
    (tmp_path / "overlay").mkdir()
    (tmp_path / "overlay" / "job.yaml").write_text(JOB)
    (tmp_path / "overlay" / "patch.yaml").write_text(PATCH)
    kustomization = tmp_path / "overlay" / "kustomization.yaml"
    monkeypatch.chdir(tmp_path)
    kustomization.write_text(f"resources: [job.yaml]\n{listed}\n")
    assert main(["validate", "."]) == 0
    assert main(["validate", "./overlay"]) == 0
    assert main(["validate", "overlay/patch.yaml"]) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("patches: [{path: ../p.yaml}, {patch: 'a: b'}, x]\n", ["base/p.yaml"]),
        ("patchesStrategicMerge:\n- |\n  kind: Job\n- q.yaml\n", ["base/overlay/q.yaml"]),
        ("patches: {path: p.yaml}\n", []),
        ("a: [\n", []),
        ("", []),
    ],
)
def test_patches_are_paths_relative_to_the_kustomization(text: str, found: list[str]) -> None:
    assert list_patches(text.encode(), "base/overlay/kustomization.yaml") == found
