"""`krmfn fit` and `krmfn facts` through the process: every format, every way to give a cluster, every verdict."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.conftest import Call

SVG = "{http://www.w3.org/2000/svg}"


def make_job(name: str, pods: int, gpus: int) -> dict[str, Any]:
    box = {
        "name": "main",
        "image": "train",
        "resources": {"requests": {"cpu": "2"}, "limits": {"nvidia.com/gpu": gpus}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "annotations": {"krmfn.dev/gang": "true"}},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "template": {"spec": {"restartPolicy": "Never", "containers": [box]}},
        },
    }


def make_node(name: str, zone: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
        "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "4", "pods": "110"}},
    }


#: Stands for the scheduler: by the names of pods it knows what to answer.
SIMULATOR = f"""#!{sys.executable}
import json, sys
asked = json.load(sys.stdin)
nodes = [each["metadata"]["name"] for each in asked["objects"] if each["kind"] == "Node"]
trials = []
for trial in asked["trials"]:
    pods = {{}}
    for number, name in enumerate(trial["pods"]):
        runs = {{"fits": True, "late": trial.get("empty", False), "odd": trial.get("seed", 0) % 2 == 1}}
        if runs.get(name.split("/")[1].partition("-")[0], False):
            pods[name] = {{"node": nodes[number % len(nodes)]}}
        else:
            pods[name] = {{"message": "0/2 nodes are available: 2 Insufficient <cpu>."}}
    trials.append({{"name": trial["name"], "pods": pods}})
json.dump({{"release": "1.37", "trials": trials}}, sys.stdout)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    """Two nodes in two zones, Jobs of which one can never start, and two simulators: one comes to no end."""
    nodes = [make_node("gpu-1", "a"), make_node("gpu-2", "b")]
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": nodes}))
    jobs = [make_job("fits", 2, 1), make_job("late", 3, 1), make_job("odd", 2, 1), make_job("big", 2, 8)]
    (tmp_path / "jobs.yaml").write_text(yaml.safe_dump_all([*jobs, make_job("hopeless", 2, 2)]))
    (tmp_path / "one.yaml").write_text(yaml.safe_dump(make_job("fits", 2, 1)))
    (tmp_path / "simulator").write_text(SIMULATOR)
    (tmp_path / "slow").write_text(SIMULATOR.replace('"pods": pods}', '"pods": pods, "settled": False}'))
    for name in ("simulator", "slow"):
        (tmp_path / name).chmod(0o755)
    return tmp_path


def read_verdicts(text: str) -> dict[str, str]:
    return {gang["name"].removeprefix("ml/job-"): gang["verdict"] for gang in json.loads(text)["gangs"]}


def test_what_is_proved_needs_no_simulator(cluster: Path, krmfn: Call) -> None:
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--prove", "-o", "json")
    assert done.code == 1
    verdicts = read_verdicts(done.out)
    assert verdicts.pop("big") == "never"
    assert set(verdicts.values()) == {"open"}
    said = next(gang for gang in json.loads(done.out)["gangs"] if gang["verdict"] == "never")
    assert said["why"].startswith("0/2 nodes are available: 2 Insufficient nvidia.com/gpu")
    assert (said["rule"], bool(said["change"])) == ("pod-too-large", True)


def test_the_simulator_tells_the_verdicts_apart(cluster: Path, krmfn: Call) -> None:
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "json")
    assert read_verdicts(done.out) == {
        "fits": "runs",
        "late": "waits",
        "odd": "depends",
        "big": "never",
        "hopeless": "never",
    }
    document = json.loads(done.out)
    assert document["simulator"] == "1.37"
    assert {node["name"]: node["gangs"].get("ml/job-fits") for node in document["nodes"]} == {"gpu-1": 1, "gpu-2": 1}
    assert document["nodes"][0]["used"]["nvidia.com/gpu"] == "1"


