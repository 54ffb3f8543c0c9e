"""`krmfn tree`: the same trees in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import ROOT, Call
from tests.workspace.repositories import JOB

GROUP = ("--kubernetes", "1.37")


def test_text(folder: Path, krmfn: Call) -> None:
    assert krmfn("tree", "-q", "base").out == (
        "Workload job-train: for Job train\n"
        "└─ PodGroup job-train: all 8 pods start together, or none\n"
        "   └─ Job train spec.template: 8 pods, by spec.parallelism\n"
        "Workload raycluster-llama: for RayCluster llama\n"
        "└─ PodGroup raycluster-llama: all 5 pods start together, or none\n"
        "   ├─ RayCluster llama spec.headGroupSpec.template: 1 pod, by spec.headGroupSpec\n"
        "   └─ RayCluster llama spec.workerGroupSpecs[0].template: 4 pods, by spec.workerGroupSpecs[0].replicas\n"
    )


def test_as_is_shows_what_has_no_group(folder: Path, krmfn: Call) -> None:
    done = krmfn("tree", "--as-is", "base")
    assert done.out == "without a group, scheduled pod by pod:\n   Job train\n   RayCluster llama\n"


def test_the_way_to_a_gang_is_told(folder: Path, krmfn: Call) -> None:
    """Of what nobody opted in or out."""
    plain = JOB.replace("krmfn.dev/gang", "krmfn.example/gang")
    refused = JOB.replace('"true"', '"false"').replace("name: train", "name: apart", 1)
    assert plain != JOB != refused
    (folder / "a.yaml").write_text(f"{plain}---\n{refused}")
    done = krmfn("tree", "--kubernetes", "1.37", "a.yaml")
    way = 'with the annotation krmfn.dev/gang: "true", which krmfn init writes'
    assert f"krmfn: 1 resource without a group can become a gang: {way}\n" in done.err
    assert "can become" not in krmfn("tree", "-q", "a.yaml").err
    (folder / "a.yaml").write_text(JOB)
    done = krmfn("tree", "--kubernetes", "1.37", "a.yaml")
    assert "can become" not in done.err
    assert "PodGroup job-train: all 8 pods start together, or none" in done.out


def test_no_silence_where_nothing_makes_pods(folder: Path, krmfn: Call) -> None:
    (folder / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    done = krmfn("tree", "a.yaml")
    assert (done.out, done.err) == ("", "krmfn: nothing to show: 1 object, of which none is a group or creates pods\n")
    assert krmfn("tree", "-q", "a.yaml").err == ""


def test_a_quorum_that_cannot_be_met(folder: Path, krmfn: Call) -> None:
    krmfn("generate", "--write", "base")
    path = folder / "base/job-gang.yaml"
    path.write_text(path.read_text().replace("minCount: 8", "minCount: 9"))
    assert "never starts: waits for 9 pods, and there are 8" in krmfn("tree", "--as-is", "base").out


@pytest.mark.parametrize("scheduler", ["SchedulerPlugins", "Volcano", "KAI"])
@pytest.mark.parametrize("granularity", ["Cluster", "Group"])
def test_groups_of_other_schedulers(scheduler: str, granularity: str, folder: Path, krmfn: Call) -> None:
    spec = f"{{scheduler: {scheduler}, gang: {{granularity: {granularity}}}}}"
    config = f"apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {{name: x}}\nspec: {spec}\n"
    (folder / "krmfn.yaml").write_text(config)
    parts = "both sub-groups" if (scheduler, granularity) == ("KAI", "Group") else "all 5 pods"
    ray = (
        f"PodGroup raycluster-llama: {parts} start together, or none, scheduled by {scheduler}\n"
        "├─ RayCluster llama spec.headGroupSpec.template: 1 pod, by spec.headGroupSpec\n"
        "└─ RayCluster llama spec.workerGroupSpecs[0].template: 4 pods, by spec.workerGroupSpecs[0].replicas\n"
    )
    job = (
        f"PodGroup job-train: all 8 pods start together, or none, scheduled by {scheduler}\n"
        "└─ Job train spec.template: 8 pods, by spec.parallelism\n"
    )
    assert krmfn("tree", "-q", "base").out == job + ray
    document = json.loads(krmfn("tree", "-q", "-o", "json", "base").out)
    assert document["withoutGroup"] == []
    assert [tree["scheduler"] for tree in document["trees"]] == [scheduler] * 2
    assert "scheduled pod by pod" not in krmfn("tree", "-q", "-o", "svg", "base").out
    assert krmfn("generate", "--write", "base").code == 0
    assert krmfn("tree", "-q", "--as-is", "base").out == job + ray


@pytest.mark.parametrize(
    ("field", "key", "scheduler"),
    [
        ("labels", "scheduling.x-k8s.io/pod-group", "SchedulerPlugins"),
        ("annotations", "scheduling.k8s.io/group-name", "Volcano"),
        ("annotations", "pod-group-name", "KAI"),
        ("annotations", "yunikorn.apache.org/task-group-name", "YuniKorn"),
    ],
)
def test_a_group_of_another_scheduler_that_is_elsewhere(
    field: str, key: str, scheduler: str, folder: Path, krmfn: Call
) -> None:
    marked = JOB.replace("    spec:\n", f"    metadata: {{{field}: {{{key}: there}}}}\n    spec:\n")
    assert marked != JOB
    (folder / "job.yaml").write_text(marked)
    line = f"Job train spec.template: in group there of {scheduler} (8 pods, by spec.parallelism)\n"
    assert krmfn("tree", "--as-is", "job.yaml").out == line


def test_quorums_of_other_schedulers(folder: Path, krmfn: Call) -> None:
    """One that cannot be met, and one that is not there."""
    (folder / "krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\nspec: {scheduler: Volcano}\n"
    )
    krmfn("generate", "--write", "base")
    path = folder / "base/job-gang.yaml"
    written = path.read_text()
    path.write_text(written.replace("minMember: 8", "minMember: 9"))
    told = "PodGroup job-train: never starts: waits for 9 pods, and there are 8, scheduled by Volcano\n"
    assert told in krmfn("tree", "--as-is", "base").out
    path.write_text(written.replace("minMember: 8", "queue: a"))
    told = "PodGroup job-train: no quorum: each starts on its own, scheduled by Volcano\n"
    assert told in krmfn("tree", "--as-is", "base").out


LINKED = JOB.replace("      restartPolicy", "      schedulingGroup: {podGroupName: %s}\n      restartPolicy")
PARENTED = """\
apiVersion: scheduling.k8s.io/v1alpha3
kind: %s
metadata: {name: %s}
spec:
  parentCompositePodGroupName: %s
  schedulingPolicy: {gang: {%s}}
