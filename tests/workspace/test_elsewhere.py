"""What others than the files of a world decide: definitions elsewhere in the repository, and who builds on a base."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from krmfn.cli.entry import main
from krmfn.workspace.manifests import open_tree
from krmfn.workspace.overlays import find_overlay
from krmfn.workspace.sharding import decides
from tests.checks.definitions import define
from tests.e2e.tools import require_kustomize
from tests.workspace.repositories import commit, git

ACCOUNT = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa}\n"
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: view-sa}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: sa}]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as working directory."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(words)
    done = capsys.readouterr()
    return code, done.out, done.err


def test_an_older_copy_of_a_definition_elsewhere_refuses_nothing(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new = define("{spec: {type: object}}"), define("{spec: {type: object, properties: {size: {type: integer}}}}")
    resource = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\nspec: {size: 5}\n"
    write(folder, {"config/crd.yaml": old, "config/foo.yaml": resource})
    assert 'unknown field "spec.size"' in run(capsys, "validate", ".")[1]
    write(folder, {"bases/crd.yaml": new})
    assert run(capsys, "validate", ".")[0] == 0
    write(folder, {"config/foo.yaml": resource.replace("size: 5", "color: red")})
    assert 'unknown field "spec.color"' in run(capsys, "validate", ".")[1]
    commit(folder)
    assert run(capsys, "diff", "git:HEAD", ".")[0] == 0


WRONG = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: a}\nspec: {color: red}\n"
SIZE = "{spec: {type: object, properties: {size: {type: integer}}}}"


def test_a_definition_that_is_rendered_holds_for_samples_elsewhere(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As kubebuilder lays a project out."""
    require_kustomize(monkeypatch)
    write(folder, {"config/samples/foo.yaml": WRONG})
    assert "1 not: unknown kinds" in run(capsys, "validate", ".")[2]
    write(folder, {"config/crd/bases/foos.yaml": define(SIZE)})
    write(folder, {"config/crd/kustomization.yaml": "resources: [bases/foos.yaml]\n"})
    code, out, said = run(capsys, "validate", ".")
    assert (code, 'unknown field "spec.color"' in out, "unknown kinds" in said) == (1, True, False)
    write(folder, {"config/samples/kustomization.yaml": "resources: [foo.yaml]\n"})
    assert 'unknown field "spec.color"' in run(capsys, "validate", ".")[1], "rendered, too"


def test_of_several_definitions_the_nearest_holds_and_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kustomize(monkeypatch)
    color = SIZE.replace("size: {type: integer", "color: {type: string")
    for name, properties in (("a/v1", SIZE), ("b/v2", color)):
        write(folder, {f"{name}/crd/foos.yaml": define(properties)})
        write(folder, {f"{name}/crd/kustomization.yaml": "resources: [foos.yaml]\n"})
    write(folder, {"b/v2/samples/foo.yaml": WRONG, "b/v2/samples/kustomization.yaml": "resources: [foo.yaml]\n"})
    code, _, said = run(capsys, "validate", ".")
    line = "b/v2/samples: checked with the nearest of 2 definitions of foos.example.com: b/v2/crd/foos.yaml"
    assert (code, line in said) == (0, True)
    write(folder, {"a/v1/samples/foo.yaml": WRONG, "a/v1/samples/kustomization.yaml": "resources: [foo.yaml]\n"})
    assert run(capsys, "validate", ".")[0] == 1