@pytest.mark.parametrize("form", ["text", "json", "yaml", "markdown", "mermaid", "svg", "html"])
def test_every_format_names_every_gang_and_every_reason(form: str, cluster: Path, krmfn: Call) -> None:
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", form)
    assert done.code == 1
    text = re.sub(r"&#(\d+);|#(\d+);", lambda found: chr(int(found[1] or found[2])), done.out).replace("&lt;", "<")
    text = text.replace("&gt;", ">")
    for name in ("fits", "late", "odd", "big", "hopeless"):
        assert f"ml/job-{name}" in text
    assert "Insufficient nvidia.com/gpu" in text
    assert "Insufficient <cpu>" in text
    assert "gpu-1" in text


@pytest.mark.parametrize(
    ("wanted", "others", "verdict"),
    [
        ("fits", ["fits"], "depends"),
        ("late", ["late"], "depends"),
        ("gone", ["fits"], "never"),
        # Both wait for each other; of three one waits for what starts.
        ("other", ["other>hopeless"], "never"),
        ("other", ["other>fits", "fits"], "depends"),
        ("other", ["other>gone", "fits"], "never"),
    ],
)
def test_a_gang_that_lacks_pods_of_others_may_depend_on_them(
    wanted: str, others: list[str], verdict: str, cluster: Path, krmfn: Call
) -> None:
    """In the empty cluster it lacks the pods that it has to be near to: that proves nothing where they may come."""
    lonely = SIMULATOR.replace("Insufficient <cpu>", "node(s) didn't match pod affinity rules")
    (cluster / "simulator").write_text(lonely)
    jobs = []
    for each in (f"hopeless>{wanted}", *others):
        name, _, near = each.partition(">")
        job = make_job(name, 2, 1)
        template = job["spec"]["template"]
        template["metadata"] = {"labels": {"app": name}}
        if near:
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": near}}}
            rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
            template["spec"]["affinity"] = {"podAffinity": rule}
        jobs.append(job)
    (cluster / "near.yaml").write_text(yaml.safe_dump_all(jobs))
    done = krmfn("fit", "near.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "json")
    assert read_verdicts(done.out)["hopeless"] == verdict


def test_a_gang_of_another_scheduler_is_not_judged_by_this_one(cluster: Path, krmfn: Call) -> None:
    job = make_job("hopeless", 2, 1)
    job["spec"]["template"]["spec"]["schedulerName"] = "other"
    (cluster / "other.yaml").write_text(yaml.safe_dump(job))
    done = krmfn("fit", "other.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "json")
    (gang,) = json.loads(done.out)["gangs"]
    assert (gang["verdict"], gang["why"]) == ("open", "its pods name the scheduler other, which is not simulated")


def test_a_simulator_that_does_not_come_to_an_end_decides_nothing(cluster: Path, krmfn: Call) -> None:
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--simulator", "./slow", "-o", "json")
    assert set(read_verdicts(done.out).values()) == {"open", "never"}
    assert read_verdicts(done.out)["big"] == "never"  # proved
    said = next(gang for gang in json.loads(done.out)["gangs"] if gang["verdict"] == "open")
    assert said["why"] == "the simulator did not finish in time"


def test_the_picture_says_what_it_shows(cluster: Path, krmfn: Call) -> None:
    done = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "svg")
    root = ElementTree.fromstring(done.out)
    assert root.get("role") == "img"
    labels = {element.get("id"): element.text or "" for element in root if element.get("id")}
    assert set((root.get("aria-labelledby") or "").split()) == set(labels)
    assert "ml/job-big never starts" in labels["told"]
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}image", f"{SVG}a", f"{SVG}use"}
    letters = [element.text for element in root.iter(f"{SVG}text") if element.get("class") == "l"]
    # A pod each, those of gangs without a node too, and one in front of each gang.
    assert letters.count("A") == 1 + 2
    assert len(letters) == 5 + 2 + 3 + 2 + 2 + 2


