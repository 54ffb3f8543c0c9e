"""From `krmfn init` to the first gang: what could be one, the annotation, and the place where the function runs."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Call
from tests.e2e.tools import PATH, build, require_kustomize
from tests.workspace.repositories import git

JOB = """\
# counts tokens
apiVersion: batch/v1
kind: Job
metadata:
  name: train   # the long one
spec:
  completionMode: Indexed
  completions: 8
  parallelism: 8
  template: {spec: {restartPolicy: OnFailure, containers: [{name: a, image: b}]}}
"""
CLUSTER = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: ray}
spec:
  enableInTreeAutoscaling: true
  headGroupSpec: {rayStartParams: {}, template: {spec: {containers: [{name: head, image: ray}]}}}
  workerGroupSpecs:
  - groupName: gpu
    replicas: 2
    minReplicas: 1
    maxReplicas: 4
    rayStartParams: {}
    template: {spec: {containers: [{name: a, image: ray}]}}
"""
PATCH = """\
resources: [../../base]
patches:
- target: {kind: Job, name: train}
  patch: |-
    - {op: replace, path: /spec/parallelism, value: 2}
    - {op: replace, path: /spec/completions, value: 2}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A base, an overlay that patches the Job, and one that renames all."""
    for name, text in {
        "base/job.yaml": JOB,
        "base/cluster.yaml": CLUSTER,
        "base/kustomization.yaml": "resources:\n- job.yaml\n- cluster.yaml\n",
        "overlays/dev/kustomization.yaml": PATCH,
        "overlays/prod/kustomization.yaml": "namePrefix: prod-\nresources: [../../base]\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("resources: {a: b}\n", "must have a list of strings in resources"),
        ("resources: []\nResources: []\n", "has resources twice"),
    ],
)
def test_init_ends_well_in_a_folder_that_kustomize_refuses(text: str, reason: str, tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "kustomization.yaml").write_text(text)
    done = krmfn("init", ".")
    assert (done.code, f"krmfn: . {reason}\n" in done.err) == (0, True), done.err


def test_init_says_what_could_be_a_gang_and_what_is_in_the_way(repository: Path, krmfn: Call) -> None:
    done = krmfn("init", "base")
    assert (done.code, done.out) == (0, "")
    assert "2 resources can become gangs:\n" in done.err
    assert "  job/train (base/job.yaml): 8 pods\n    the pods of Job train have no cpu and memory requests" in done.err
    assert "  raycluster/ray (base/cluster.yaml): not as it is\n    the cluster autoscales" in done.err
    assert "krmfn.dev/autoscaling: MinReplicas and krmfn.dev/granularity: Group" in done.err
    assert done.err.endswith("next: krmfn init base --annotate job/train\n")
    assert (repository / "base/job.yaml").read_text() == JOB


def test_init_says_why_an_annotation_alone_makes_no_gang(repository: Path, krmfn: Call) -> None:
    require_kustomize()
    done = krmfn("init", "base", "--annotate", "raycluster/ray")
    assert (
        "krmfn: raycluster/ray has the annotation now, and gets no group as it is: the cluster autoscales" in done.err
    )
    assert "add the annotations krmfn.dev/autoscaling: MinReplicas" in done.err
    assert "job/train has the annotation" not in krmfn("init", "base", "--annotate", "job/train").err


@pytest.mark.slow
@pytest.mark.parametrize("wanted", [["--all"], ["--annotate", "Job/train"]])
def test_init_ends_with_the_tree_of_the_next_build(repository: Path, krmfn: Call, wanted: list[str]) -> None:
    require_kustomize()
    shown = krmfn("init", "base", "--diff", *wanted).out
    assert '+    krmfn.dev/gang: "true"\n' in shown
    assert not (repository / "base/krmfn.yaml").exists()
    done = krmfn("init", "base", *wanted)
    assert "updated base/job.yaml\n" in done.err
    assert "PodGroup job-train: all 8 pods start together, or none" in done.out
    text = (repository / "base/job.yaml").read_text()
    assert text == JOB.replace("# the long one\n", '# the long one\n  annotations:\n    krmfn.dev/gang: "true"\n')
    assert (repository / "base/cluster.yaml").read_text() == CLUSTER  # no annotation makes a gang of it
    assert "minCount: 8\n" in build(repository / "base").stdout
    again = krmfn("init", "base", *wanted)
    assert again.code == 0
    assert (repository / "base/job.yaml").read_text() == text


@pytest.mark.slow
def test_what_runs_before_a_patch_is_moved_behind_it(repository: Path, krmfn: Call) -> None:
    require_kustomize()
    done = krmfn("init", "base", "--all")
    advice = "overlays/dev can change the pods of base after krmfn has counted them. Let krmfn run there: "
    assert f"krmfn: {advice}krmfn init --move base\n" in done.err
    found = krmfn("validate", ".")
    assert found.code == 1
    assert "krmfn ran in base, before overlays/dev changed what it had counted." in found.out
    assert "Set minCount" not in found.out
    (repository / "base/krmfn.yaml").write_text((repository / "base/krmfn.yaml").read_text() + "  # ours\n")
    config = (repository / "base/krmfn.yaml").read_text()

    moved = krmfn("init", "--move", "base")
    assert moved.code == 0
    assert "PodGroup job-train: both pods start together, or none" in moved.out
    assert (repository / "base/kustomization.yaml").read_text() == "resources:\n- job.yaml\n- cluster.yaml\n"
    assert sorted(path.name for path in (repository / "base").iterdir()) == [
        "cluster.yaml",
        "job.yaml",
        "kustomization.yaml",
    ]
    for overlay in ("dev", "prod"):
        assert (repository / f"overlays/{overlay}/krmfn.yaml").read_text() == config
        assert (repository / f"overlays/{overlay}/.krmfn.schema.json").exists()
    assert krmfn("validate", ".").code == 0


