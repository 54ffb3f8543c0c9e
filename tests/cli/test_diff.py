"""`krmfn diff`: paths and revisions, rendered or not; the plan in every format."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import commit, git


@pytest.fixture
def kustomize() -> None:
    """kustomize, or a skip that says how to get it."""
    require_kustomize()


@pytest.fixture
def repository(folder: Path) -> Path:
    """The folder under git, one commit; the work tree asks for two pods less since."""
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    path = folder / "base/job.yaml"
    path.write_text(path.read_text().replace("parallelism: 8", "parallelism: 6"))
    return folder


def test_a_count_is_updated_in_place(repository: Path, krmfn: Call) -> None:
    done = krmfn("diff", "--no-render", "git:HEAD", "base")
    assert done.code == 0
    assert "spec.schedulingPolicy.gang.minCount: 8 -> 6" in done.out
    assert done.out.splitlines()[-1].startswith("0 refused, 0 to be replaced, 0 removed, 0 new, ")


def test_a_change_is_in_one_of_the_parts(repository: Path, krmfn: Call) -> None:
    parts = [krmfn("diff", "--no-render", "git:HEAD", "base", "--shard", f"{number}/2") for number in (1, 2)]
    assert [part.code for part in parts] == [0, 0]
    assert sum("minCount: 8 -> 6" in part.out for part in parts) == 1


def test_an_object_that_no_server_has_stored_is_refused_where_it_changes(repository: Path, krmfn: Call) -> None:
    """Validate reports it; a pull request that does not touch it passes."""
    old = repository / "old.yaml"
    old.write_text("apiVersion: batch/v1beta1\nkind: CronJob\nmetadata: {name: a}\nspec: {schedule: '@daily'}\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "second")
    assert krmfn("diff", "git:HEAD", "old.yaml").code == 0
    assert krmfn("diff", "git:HEAD", "old.yaml", "--to-kubernetes", "1.37", "--kubernetes", "1.36").code == 1
    old.write_text(old.read_text().replace("daily", "weekly"))
    assert krmfn("diff", "git:HEAD", "old.yaml").code == 1


def test_an_immutable_field_needs_a_replacement(repository: Path, krmfn: Call) -> None:
    path = repository / "base/job.yaml"
    path.write_text(
        path.read_text().replace('gang: "true"', 'gang: "true", krmfn.dev/topology-key: topology.kubernetes.io/zone')
    )
    done = krmfn("diff", "--no-render", "git:HEAD", "base")
    assert done.code == 1
    assert "Must be replaced" in done.out
    assert "PodGroup job-train" in done.out
    assert "finalizer" in done.out


def test_json_and_markdown(repository: Path, krmfn: Call) -> None:
    document = json.loads(krmfn("diff", "-q", "--no-render", "-o", "json", "git:HEAD", "base").out)
    assert document["summary"]["update"] == 3
    assert "PodGroup job-train" in krmfn("diff", "--no-render", "-o", "markdown", "git:HEAD", "base").out


def test_revision_of_another_path(repository: Path, krmfn: Call) -> None:
    done = krmfn("diff", "--no-render", "git:HEAD:base/job.yaml", "base/raycluster.yaml")
    assert "Removed" in done.out
    assert "New" in done.out


def test_says_what_it_does_not_compare(repository: Path, krmfn: Call) -> None:
    patch = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n"
    (repository / "plain").mkdir()
    (repository / "plain/web.yaml").write_text(patch)
    for words in (("git:HEAD", "plain"), ("plain", "base"), ("plain", "plain")):
        done = krmfn("diff", "--no-render", *words)
        assert "not checked: patches and parts of manifests (1)" in done.err
        assert "web" not in done.out


def test_says_when_it_cannot_render(repository: Path, krmfn: Call) -> None:
    with open(repository / "base/kustomization.yaml", "a") as stream:
        stream.write("namePrefix: prod-\n")
    git_only = repository / "bin"
    git_only.mkdir()
    (git_only / "git").symlink_to(shutil.which("git") or "git")
    done = krmfn("diff", "git:HEAD:base", "base", PATH=str(git_only))
    assert (done.out, done.code) == ("", 2)
    assert "error: not checked: it needs kustomize, which is not on the PATH" in done.err
    assert krmfn("diff", "--no-render", "git:HEAD:base", "base", PATH=str(git_only)).code == 0


@pytest.mark.usefixtures("kustomize")
def test_kustomizations_are_rendered_on_both_sides(repository: Path, krmfn: Call) -> None:
    (repository / "top").mkdir()
    (repository / "top/kustomization.yaml").write_text("resources: [../base]\nnamePrefix: prod-\n")
    git(repository, "add", "top")
    git(repository, "commit", "-q", "-m", "second")
    done = krmfn("diff", "git:HEAD", "top")
    assert done.code == 0
    assert "Job prod-train" in done.out
    assert "PodGroup job-prod-train" in done.out
    assert "Job prod-train  (base/job.yaml:1:1)" in done.out  # what was rendered is told by the line that was written


@pytest.mark.usefixtures("kustomize")
def test_kustomize_failing_is_told(repository: Path, krmfn: Call) -> None:
    (repository / "base/kustomization.yaml").write_text("resources: [nowhere.yaml]\n")
    done = krmfn("diff", "git:HEAD:base", "base")
    assert done.code == 2
    assert done.err.startswith(
        "base/kustomization.yaml: error: not checked: it uses nowhere.yaml, which does not exist"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["git:HEAD:nowhere", "base"], "nowhere: no such file or folder in git:HEAD"),
        (["git:nothing", "base"], "git:nothing"),
        (["base", "nowhere"], "nowhere: no such file or folder"),
        (["git:HEAD:bse", "base"], "bse: no such file or folder in git:HEAD. Did you mean base?"),
        (["git:mian", "base"], "git:mian: no such revision in this clone. CI jobs often "),
        (["git:mian", "base"], ". Did you mean main?"),
        (["mian"], "mian: no such file or folder, and no such revision in this clone. CI jobs often "),
        (["mian"], ". Did you mean main?"),
        (["bsae"], ". Did you mean base?"),
        (["mian", "--to-kubernetes", "1.37"], "mian: no such file or folder, and no such revision in this clone."),
    ],
)
def test_a_side_that_is_missing(words: list[str], message: str, repository: Path, krmfn: Call) -> None:
    done = krmfn("diff", "--no-render", *words)
    assert (done.out, done.code) == ("", 2)
    assert message in done.err


@pytest.mark.slow
def test_a_revision_alone_is_compared_with_the_work_tree(folder: Path, krmfn: Call) -> None:
    commit(folder)
    path = folder / "base/job.yaml"
    path.write_text(path.read_text().replace("parallelism: 8", "parallelism: 6"))
    whole = krmfn("diff", "git:HEAD", ".")
    assert "Job train" in whole.out
    for words in (["HEAD"], ["git:HEAD"]):
        done = krmfn("diff", *words)
        assert (done.out, done.code) == (whole.out, whole.code)
    assert krmfn("diff", "HEAD", ".").out == whole.out
    assert (
        krmfn("diff", "HEAD", "HEAD")
        .out.splitlines()[-1]
        .startswith("0 refused, 0 to be replaced, 0 removed, 0 new, 0 ")
    )
    done = krmfn("diff", "base")
    assert (done.code, done.err) == (
        2,
        "krmfn: diff compares two states: krmfn diff base NEW, or krmfn diff REVISION\n",
    )