def test_words_stand_beside_what_they_explain(cluster: Path, krmfn: Call) -> None:
    with (cluster / "cluster.yaml").open("a") as file:
        file.write(f"---\n{yaml.safe_dump(make_pod('a', 'gpu-1', {'kind': 'Job'}))}")
    root = ElementTree.fromstring(krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--prove", "-o", "svg").out)
    drawn = [each for each in root if each.get("x")]
    at = next(number for number, each in enumerate(drawn) if each.text == "another pod")
    box, words, bar = (float(each.get("x") or 0) for each in drawn[at - 1 : at + 2])
    assert box + float(drawn[at - 1].get("width") or 0) < words < bar - 5 * len("another pod")


def test_the_page_is_one_file_without_scripts(cluster: Path, krmfn: Call) -> None:
    page = krmfn("fit", "jobs.yaml", "--cluster", "cluster.yaml", "--prove", "-o", "html").out
    assert "default-src 'none'" in page
    assert not re.search(r"<script|src=|href=|url\(|@import", page)


def test_a_cluster_is_given_in_several_ways(cluster: Path, krmfn: Call) -> None:
    one, two = (make_node(name, "a") for name in ("gpu-1", "gpu-2"))
    (cluster / "dump").mkdir()
    (cluster / "dump/one.json").write_text(json.dumps(one))
    (cluster / "dump/two.yml").write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "NodeList", "items": [two]}))
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [one, two]})
    for given in (["--cluster", "dump"], ["--cluster=dump/one.json", "--cluster", "dump/two.yml"]):
        done = krmfn("fit", "one.yaml", *given, "--prove", "-o", "json")
        assert [node["name"] for node in json.loads(done.out)["nodes"]] == ["gpu-1", "gpu-2"]
    done = krmfn("fit", "one.yaml", "--cluster", "-", "--prove", "-o", "json", stdin=listed)
    assert len(json.loads(done.out)["nodes"]) == 2


def test_the_configuration_names_the_facts(cluster: Path, krmfn: Call) -> None:
    """As seen from its folder; `validate` decides with them, too."""
    (cluster / "team").mkdir()
    (cluster / "team/jobs.yaml").write_text((cluster / "jobs.yaml").read_text())
    (cluster / "team/krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: gangs}\n"
        "spec: {cluster: {from: [../cluster.yaml]}}\n"
    )
    done = krmfn("fit", "team", "--prove", "-o", "json")
    assert read_verdicts(done.out)["big"] == "never"
    generated = krmfn("generate", "-q", "team/jobs.yaml").out
    (cluster / "team/jobs.yaml").write_text(generated)
    assert "[pod-too-large]" in krmfn("validate", "team").out
    (cluster / "team/krmfn.yaml").unlink()
    assert "[pod-too-large]" not in krmfn("validate", "team").out
    assert "[pod-too-large]" in krmfn("validate", "team", "--cluster", "cluster.yaml").out


def test_mistakes_are_told(cluster: Path, krmfn: Call) -> None:
    (cluster / "spoilt.yaml").write_text("a: [\n")
    for words, said in (
        (["--cluster", "nowhere.yaml"], "nowhere.yaml: no such file or folder"),
        (["--cluster", "spoilt.yaml"], "spoilt.yaml:"),
        (["--simulator", "nowhere"], "--simulator nowhere: no program nowhere"),
    ):
        done = krmfn("fit", "one.yaml", *words)
        assert (done.code, said in done.err) == (2, True), done.err


def test_facts_count_what_is_equal_and_drop_what_is_private(cluster: Path, krmfn: Call) -> None:
    nodes = [make_node(f"gpu-{number}", "a") for number in range(4)]
    nodes[0]["metadata"]["annotations"] = {"secret": "of the node"}
    pods = [make_pod("agent", "gpu-1", {"kind": "DaemonSet"}), make_pod("mine", "gpu-3", {"kind": "Job"})]
    dump = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *pods]}
    (cluster / "dump.json").write_text(json.dumps(dump))
    done = krmfn("facts", "dump.json")
    assert done.code == 0
    assert "secret" not in done.out
    facts = yaml.safe_load(done.out)["spec"]
    assert [(node["name"], node.get("count", 1)) for node in facts["nodes"]] == [
        ("gpu-0", 2),
        ("gpu-1", 1),
        ("gpu-3", 1),
    ]
    assert facts["nodes"][1]["used"] == {"pods": "1", "cpu": "500m"}
    assert [pod["metadata"]["name"] for pod in facts["items"]] == ["mine"]
    (cluster / "facts.yaml").write_text(done.out)
    answer = json.loads(krmfn("fit", "one.yaml", "--cluster", "facts.yaml", "--prove", "-o", "json").out)
    assert len(answer["nodes"]) == 4
    empty = yaml.safe_load(krmfn("facts", "--no-pods", "-o", "json", "dump.json").out)["spec"]
    assert "items" not in empty
    assert "Pod" not in empty.get("listed", ())