def test_a_definition_in_a_folder_above_is_near(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    color = SIZE.replace("size: {type: integer", "color: {type: string")
    for name, properties in (("a", SIZE), ("b", color)):
        write(folder, {f"{name}/foos.yaml": define(properties), f"{name}/kustomization.yaml": "resources: [foos.yaml]"})
    write(folder, {"b/samples/foo.yaml": WRONG, "b/samples/kustomization.yaml": "resources: [foo.yaml]\n"})
    code, _, said = run(capsys, "validate", ".")
    assert (code, "b/samples: checked with the nearest of 2 definitions of foos.example.com: b/foos.yaml" in said) == (
        0,
        True,
    ), said


@pytest.mark.parametrize(("held", "decided"), [(define(SIZE), True), (ACCOUNT, False)], ids=["kind", "account"])
def test_a_kustomization_that_defines_kinds_decides_for_others(folder: Path, held: str, decided: bool) -> None:
    """Where a run is shared, every part needs it."""
    write(folder, {"crd/kept.yaml": held, "crd/kustomization.yaml": "resources: [kept.yaml]\n"})
    tree, path = open_tree("crd")
    overlay = find_overlay(tree, path)
    assert overlay is not None
    assert decides(overlay, frozenset(), False) == decided


def test_definitions_of_subcharts_hold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chart = "apiVersion: v2\nname: a\nversion: 0.1.0\n"
    write(folder, {"chart/Chart.yaml": chart, "chart/templates/a.yaml": "{{ a }}", "foo.yaml": WRONG})
    write(folder, {"chart/charts/b/Chart.yaml": chart, "chart/charts/b/crds/foos.yaml": define(SIZE)})
    write(folder, {"chart/charts/b/templates/b.yaml": WRONG.replace("name: a", "name: {{ b }}")})
    assert 'Foo a spec.color: unknown field "spec.color"' in run(capsys, "validate", ".")[1]


def test_a_definition_elsewhere_may_have_a_field_that_ours_lack(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """TFJobs of kubedl have a cleanPodPolicy in their spec, those of the training operator in runPolicy."""
    names = {"foos.example.com": "tfjobs.kubeflow.org", "example.com": "kubeflow.org", "Foo": "TFJob", "foos": "tfjobs"}
    theirs = define("{spec: {type: object, properties: {cleanPodPolicy: {type: string}}}}")
    for ours, known in names.items():
        theirs = theirs.replace(ours, known)
    worker = "{replicas: 1, template: {spec: {containers: [{name: tensorflow, image: a}]}}}"
    job = "apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: a}\n"
    job += f"spec: {{cleanPodPolicy: None, tfReplicaSpecs: {{Worker: {worker}}}}}\n"
    write(folder, {"job.yaml": job})
    assert "warning: TFJob a spec.cleanPodPolicy: unknown field" in run(capsys, "validate", ".")[1]
    kustomization = "resources: [crd.yaml]\n"
    write(folder, {"crd/crd.yaml": theirs, "crd/kustomization.yaml": kustomization})
    assert "unknown field" not in run(capsys, "validate", ".")[1]
    write(folder, {"job.yaml": job.replace("cleanPodPolicy", "cleanPodsPolicy")})
    assert "warning: TFJob a spec.cleanPodsPolicy: unknown field" in run(capsys, "validate", ".")[1]
    write(folder, {"job.yaml": job.replace("replicas: 1", "replicas: a")})
    assert "error: TFJob a spec.tfReplicaSpecs.Worker.replicas" in run(capsys, "validate", ".")[1]


def test_who_builds_on_a_base_gives_the_namespace_of_subjects(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kustomize(monkeypatch)
    missing = "subjects[0].namespace: Required value"
    write(folder, {"base/sa.yaml": ACCOUNT, "base/binding.yaml": BINDING})
    assert f"error: ClusterRoleBinding view-sa {missing}" in run(capsys, "validate", ".")[1]
    write(folder, {"base/kustomization.yaml": "resources: [sa.yaml, binding.yaml]\n"})
    assert f"info: ClusterRoleBinding view-sa {missing}" in run(capsys, "validate", ".")[1]
    write(folder, {"base/kustomization.yaml": "resources: [binding.yaml]\n"})
    assert f"error: ClusterRoleBinding view-sa {missing}" in run(capsys, "validate", ".")[1]
    write(folder, {"base/kustomization.yaml": "resources: [sa.yaml, binding.yaml]\n"})
    commit(folder)
    write(folder, {"base/binding.yaml": BINDING.replace("view}", "edit}")})
    assert "0 refused" in run(capsys, "diff", "HEAD")[1]
    write(folder, {"top/kustomization.yaml": "resources: [../base]\nnamespace: ml\n"})
    assert missing not in run(capsys, "validate", ".")[1]
    done = subprocess.run(["kustomize", "build", "top"], check=True, capture_output=True, text=True)
    assert done.stdout.count("namespace: ml\n") == 2


def check_counted(folder: Path, capsys: pytest.CaptureFixture[str], path: str, sort: str) -> None:
    """A file that would be refused is counted with its sort, until somebody names its folder or uses it."""
    code, _, said = run(capsys, "validate", ".")
    assert (code, f"not checked: {sort} (1)" in said) == (0, True)
    commit(folder)
    assert run(capsys, "diff", "HEAD")[1].endswith(" 1 unchanged\n")
    assert run(capsys, "validate", str(Path(path).parent.parent))[0] == 1, "who names it wants to see it"
    write(folder, {"kustomization.yaml": f"resources: [{path}]\n"})
    assert run(capsys, "validate", ".")[0] == 1, "a kustomization uses it"


def test_copies_of_go_modules_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.yaml": ACCOUNT, "vendor/k8s.io/binding.yaml": BINDING})
    assert run(capsys, "validate", ".")[0] == 1
    write(folder, {"vendor/modules.txt": "# k8s.io/api v0.37.0\n"})
    check_counted(folder, capsys, "vendor/k8s.io/binding.yaml", "copies of Go modules")


@pytest.mark.parametrize(
    ("name", "counted"),
    [
        ("testData", 1),
        ("tests/data/kubectl", 1),
        ("test-data", 1),
        ("api/src/test/resources", 1),
        ("test/e2e/data", 0),
        ("data", 0),
    ],
)
def test_folders_with_the_data_of_tests(
    name: str, counted: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(folder, {"a.yaml": ACCOUNT, f"pkg/{name}/binding.yaml": BINDING})
    assert run(capsys, "validate", ".")[0] == 1 - counted


def test_data_of_tests_is_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(folder, {"a.yaml": ACCOUNT, "pkg/testdata/roles/binding.yaml": BINDING})
    check_counted(folder, capsys, "pkg/testdata/roles/binding.yaml", "data of tests")


def test_who_builds_on_a_base_gives_selectors_and_namespaces_of_webhooks(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    require_kustomize(monkeypatch)
    pods = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n"
    pods += "spec: {template: {spec: {containers: [{name: a, image: a}]}}}\n"
    hook = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: a}
webhooks:
- {name: a.b.c, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: a}}}
---
apiVersion: v1
kind: Service
metadata: {name: a, namespace: system}
spec: {ports: [{port: 443}]}
"""
    write(folder, {"base/a.yaml": f"{pods}---\n{hook}"})
    assert run(capsys, "validate", "base")[1].count(" error: ") == 2
    write(folder, {"base/kustomization.yaml": "resources: [a.yaml]\n"})
    code, out, _ = run(capsys, "validate", ".")
    assert (code, "webhooks[0].clientConfig.service.name: Required" in out) == (0, True)
    write(folder, {"top/kustomization.yaml": "resources: [../base]\nnamespace: ml\ncommonLabels: {a: b}\n"})
    assert "Required" not in run(capsys, "validate", ".")[1]
    write(folder, {"top/kustomization.yaml": "resources: [../base]\nnamespace: ml\n"})
    assert "spec.selector: Required value" in run(capsys, "validate", ".")[1], "nobody adds labels"
