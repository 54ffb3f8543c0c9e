"""Gangs that never start here, for a reason that is in no object of theirs: `validate`, `fit` and `why` all find it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import Call
from tests.cli.test_fit import make_node

KUEUE = "kueue.x-k8s.io/v1beta2"
MULTIKUEUE = "kueue.x-k8s.io/multikueue"


def make_objects(kind: str, spec: dict[str, Any], pods: int, version: str = "batch/v1") -> list[dict[str, Any]]:
    """Something that makes pods, and the group of these."""
    metadata = {"name": "train", "namespace": "ml"}
    group = {"schedulingPolicy": {"gang": {"minCount": pods}}}
    return [
        {"apiVersion": version, "kind": kind, "metadata": dict(metadata), "spec": spec},
        {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": dict(metadata), "spec": group},
    ]


def make_template(cpu: str = "1") -> dict[str, Any]:
    box = {"name": "main", "image": "train", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
    link = {"schedulingGroup": {"podGroupName": "train"}}
    return {"spec": {**link, "restartPolicy": "Never", "containers": [box]}}


def make_job(cpu: str = "1", **more: Any) -> list[dict[str, Any]]:
    indexed = {"parallelism": 4, "completions": 4, "completionMode": "Indexed", "backoffLimit": 0}
    return make_objects("Job", {**indexed, **more, "template": make_template(cpu)}, 4)


def make_program(name: str, flags: list[str]) -> dict[str, Any]:
    box = {"name": name, "image": f"registry.k8s.io/{name}:v1.37.0", "command": [name, *flags]}
    metadata = {"name": f"{name}-a", "namespace": "kube-system", "labels": {"component": name}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [box], "nodeName": "a"}}


def ask(
    folder: Path, krmfn: Call, files: list[dict[str, Any]], cluster: list[dict[str, Any]], word: str
) -> tuple[str, str, str]:
    """What validate, fit and why say."""
    (folder / "files.yaml").write_text(yaml.safe_dump_all(files))
    for name, items in (("cluster.yaml", cluster), ("dump.yaml", [*cluster, *files])):
        (folder / name).write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items}))
    common = ("--kubernetes", "1.37", "--cluster")
    validate = krmfn("validate", "files.yaml", *common, "cluster.yaml").out
    fit = krmfn("fit", "files.yaml", "--as-is", "--prove", *common, "cluster.yaml").out
    why = krmfn("why", word, "--prove", *common, "dump.yaml").out
    return validate, " ".join(fit.split()), " ".join(why.split())


@pytest.mark.parametrize("named", [True, False])
def test_a_gang_of_multikueue(named: bool, tmp_path: Path, krmfn: Call) -> None:
    """Its pods are in a worker cluster: what fits here says nothing about them."""
    job = make_job(cpu="900", suspend=True, **({"managedBy": MULTIKUEUE} if named else {}))
    job[0]["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": "team"}
    resources = [{"name": name, "nominalQuota": 10000} for name in ("cpu", "memory")]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "a", "resources": resources}]}
    spec = {"namespaceSelector": {}, "resourceGroups": [group]}
    queue = {**spec, "admissionChecksStrategy": {"admissionChecks": [{"name": "far"}]}}
    cluster = [
        make_node("a", "a"),
        {"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": {"name": "a"}},
        {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": "all"}, "spec": spec if named else queue},
        {
            "apiVersion": KUEUE,
            "kind": "LocalQueue",
            "metadata": {"name": "team", "namespace": "ml"},
            "spec": {"clusterQueue": "all"},
        },
        {
            "apiVersion": KUEUE,
            "kind": "AdmissionCheck",
            "metadata": {"name": "far"},
            "spec": {"controllerName": MULTIKUEUE},
        },
    ]
    text = "MultiKueue creates the pods of this Job in a worker cluster"
    validate, fit, why = ask(tmp_path, krmfn, job, cluster, "job/ml/train")
    assert f"warning: Job ml/train {'spec.managedBy' if named else 'metadata.labels'}" in validate
    assert text in validate
    assert f"open: may not start {text}" in fit
    assert f"Cause: {text}" in why
    cluster[2]["spec"] = spec
    del job[0]["spec"]["suspend"]
    if not named:  # without the check it is judged by the nodes
        validate, fit, why = ask(tmp_path, krmfn, job, cluster, "job/ml/train")
        assert "gang-elsewhere" not in validate
        assert "never" in fit


@pytest.mark.slow
@pytest.mark.parametrize("flags", [["--feature-gates=GenericWorkload=false"], ["--v=2"]])
def test_a_gate_that_only_the_server_has_on(flags: list[str], tmp_path: Path, krmfn: Call) -> None:
    on = ["--feature-gates=GenericWorkload=true"]
    programs = [make_program("kube-apiserver", on), make_program("kube-controller-manager", on)]
    cluster = [make_node("a", "a"), *programs, make_program("kube-scheduler", flags)]
    second = make_job()
    for each in second:
        each["metadata"]["name"] = "other"
    second[0]["spec"]["template"]["spec"]["schedulingGroup"]["podGroupName"] = "other"
    text = "GenericWorkload is off on kube-scheduler"
    for word in ("job/ml/train", "job/ml/other"):
        validate, fit, why = ask(tmp_path, krmfn, [*make_job(), *second, *make_pods(word)], cluster, word)
        assert validate.count(text) == 1
        assert fit.count(text) == 2
        assert f"Cause: {text}" in why
    *cluster, _ = cluster
    said = ask(tmp_path, krmfn, make_job(), [*cluster, make_program("kube-scheduler", on)], "job/ml/train")
    assert not any(text in each for each in said)


def make_pods(word: str) -> list[dict[str, Any]]:
    """Those of a Job, of which the scheduler has said nothing."""
    name = word.rpartition("/")[2]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True, "uid": "1"}
    spec = {**make_template()["spec"], "schedulingGroup": {"podGroupName": name}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-{number}", "namespace": "ml", "ownerReferences": [owner]},
            "spec": spec,
            "status": {"phase": "Pending"},
        }
        for number in range(4)
    ]


@pytest.mark.slow
def test_a_rayjob_that_uses_a_cluster_has_no_gang(tmp_path: Path, krmfn: Call) -> None:
    head = {"rayStartParams": {}, "template": make_template()}
    used = {"entrypoint": "train.py", "clusterSelector": {"ray.io/cluster": "shared"}}
    text = "KubeRay creates no cluster for it: the group train never gets the pods that it waits for"
    nodes = [make_node("a", "a")]
    spec = {**used, "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": []}}
    validate, fit, why = ask(tmp_path, krmfn, make_objects("RayJob", spec, 1, "ray.io/v1"), nodes, "rayjob/ml/train")
    assert f"{text} [ray-cluster-unused]" in validate
    assert "never the RayJob runs in a RayCluster that exists already (clusterSelector)" in fit
    assert text in why
    spec = {**used, "submitterPodTemplate": make_template()}
    validate, fit, why = ask(tmp_path, krmfn, make_objects("RayJob", spec, 4, "ray.io/v1"), nodes, "rayjob/ml/train")
    assert f"{text} [ray-cluster-unused]" in validate
    assert f"Cause: {UNUSED}" in why
    _, _, why = ask(tmp_path, krmfn, make_objects("RayJob", used, 4, "ray.io/v1"), nodes, "rayjob/ml/train")
    assert f"Cause: {UNUSED}" in why


UNUSED = "RayJob train creates no pods of a cluster: it uses the RayCluster with ray.io/cluster: shared"