def test_metrics_are_facts_about_gates(cluster: Path, krmfn: Call) -> None:
    """`kubectl get --raw /metrics` shows kube-apiserver's gates, also where no pod of the control plane is in sight."""
    generated = krmfn("generate", "-q", "one.yaml").out
    (cluster / "all.yaml").write_text(generated)
    for on in (0, 1):
        line = f'kubernetes_feature_enabled{{name="GenericWorkload",stage="BETA"}} {on}'
        (cluster / "metrics.txt").write_text(f"# TYPE kubernetes_feature_enabled gauge\n{line}\nup 1\n")
        said = krmfn("validate", "all.yaml", "--cluster", "metrics.txt").out
        assert ("GenericWorkload is off on kube-apiserver:" in said) is not bool(on)
        facts = yaml.safe_load(krmfn("facts", "metrics.txt").out)["spec"]
        assert facts == {"featureGates": {"kube-apiserver": {"GenericWorkload": bool(on)}}}


def make_pod(name: str, node: str, owner: dict[str, str]) -> dict[str, Any]:
    box = {
        "name": "c",
        "image": "i",
        "env": [{"name": "A", "value": "secret"}],
        "resources": {"requests": {"cpu": "500m"}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "ownerReferences": [{**owner, "name": "o", "controller": True}]},
        "spec": {"nodeName": node, "containers": [box]},
        "status": {"phase": "Running"},
    }


def test_pods_of_a_resource_of_the_input_are_its_pods(cluster: Path, krmfn: Call) -> None:
    """A dump holds a Job, its group and the pods that the controller made: the gang has as many as the Job says."""
    owner = {"apiVersion": "batch/v1", "kind": "Job"}
    generated = list(yaml.safe_load_all(krmfn("generate", "-q", "one.yaml").out))
    pods = []
    for number in range(2):
        pod = make_pod(f"fits-{number}", "gpu-1", owner)
        pod["metadata"]["ownerReferences"][0]["name"] = "fits"
        pod["spec"]["schedulingGroup"] = {"podGroupName": "job-fits"}
        pods.append(pod)
    (cluster / "dump.yaml").write_text(yaml.safe_dump_all([*generated, *pods]))
    assert "[min-count-below-pods]" not in krmfn("validate", "dump.yaml", "--stage", "scheduler").out
    done = krmfn("fit", "dump.yaml", "--as-is", "--cluster", "cluster.yaml", "--prove", "-o", "json")
    gang = json.loads(done.out)["gangs"][0]
    assert (gang["pods"], gang["placed"]) == (2, 2)
    for pod in pods:
        del pod["metadata"]["ownerReferences"]
    (cluster / "dump.yaml").write_text(yaml.safe_dump_all([*generated, *pods]))
    assert "[min-count-below-pods]" in krmfn("validate", "dump.yaml", "--stage", "scheduler").out


@pytest.mark.slow
def test_a_change_that_takes_away_the_room_is_told(cluster: Path, krmfn: Call) -> None:
    """`krmfn diff --cluster`: what could run before, and never does now; exit status 1."""
    (cluster / "new.yaml").write_text(yaml.safe_dump(make_job("fits", 2, 5)))
    done = krmfn("diff", "one.yaml", "new.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator")
    assert done.code == 1
    assert "ml/job-fits: starts before on node gpu-1, gpu-2, never starts now" in done.out
    assert "2 Insufficient nvidia.com/gpu" in done.out
    markdown = krmfn(
        "diff", "one.yaml", "new.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "markdown"
    ).out
    assert "| `ml/job-fits` | 🔴 starts before on node gpu-1, gpu-2, never starts now |" in markdown
    slow = ("--simulator", "./slow", "-o", "json")  # nobody knows more than what is proved
    document = json.loads(krmfn("diff", "new.yaml", "one.yaml", "--cluster", "cluster.yaml", *slow).out)
    assert document["cluster"][0]["harmful"] is False
    assert document["cluster"][0]["after"] == "no rule excludes it"
    same = krmfn("diff", "one.yaml", "one.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator")
    assert "the same gangs run as before" in same.out
    assert "cluster" not in json.loads(krmfn("diff", "one.yaml", "new.yaml", "-o", "json").out)


