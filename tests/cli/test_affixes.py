"""A prefix in an overlay, over groups that are in files: told when they are written, and as one cause afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.e2e.tools import require_kustomize


@pytest.fixture
def overlays(folder: Path) -> Path:
    """Two overlays of the base, each with a prefix of its own."""
    require_kustomize()
    for name in ("dev", "prod"):
        (folder / "overlays" / name).mkdir(parents=True)
        text = f"namePrefix: {name}-\nnamespace: {name}\nresources: [../../base]\n"
        (folder / "overlays" / name / "kustomization.yaml").write_text(text)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("named", [("overlays/dev", "overlays/prod"), ("base",)])
@pytest.mark.usefixtures("overlays")
def test_groups_in_files_need_a_prefix_that_knows_references(named: tuple[str, ...], krmfn: Call) -> None:
    written = krmfn("generate", "--write")
    assert written.code == 0
    for name in ("dev", "prod"):
        path = f"overlays/{name}"
        assert f"{path}/kustomization.yaml: warning: namePrefix or nameSuffix renames groups, " in written.err
        assert f"Run krmfn init --no-function {path}.\n" in written.err
    gates = ("--feature-gates", "GenericWorkload=true", "--fail-on", "error")
    broken = krmfn("validate", *gates)
    errors = [line for line in broken.out.splitlines() if ": error: " in line]
    assert len(errors) == 3  # a Job, and a RayCluster with two templates: each once, for both overlays
    assert all(line.endswith("(in overlays/dev, overlays/prod) [renamed-reference]") for line in errors)
    assert not any(rule in broken.out for rule in ("group-missing", "group-unused", "template-missing"))
    assert "[group-missing]" in krmfn("validate", *gates, "--stage", "scheduler").out
    for each in named:
        assert krmfn("init", "--no-function", each).code == 0
    mended = krmfn("validate", *gates)
    assert (mended.code, "renamed-reference" in mended.out) == (0, False)
    checked = krmfn("generate", "--check")
    assert (checked.code, "affix-unconfigured" in checked.err) == (0, False)


@pytest.mark.slow
def test_a_prefix_beside_a_function_of_ours_is_not_told(overlays: Path, krmfn: Call) -> None:
    assert krmfn("init", "overlays/dev").code == 0
    (overlays / "overlays/prod/kustomization.yaml").unlink()
    assert "affix-unconfigured" not in krmfn("generate", "--write").err