@pytest.mark.slow
def test_a_base_that_never_ran_krmfn_is_left_alone(repository: Path, krmfn: Call) -> None:
    before = (repository / "base/kustomization.yaml").read_text()
    assert krmfn("init", "--move", "--quiet", "base").code == 0
    assert (repository / "base/kustomization.yaml").read_text() == before
    assert (repository / "overlays/prod/krmfn.yaml").exists()
    refused = krmfn("init", "--move", "overlays/prod")
    assert refused.code == 2
    assert "no kustomization of the repository builds on it" in refused.err


def test_a_word_that_names_nothing(repository: Path, krmfn: Call) -> None:
    done = krmfn("init", "base", "--annotate", "job/trian")
    assert done.code == 2
    assert "--annotate job/trian: no such resource in base. Did you mean job/train?" in done.err
    assert (repository / "base/job.yaml").read_text() == JOB


def test_validate_says_how_many_could_be_gangs(repository: Path, krmfn: Call) -> None:
    line = '2 resources without a group can become gangs: with the annotation krmfn.dev/gang: "true"'
    assert line in krmfn("validate", "base").err
    assert "can become" not in krmfn("validate", "-q", "base").err
    assert "can become" not in krmfn("validate", "-o", "json", "base").err
    config = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: a}\n"
    (repository / "krmfn.yaml").write_text(config + "spec: {select: {kinds: [Pod]}}\n")
    assert "can become" not in krmfn("validate", "base").err


@pytest.mark.parametrize("answer", ["y\n", "n\n", "\n"])
def test_somebody_at_a_terminal_is_asked(repository: Path, answer: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": PATH, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    words = [sys.executable, "-m", "krmfn", "init", "base"]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=repository, env=environment)
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    try:
        while data := os.read(ours, 65536):
            shown += data
    except OSError:  # how Linux says that nobody writes any more
        pass
    os.close(ours)
    assert process.wait() == 0
    assert b'Add krmfn.dev/gang: "true" to this resource? [y/N] ' in shown
    assert ("krmfn.dev/gang" in (repository / "base/job.yaml").read_text()) == (answer == "y\n")


@pytest.mark.slow
def test_resources_of_one_file_that_two_overlays_bring(repository: Path, krmfn: Call) -> None:
    """Each overlay could make gangs of other resources of the base: the file gets all annotations."""
    require_kustomize()
    second = JOB.replace("name: train ", "name: score ")
    (repository / "base/job.yaml").write_text(f"{JOB}---\n{second}")
    drop = "$patch: delete\napiVersion: batch/v1\nkind: Job\nmetadata: {name: score}\n"
    (repository / "overlays/prod/kustomization.yaml").write_text(
        "resources: [../../base]\npatches: [path: drop.yaml]\n"
    )
    (repository / "overlays/prod/drop.yaml").write_text(drop)
    assert krmfn("init", "--move", "--all", "base").code == 0
    assert (repository / "base/job.yaml").read_text().count("krmfn.dev/gang") == 2


FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./overlays/prod, sourceRef: {kind: GitRepository, name: flux-system}}
"""
ARGO = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: apps}
spec: {source: {repoURL: "https://git.invalid/a.git", path: overlays/prod}}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("text", "said"), [(FLUX, "Flux runs no function"), (ARGO, "Argo CD runs functions with")])
def test_init_says_who_does_not_run_it(repository: Path, krmfn: Call, text: str, said: str) -> None:
    (repository / "clusters").mkdir()
    (repository / "clusters/apps.yaml").write_text(text)
    git(repository, "init", "-q", "-b", "main")
    assert f"krmfn: clusters/apps.yaml deploys overlays/prod. {said}" in krmfn("init", "overlays/prod").err
    assert said not in krmfn("init", "overlays/dev").err


def test_the_hint_for_autoscaling_makes_a_gang(repository: Path, krmfn: Call) -> None:
    marks = {"gang": '"true"', "autoscaling": "MinReplicas", "granularity": "Group"}
    written = ", ".join(f"krmfn.dev/{name}: {value}" for name, value in marks.items())
    path = repository / "base/cluster.yaml"
    path.write_text(CLUSTER.replace("{name: ray}", f"{{name: ray, annotations: {{{written}}}}}"))
    assert "CompositePodGroup raycluster-ray: both groups start together" in krmfn("tree", "base/cluster.yaml").out


@pytest.mark.slow
def test_a_count_that_an_overlay_raised_is_its_own(repository: Path, krmfn: Call) -> None:
    require_kustomize()
    (repository / "overlays/dev/kustomization.yaml").write_text(PATCH.replace("value: 2}", "value: 16}"))
    krmfn("init", "base", "--all")
    said = krmfn("validate", ".").out
    assert "[min-count-below-pods]\n    krmfn ran in base, before overlays/dev changed" in said
    assert "2 resources" not in krmfn("tree", ".").err