def make_linked(group: str) -> dict[str, Any]:
    job = make_job("train", 2, 1)
    job["metadata"]["annotations"] = {}
    job["spec"]["template"]["spec"]["schedulingGroup"] = {"podGroupName": group}
    return job


def make_group(name: str, space: str = "ml", spec: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": space},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **(spec or {})},
    }


CHILD = {"parentCompositePodGroupName": "tree", "workloadRef": {"workloadName": "w", "templateName": "t"}}


@pytest.mark.parametrize(
    ("groups", "rule", "change"),
    [
        (
            [],
            "group-missing",
            'krmfn generate writes one for a Job that has krmfn.dev/gang: "true"',
        ),
        ([make_group("train", "other")], "group-other-namespace", "Put both into one namespace"),
        ([make_group("train", spec=CHILD)], "parent-missing", 'Add the CompositePodGroup "tree"'),
    ],
)
@pytest.mark.parametrize("command", ["fit", "why"])
def test_what_is_missing_is_not_capacity(
    command: str, groups: list[dict[str, Any]], rule: str, change: str, tmp_path: Path, krmfn: Call
) -> None:
    node = make_node("gpu-1", "a")
    (tmp_path / "job.yaml").write_text(yaml.safe_dump_all([make_linked("train"), *groups]))
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(node))
    (tmp_path / "dump.yaml").write_text(yaml.safe_dump_all([make_linked("train"), *groups, node]))
    words = ["job.yaml", "--cluster", "nodes.yaml"] if command == "fit" else ["job/train", "--cluster", "dump.yaml"]
    done = krmfn(command, *words, "-o", "json", "--prove")
    assert done.code == 1
    [told] = json.loads(done.out)["gangs"] if command == "fit" else [json.loads(done.out)]
    assert told["rule"] == rule
    assert change in told["change"]
    assert "apacity" not in str(told)


def test_a_group_of_the_cluster_is_not_missing(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_linked("train")))
    (tmp_path / "cluster.yaml").write_text(yaml.safe_dump_all([make_node("gpu-1", "a"), make_group("train")]))
    done = krmfn("fit", "job.yaml", "--cluster", "cluster.yaml", "--prove")
    assert (done.code, "ml/train          2  open" in done.out) == (0, True), done.out
    assert "add the manifest of the group" in done.out


@pytest.mark.slow
def test_a_quota_that_others_use_up_is_waited_for(cluster: Path, krmfn: Call) -> None:
    """What the quota's status counts is there; the pods of the gang that exist are in it already."""
    metadata = {"name": "team", "namespace": "ml"}
    for used, made, verdict in (("1", 0, "runs"), ("2", 0, "waits"), ("2", 1, "runs")):
        quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"pods": "3"}}}
        (cluster / "quota.yaml").write_text(yaml.safe_dump({**quota, "status": {"used": {"pods": used}}}))
        job = {"namespace": "ml", "labels": {"job-name": "fits"}}
        pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"fits-{n}", **job}} for n in range(made)]
        (cluster / "pods.yaml").write_text(yaml.safe_dump_all([{**pod, "spec": {"containers": []}} for pod in pods]))
        facts = [word for name in ("cluster", "quota", "pods") for word in ("--cluster", f"{name}.yaml")]
        done = krmfn("fit", "one.yaml", *facts, "--simulator", "./simulator", "-o", "json")
        assert read_verdicts(done.out) == {"fits": verdict}, (used, made)