"""


def test_a_link_to_a_missing_group_never_starts(folder: Path, krmfn: Call) -> None:
    (folder / "job.yaml").write_text(LINKED % "gone")
    line = "Job train spec.template: never starts: its group gone is missing (8 pods, by spec.parallelism)"
    assert krmfn("tree", "--as-is", "job.yaml").out == f"{line}\n"
    assert krmfn("tree", "--as-is", "--color", "always", "job.yaml").out == f"\x1b[1;31m{line}\x1b[0m\n"
    document = json.loads(krmfn("tree", "--as-is", "-o", "json", "job.yaml").out)
    assert document["trees"][0]["neverStarts"] is True
    assert document["withoutGroup"] == []


def test_a_group_that_the_facts_know_is_not_missing(folder: Path, krmfn: Call) -> None:
    (folder / "job.yaml").write_text(LINKED % "there")
    (folder / "krmfn.yaml").write_text(
        "apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nmetadata: {name: x}\n"
        "spec: {cluster: {podGroups: [default/there]}}\n"
    )
    line = "Job train spec.template: in group there, which is in the cluster (8 pods, by spec.parallelism)\n"
    assert krmfn("tree", "--as-is", "--color", "always", "job.yaml").out == line


def test_a_group_whose_parent_is_missing_never_starts(folder: Path, krmfn: Call) -> None:
    group = PARENTED % ("PodGroup", "eight", "all", "minCount: 8")
    parent = PARENTED % ("CompositePodGroup", "all", "gone", "minGroupCount: 1")
    path = folder / "job.yaml"
    path.write_text("---\n".join([LINKED % "eight", group]))
    done = krmfn("tree", "--as-is", *GROUP, "job.yaml")
    assert done.out.startswith("PodGroup eight: never starts: its parent, CompositePodGroup all, is missing\n")
    path.write_text("---\n".join([LINKED % "eight", group, parent]))
    told = krmfn("tree", "--as-is", *GROUP, "--color", "always", "job.yaml").out
    red = "\x1b[1;31m%s\x1b[0m\n"
    assert told.startswith(
        red % "CompositePodGroup all: never starts: its parent, CompositePodGroup gone, is missing"
        + "\x1b[2m└─ \x1b[0m"
        + red % "PodGroup eight: never starts: the parent of all, CompositePodGroup gone, is missing"
    )


def test_groups_in_a_cycle_never_start(folder: Path, krmfn: Call) -> None:
    group = PARENTED % ("PodGroup", "eight", "one", "minCount: 8")
    one = PARENTED % ("CompositePodGroup", "one", "two", "minGroupCount: 1")
    two = PARENTED % ("CompositePodGroup", "two", "one", "minGroupCount: 1")
    (folder / "job.yaml").write_text("---\n".join([LINKED % "eight", group, one, two]))
    out = krmfn("tree", "--as-is", *GROUP, "job.yaml").out
    assert out.count("never starts: the parents of the groups above it form a cycle") == 3
    assert "start together" not in out


def test_json_has_the_numbers(folder: Path, krmfn: Call) -> None:
    trees = json.loads(krmfn("tree", "-q", "-o", "json", "base").out)["trees"]
    assert trees[1]["below"][0]["pods"] == 5
    assert trees[1]["below"][0]["minCount"] == 5


def test_mermaid_and_dot_have_one_node_each(folder: Path, krmfn: Call) -> None:
    nodes = 7
    mermaid = krmfn("tree", "-q", "-o", "mermaid", "base").out
    assert mermaid.startswith("flowchart TD\n")
    assert sum("-->" not in line for line in mermaid.splitlines()) == nodes + 1
    dot = krmfn("tree", "-q", "-o", "dot", "base").out
    assert dot.count("label=") == nodes
    assert dot.count("->") == nodes - 2


@pytest.mark.parametrize("form", ["svg", "html"])
def test_pictures_have_all_groups_and_a_dot_for_each_pod(form: str, folder: Path, krmfn: Call) -> None:
    document = json.loads(krmfn("tree", "-q", "-o", "json", "base").out)
    branches = list(document["trees"])
    for branch in branches:  # which grows on the way
        branches += branch.get("below", ())
    out = krmfn("tree", "-q", "-o", form, "base").out
    if form == "html":
        assert "default-src 'none'" in out
        assert "<script" not in out
    picture = ElementTree.fromstring(out[out.index("<svg") : out.index("</svg>") + 6])
    svg = "{http://www.w3.org/2000/svg}"
    told = [title.text or "" for title in picture.iter(f"{svg}title")]
    assert [branch["name"] for branch in branches if branch["name"] not in told] == []
    assert len(list(picture.iter(f"{svg}circle"))) == sum(
        branch["pods"] for branch in branches if branch["shape"] == "pods"
    )
    assert len(list(picture.iter(f"{svg}path"))) == len(branches) - len(document["trees"])
    said = picture.findtext(f"{svg}desc") or ""
    assert all(branch["name"] in said for branch in branches)


def test_a_picture_holds_no_markup_of_a_manifest(folder: Path, krmfn: Call) -> None:
    (folder / "job.yaml").write_text(
        re.sub("name: [a-z]+", "name: '<script>alert(1)</script>'", LINKED % "eight", count=1)
    )
    out = krmfn("tree", "--as-is", "-o", "svg", *GROUP, "job.yaml").out
    ElementTree.fromstring(out)
    assert "&lt;script&gt;" in out
    assert "<script" not in out


SPEC = """\
      parallelism: 4
      completions: 4
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers: [{name: main, image: train, resources: {requests: {cpu: "1"}}}]
"""
OWN = "      scheduling: {schedulingPolicy: {gang: {%s}}, schedulingConstraints: {topology: [{key: zone}]}}\n"
BY_JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n"
BY_CRON = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: night}\nspec:\n  jobTemplate:\n    spec:\n"
LOOSE = "without a group, scheduled pod by pod:\n   "


@pytest.mark.parametrize(
    ("release", "gate", "manifest", "shown"),
    [
        ("1.37", "", BY_JOB + OWN % "" + SPEC, "all 4 pods start together, or none, within one zone, created by"),
        ("1.37", "", BY_JOB + OWN % "minCount: 3" + SPEC, "3 of 4 pods start together, or none, within one zone"),
        ("1.37", "", BY_JOB + OWN % "minCount: 5" + SPEC, LOOSE),
        ("1.37", "", BY_JOB + SPEC, LOOSE),
        ("1.37", "", BY_CRON + OWN % "" + SPEC, LOOSE),
        ("1.37", "false", BY_JOB + OWN % "" + SPEC, LOOSE),
        ("1.37", "true", BY_JOB + SPEC, LOOSE),
        ("1.38", "", BY_JOB + OWN % "" + SPEC, "PodGroup train-pgt-0: all 4 pods start together, or none"),
        ("1.38", "", BY_CRON + OWN % "" + SPEC, "created by the controller of CronJob night"),
        ("1.38", "", BY_CRON + SPEC, LOOSE),
        ("1.36", "", BY_JOB + SPEC, LOOSE),
        ("1.36", "true", BY_JOB + SPEC, "all 4 pods start together, or none, created by the controller of Job train"),
        ("1.36", "true", BY_JOB + SPEC.replace("Indexed", "NonIndexed"), LOOSE),
        ("1.36", "true", BY_CRON + SPEC, LOOSE),
    ],
)
def test_the_groups_that_the_job_controller_makes(
    release: str, gate: str, manifest: str, shown: str, tmp_path: Path, krmfn: Call
) -> None:
    """job_scheduling_manager.go of 1.36.3, 1.37.0 and 1.38.0-beta.0: of root Jobs, and from 1.38 on of owned ones."""
    (tmp_path / "a.yaml").write_text(manifest)
    given = ["--feature-gates", f"WorkloadWithJob={gate},GenericWorkload=true"] if gate else []
    words = (*given, "--as-is", "--kubernetes", release, str(tmp_path / "a.yaml"))
    assert shown in krmfn("tree", *words).out
    assert ("in no gang: 4 pods" in krmfn("fit", *words).out) == (shown == LOOSE)


def test_the_group_of_a_template_that_jobs_name(tmp_path: Path, krmfn: Call) -> None:
    page = (ROOT / "docs/rules/delegated-template-unknown.md").read_text()
    good = page.partition('title="good.yaml"\n')[2].partition("```")[0]
    (tmp_path / "a.yaml").write_text(good)
    words = ("tree", "--as-is", str(tmp_path / "a.yaml"), "--kubernetes")
    shown = "Workload ml/sim: for JobSet sim\n└─ PodGroup ml/sim-pgt-0: both pods start together, or none"
    assert shown in krmfn(*words, "1.37").out
    assert "PodGroup" not in krmfn(*words, "1.38").out
    named = good.replace("name: first}}", "name: first, scheduling.k8s.io/workload-name: sim}}", 1)
    (tmp_path / "a.yaml").write_text(named.replace("replicas: 1", "replicas: 2", 1))
    out = krmfn(*words, "1.38").out
    assert "├─ PodGroup ml/sim-pgt-0-0: both pods" in out
    assert "└─ PodGroup ml/sim-pgt-0-1: both pods" in out


def test_an_upgrade_tells_which_gangs_the_job_controller_makes(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "a.yaml").write_text(f"{BY_JOB}{SPEC}---\n{BY_CRON}{OWN % ''}{SPEC}")
    gained = "1.38 creates gangs for CronJob night if the feature gate WorkloadWithJob is on; Kubernetes 1.37 does not."
    assert gained in " ".join(
        krmfn("upgrade", "--kubernetes", "1.37", "--to", "1.38", str(tmp_path)).out.replace("\n#", "").split()
    )
    off = ("--feature-gates", "WorkloadWithJob=false")
    assert "gangs" not in krmfn("upgrade", *off, "--kubernetes", "1.37", "--to", "1.38", str(tmp_path)).out
    on = ("--feature-gates", "WorkloadWithJob=true")
    lost = "1.36 creates gangs for Job train; Kubernetes 1.37 does not."
    done = krmfn("upgrade", *on, "--kubernetes", "1.36", "--to", "1.37", str(tmp_path)).out
    assert lost in " ".join(done.replace("\n#", "").split())
    assert "creates gangs" not in krmfn("upgrade", "--kubernetes", "1.36", "--to", "1.37", str(tmp_path)).out
