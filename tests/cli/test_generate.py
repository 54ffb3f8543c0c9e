"""`krmfn generate`: stream, files in place, check; nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import RAYCLUSTER, Call
from tests.workspace.repositories import JOB


def kinds(text: str) -> list[str]:
    return [each["kind"] for each in yaml.safe_load_all(text) if each]


def test_stream_keeps_what_it_does_not_own(folder: Path, krmfn: Call) -> None:
    done = krmfn("generate", "base")
    assert done.code == 0
    assert kinds(done.out) == ["Job", "RayCluster", "Workload", "PodGroup", "Workload", "PodGroup"]
    lines = iter(done.out.splitlines())
    assert all(line in lines for line in (JOB + RAYCLUSTER).splitlines())


def test_what_a_server_refuses_is_told_of_every_gang(folder: Path, krmfn: Call) -> None:
    """Also of those that differ in nothing but their names."""
    wrong = JOB.replace('gang: "true"', 'gang: "true", krmfn.dev/topology-key: a/b/c')
    (folder / "two.yaml").write_text("---\n".join(wrong.replace("name: train", f"name: train-{each}") for each in "ab"))
    told = krmfn("generate", "two.yaml").err
    assert [f"of the generated Workload job-train-{each})" in told for each in "ab"] == [True, True]


def test_only_generated(folder: Path, krmfn: Call) -> None:
    assert kinds(krmfn("generate", "--only-generated", "base").out) == ["Workload", "PodGroup"] * 2


@pytest.mark.parametrize("command", ["generate", "tree", "fit", "validate"])
def test_an_empty_folder_is_named(command: str, tmp_path: Path, krmfn: Call) -> None:
    done = krmfn(command)
    assert (done.code, done.out.strip()) == (0, "")
    assert "krmfn: no Kubernetes objects in .\n" in done.err
    assert krmfn(command, "-q").err == ""


@pytest.mark.parametrize(("group", "known"), [("scheduling.k8s.io", True), ("example.com", False)])
def test_a_priority_class_is_one_of_kubernetes(group: str, known: bool, krmfn: Call) -> None:
    head = f"apiVersion: {group}/v1\nkind: PriorityClass\nmetadata: {{name: own}}\npreemptionPolicy: Never\n---\n"
    job = JOB.replace("containers:", "priorityClassName: own\n      containers:")
    done = krmfn("generate", "--only-generated", "-", stdin=head + job)
    assert ("preemptionPolicy" in done.out) is known


def test_nothing_opts_in(krmfn: Call) -> None:
    """Who wonders why no group is written reads the way in; what is there already, or a finding, is answer enough."""
    plain = JOB.replace('krmfn.dev/gang: "true"', 'team: "ml"')
    said = "krmfn: nothing to generate: no resource has the annotation krmfn.dev/gang"
    assert krmfn("generate", "-", stdin=plain).err.startswith(said)
    assert krmfn("generate", "-q", "-", stdin=plain).err == ""
    assert said not in krmfn("generate", "-", stdin=JOB).err
    assert said not in krmfn("generate", "-", stdin=krmfn("generate", "-", stdin=JOB).out).err


def test_a_resource_that_its_operator_refuses_stops_the_others_only_if_it_was_asked_for(
    folder: Path, krmfn: Call
) -> None:
    """`select: All` means the repository, which may have a broken sample somewhere."""
    config = "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec: {select: All}\n"
    (folder / "krmfn.yaml").write_text(config)
    broken = RAYCLUSTER.replace("maxReplicas: 4", "minReplicas: 5\n      maxReplicas: 4")
    done = krmfn("generate", "--only-generated", "-", stdin=f"{JOB}---\n{broken}")
    assert (done.code, kinds(done.out)) == (1, []), "it has the annotation"
    assert "error: RayCluster" in done.err
    mark = 'krmfn.dev/gang: "true"'
    text = f"{JOB}---\n{broken}".replace(mark, 'team: "ml"')
    done = krmfn("generate", "--only-generated", "-", stdin=text)
    assert (done.code, kinds(done.out)) == (0, ["Workload", "PodGroup"])
    assert "warning: RayCluster" in done.err
    assert krmfn("validate", "-", stdin=text).out.count("KubeRay refuses the cluster") == 1


def test_stdin_stream(krmfn: Call) -> None:
    done = krmfn("generate", "-", stdin=JOB)
    assert done.out.startswith(JOB[: JOB.index("      restartPolicy")])
    assert kinds(done.out) == ["Job", "Workload", "PodGroup"]


def test_list_stays_a_list(krmfn: Call) -> None:
    body = "".join(f"  {line}\n" for line in JOB.splitlines())
    done = krmfn("generate", "-", stdin=f"apiVersion: v1\nkind: List\nitems:\n- {body.lstrip()}")
    assert [item["kind"] for item in yaml.safe_load(done.out)["items"]] == ["Job", "Workload", "PodGroup"]


def test_write_puts_new_objects_beside_their_owner(folder: Path, krmfn: Call) -> None:
    done = krmfn("generate", "--write", "base")
    assert done.code == 0
    assert "wrote base/raycluster-gang.yaml" in done.err
    assert (folder / "base/kustomization.yaml").read_text() == (
        "resources:\n- raycluster.yaml   # first\n- job.yaml\n- job-gang.yaml\n- raycluster-gang.yaml\n"
    )
    assert kinds((folder / "base/raycluster-gang.yaml").read_text()) == ["Workload", "PodGroup"]
    assert "podGroupName: raycluster-llama" in (folder / "base/raycluster.yaml").read_text()


def test_write_twice_changes_nothing(folder: Path, krmfn: Call) -> None:
    krmfn("generate", "--write", "base")
    before = {path: path.read_bytes() for path in folder.rglob("*.yaml")}
    done = krmfn("generate", "--write", "base")
    assert "wrote" not in done.err
    assert "updated" not in done.err
    assert {path: path.read_bytes() for path in folder.rglob("*.yaml")} == before


def test_what_is_generated_for_an_alternative_stays_with_it(tmp_path: Path, krmfn: Call) -> None:
    """Two files of one folder have different versions of a Job, and the second one another Job, too."""
    mark = 'krmfn.dev/gang: "true"'
    (tmp_path / "a.yaml").write_text(JOB.replace(mark, f"{mark}, krmfn.dev/gang-group: run"))
    (tmp_path / "b.yaml").write_text(f"{JOB}---\n{JOB.replace('name: train', 'name: feed')}")
    assert krmfn("generate", "--write").code == 0
    assert kinds((tmp_path / "b-gang.yaml").read_text()) == ["Workload", "PodGroup"] * 2
    assert "updated" not in krmfn("generate", "--write").err
    assert krmfn("generate", "--check").code == 0


def test_check_says_what_is_out_of_date(folder: Path, krmfn: Call) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.yaml")}
    done = krmfn("generate", "--check", "base")
    assert done.code == 1
    assert "+++ b/base/job-gang.yaml" in done.out
    assert {path: path.read_bytes() for path in folder.rglob("*.yaml")} == before
    krmfn("generate", "--write", "base")
    assert krmfn("generate", "--check", "base")[0::2] == ("", 0)


def test_counts_follow_the_source(folder: Path, krmfn: Call) -> None:
    krmfn("generate", "--write", "base")
    path = folder / "base/job.yaml"
    path.write_text(path.read_text().replace(": 8", ": 6"))
    before = (folder / "base/job-gang.yaml").read_text()
    krmfn("generate", "--write", "base")
    assert (folder / "base/job-gang.yaml").read_text() == before.replace("minCount: 8", "minCount: 6")


def test_opting_out_takes_the_objects_and_their_file(folder: Path, krmfn: Call) -> None:
    krmfn("generate", "--write", "base")
    path = folder / "base/job.yaml"
    path.write_text(path.read_text().replace('"true"', '"false"'))
    done = krmfn("generate", "--write", "base")
    assert "removed base/job-gang.yaml" in done.err
    assert not (folder / "base/job-gang.yaml").exists()
    assert "job-gang.yaml" not in (folder / "base/kustomization.yaml").read_text()
    assert path.read_text() == JOB.replace('"true"', '"false"')


def test_error_prints_no_stream(folder: Path, krmfn: Call) -> None:
    path = folder / "base/job.yaml"
    path.write_text(JOB.replace("parallelism: 8", "parallelism: -8"))
    done = krmfn("generate", "base")
    assert (done.out, done.code) == ("", 1)
    assert "base/job.yaml:7:16: error: Job train spec.parallelism" in done.err


def test_unreadable_file_is_named_and_ends_with_2(folder: Path, krmfn: Call) -> None:
    (folder / "base/broken.yaml").write_text("apiVersion: v1\nkind: Pod\nmetadata: [\n")
    done = krmfn("generate", "base")
    assert (done.out, done.code) == ("", 2)
    assert "base/broken.yaml:3:11: error" in done.err


def test_only_objects_are_printed(folder: Path, krmfn: Call) -> None:
    (folder / "base/foreign.yaml").write_text("a: [\n")
    (folder / "base/values.yaml").write_text("replicas: 3\n")
    (folder / "base/pod.yaml").write_text(
        "# ours\nnot: an object\n---\napiVersion: v1\nkind: Pod\nspec: {containers: [{image: a}]}\n---\na: 1\n"
    )
    done = krmfn("generate", "base")
    assert done.code == 0
    assert "krmfn: not checked: files that are not manifests (1)" in done.err
    assert "base/foreign.yaml:1:4: info: neither a manifest nor YAML" in krmfn("generate", "-v", "base").err
    assert all(value["kind"] for value in yaml.safe_load_all(done.out))
    assert "kind: Pod" in done.out
    assert krmfn("generate", "base/foreign.yaml").code == 2


PROGRAMS = """\
apiVersion: v1
kind: Config
clusters: []
---
apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
---
apiVersion: skaffold/v4beta12
kind: Config
metadata: {name: a}
---
apiVersion: batchh/v1
kind: Job
metadata: {name: a}
---
apiVersion: example.com/v1
kind: Foo
metadata: {name: a}
"""


def test_files_of_programs_are_no_objects(tmp_path: Path, krmfn: Call) -> None:
    """A mistyped group, and a kind that nobody here knows, may be objects."""
    (tmp_path / "programs.yaml").write_text(PROGRAMS)
    (tmp_path / "empty").mkdir()
    done = krmfn("generate", ".")
    kinds = [value["apiVersion"] for value in yaml.safe_load_all(done.out) if value]
    assert (kinds, done.code) == (["batchh/v1", "example.com/v1"], 0)
    assert "Config" not in krmfn("diff", "empty", ".").out
    assert "1 not: unknown kinds (example.com/v1 Foo;" in krmfn("validate", ".").err


def test_nothing_to_convert_is_told(overlay: Path, krmfn: Call) -> None:
    done = krmfn("convert", "--to", "1.36", "--check", "overlays/dev")
    assert (done.out, done.err, done.code) == ("", "krmfn: no Kubernetes objects in overlays/dev\n", 0)


@pytest.fixture
def overlay(folder: Path) -> Path:
    """An overlay, with nothing of its own, of the kustomization."""
    (folder / "overlays/dev").mkdir(parents=True)
    text = "resources: [../../base]\nnamespace: dev\n"
    (folder / "overlays/dev/kustomization.yaml").write_text(text)
    return folder


def test_an_overlay_counts_with_what_it_builds_on(overlay: Path, krmfn: Call) -> None:
    own = krmfn("generate", "--check", "base")
    assert (own.code, "+++ b/base/raycluster-gang.yaml" in own.out) == (1, True)
    assert krmfn("generate", "--check", "overlays/dev") == own
    assert krmfn("generate", "--check", "overlays/dev", "--exclude", "base").code == 0
    assert "updated base/raycluster.yaml\n" in krmfn("generate", "--write", "overlays/dev").err
    assert krmfn("generate", "--check", ".").code == 0
    assert (overlay / "overlays/dev/kustomization.yaml").read_text().startswith("resources: [../../base]\n")


def test_an_overlay_is_not_printed_as_its_base(overlay: Path, krmfn: Call) -> None:
    done = krmfn("generate", "-q", "overlays/dev")
    assert (done.out, done.code) == ("", 2)
    way = "run kustomize build overlays/dev | krmfn generate -, or krmfn generate base"
    assert done.err == f"krmfn: the gangs of overlays/dev are in files of base: {way}\n"
    named = krmfn("generate", "-q", "overlays/dev", "base")
    assert named.code == 0
    assert named.out == krmfn("generate", "-q", "base").out
    (overlay / "base/raycluster.yaml").unlink()
    (overlay / "base/kustomization.yaml").write_text("resources: [job.yaml]\n")
    (overlay / "base/job.yaml").write_text((overlay / "base/job.yaml").read_text().replace('"true"', '"false"'))
    assert (krmfn("generate", "overlays/dev").out, krmfn("generate", "overlays/dev").code) == ("", 0)


def test_an_overlay_that_runs_krmfn_is_left_to_it(overlay: Path, krmfn: Call) -> None:
    assert krmfn("init", "-q", "overlays/dev").code == 0
    assert "which runs krmfn" in krmfn("generate", "overlays/dev").err
    checked = krmfn("generate", "--check", "overlays/dev")
    assert (checked.out, checked.code) == ("", 0)
    assert "their kustomization runs krmfn itself" in checked.err


def test_write_needs_files(krmfn: Call) -> None:
    done = krmfn("generate", "--write", "-", stdin=JOB)
    assert (done.code, done.err) == (2, "krmfn: --write needs files, not -\n")


def test_config_beside_the_manifests_counts(folder: Path, krmfn: Call) -> None:
    (folder / "base/gangs.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\n"
        'spec: {kubernetes: {version: "1.36"}}\n'
    )
    assert "scheduling.k8s.io/v1alpha2" in krmfn("generate", "--only-generated", "base").out
    assert "scheduling.k8s.io/v1beta1" in krmfn("generate", "--only-generated", "--kubernetes=1.37", "base").out


@pytest.mark.parametrize("number", [1, 2])
def test_json_before_yaml_is_a_stream_that_kubectl_reads(folder: Path, krmfn: Call, number: int) -> None:
    job = yaml.safe_load(JOB)
    documents = [json.dumps({**job, "metadata": {**job["metadata"], "name": f"train-{n}"}}) for n in range(number)]
    (folder / "job.json").write_text("\n".join(documents) + "\n")
    done = krmfn("generate", "job.json")
    assert done.out.startswith("---\n{")
    assert kinds(done.out) == ["Job"] * number + ["Workload", "PodGroup"] * number


def test_json_alone_stays_json(folder: Path, krmfn: Call) -> None:
    job = yaml.safe_load(JOB)
    (folder / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [job]}))
    assert len(json.loads(krmfn("generate", "list.json").out)["items"]) == 3


@pytest.mark.parametrize("words", [(), ("--write",), ("--check",)])
def test_a_list_that_cannot_lose_an_object_is_named(words: tuple[str, ...], tmp_path: Path, krmfn: Call) -> None:
    """What the list itself has in braces cannot be written anew, so that it keeps what an object defines."""
    group = "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: job-x, annotations: &a {%s}}, %s}"
    group %= "krmfn.dev/generated-from: Job.batch/train", "spec: {schedulingPolicy: {basic: {}}}"
    facts = "{apiVersion: krmfn.dev/v1alpha1, kind: ClusterFacts, metadata: {name: x, labels: &l {a: b}}}"
    job = json.dumps(yaml.safe_load(JOB))
    text = f"{{apiVersion: v1, kind: List, items: [{job}, {group}, {facts}], metadata: {{x: *a, y: *l}}}}\n"
    (tmp_path / "a.yaml").write_text(text)
    done = krmfn("generate", "-q", *words, "a.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("krmfn: a.yaml: objects cannot be ")
    assert (tmp_path / "a.yaml").read_text() == text