def test_pods_that_no_controller_makes_take_no_room(cluster: Path, krmfn: Call) -> None:
    """A StatefulSet makes the second pod when the first one is ready: a gang of both never starts."""
    pod = make_job("fits", 2, 1)["spec"]["template"]["spec"]
    del pod["restartPolicy"]
    pod["schedulingGroup"] = {"podGroupName": "g"}
    template = {"metadata": {"labels": {"app": "fits"}}, "spec": pod}
    spec = {"replicas": 2, "serviceName": "fits", "selector": {"matchLabels": {"app": "fits"}}, "template": template}
    metadata = {"name": "fits", "namespace": "ml"}
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "ml"},
    }
    group["spec"] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    for policy, verdict, placed in (("OrderedReady", "never", 0), ("Parallel", "runs", 2)):
        owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": metadata}
        values = [{**owner, "spec": {**spec, "podManagementPolicy": policy}}, group]
        (cluster / "set.yaml").write_text(yaml.safe_dump_all(values))
        done = krmfn("fit", "set.yaml", "--cluster", "cluster.yaml", "--simulator", "./simulator", "-o", "json")
        (gang,) = json.loads(done.out)["gangs"]
        assert (gang["verdict"], gang["placed"], gang["pods"]) == (verdict, placed, 2)


@pytest.mark.slow
def test_worlds_that_share_nodes_are_told_apart(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(make_node("gpu-1", "a")))
    for name in ("dev", "prod"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2, 1)))
        (tmp_path / name / "kustomization.yaml").write_text(f"resources: [job.yaml]\nnamespace: {name}\n")
    told = "Each of these worlds is placed alone in the cluster."
    for form in ("text", "markdown", "html"):
        assert told in krmfn("fit", "-q", "dev", "prod", "--cluster", "nodes.yaml", "--prove", "-o", form).out
        assert told not in krmfn("fit", "-q", "dev", "--cluster", "nodes.yaml", "--prove", "-o", form).out
    assert told not in krmfn("fit", "-q", "dev", "prod", "--prove").out


def test_why_the_scheduler_did_not_decide(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "nodes.yaml").write_text(yaml.safe_dump(make_node("gpu-1", "a")))
    (tmp_path / "job.yaml").write_text(yaml.safe_dump(make_job("train", 2, 1)))
    words = ["fit", "-q", "job.yaml", "--cluster", "nodes.yaml"]
    assert krmfn(*words, "--prove").out.endswith("; by rules only: --prove leaves the scheduler out\n")
    missing = krmfn(*words, PATH="/usr/bin:/bin").out
    assert missing.endswith("; by rules only: krmfn-simulator-1.37 is not on the PATH\n")


def test_the_gangs_that_the_job_controller_makes_for_the_jobs_of_a_jobset(tmp_path: Path, krmfn: Call) -> None:
    """A JobSet has a Job for each replica, and each Job a group of its own (conformance/jobgroups)."""
    job = make_job("train", 4, 2)["spec"]
    job["scheduling"] = {"schedulingPolicy": {"gang": {}}}
    jobs = [{"name": "workers", "replicas": 3, "template": {"spec": job}}]
    head = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": "ml"},
    }
    (tmp_path / "jobset.yaml").write_text(yaml.safe_dump({**head, "spec": {"replicatedJobs": jobs}}))
    (tmp_path / "node.yaml").write_text(yaml.safe_dump(make_node("gpu-1", "a")))
    gates = "GenericWorkload=true,WorkloadWithJob=true"
    words = ("--kubernetes", "1.38", "--feature-gates", gates, "--cluster", "node.yaml", "--prove", "-o", "json")
    gangs = json.loads(krmfn("fit", "jobset.yaml", *words).out)["gangs"]
    assert [(gang["name"], gang["pods"]) for gang in gangs] == [(f"ml/train-pgt-0-{number}", 4) for number in range(3)]
    job["template"]["spec"]["nodeSelector"] = {"zone": "nowhere"}
    (tmp_path / "jobset.yaml").write_text(yaml.safe_dump({**head, "spec": {"replicatedJobs": jobs}}))
    gangs = json.loads(krmfn("fit", "jobset.yaml", *words).out)["gangs"]
    assert [f"the gang train-pgt-0-{number} needs 4" in gang["why"] for number, gang in enumerate(gangs)] == [True] * 3
