"""Releases that differ from the newest in more than longer lists: each change is data, made by `odd` or `poor`, and no
command may crash, write what the release refuses, or say nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.releases.installation import NEXT, OLD, Run, installed
from tests.releases.wide import WIDE

POD = "containers: [{name: a, image: b, resources: {requests: {cpu: 1, memory: 1Gi}}}]"
JOB = f"""\
apiVersion: batch/v1
kind: Job
metadata: {{name: train, annotations: {{krmfn.dev/gang: "true", krmfn.dev/naming: Revisioned}}}}
spec:
  completions: 3
  parallelism: 3
  completionMode: Indexed
  template: {{spec: {{restartPolicy: Never, {POD}}}}}
"""
LONE = JOB.replace(', annotations: {krmfn.dev/gang: "true", krmfn.dev/naming: Revisioned}', "")
CRON = f"""\
apiVersion: batch/v1
kind: CronJob
metadata: {{name: nightly}}
spec:
  schedule: "1 * * * *"
  jobTemplate: {{spec: {{template: {{spec: {{restartPolicy: Never, {POD}}}}}}}}}
"""
SET = f"""\
apiVersion: apps/v1
kind: StatefulSet
metadata: {{name: shards, annotations: {{krmfn.dev/gang: "true"}}}}
spec:
  podManagementPolicy: Parallel
  serviceName: a
  scheduling: {{mode: Gang}}
  replicas: 4
  selector: {{matchLabels: {{a: b}}}}
  template: {{metadata: {{labels: {{a: b}}}}, spec: {{{POD}}}}}
"""
GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: ours}
spec: {schedulingPolicy: {gang: {minMember: 3}}}
"""
REPLICAS = f"""\
apiVersion: apps/v2
kind: ReplicaGroup
metadata: {{name: a}}
spec: {{template: {{spec: {{schedulingGroup: {{podGroupName: ours}}, {POD}}}}}}}
---
{GROUP}"""


def change(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    value = json.loads(path.read_text())
    edit(value)
    path.write_text(json.dumps(value))


def odd(schemas: Path) -> None:
    """A stable version beside the beta one and none of the alpha one, quorums under new names, a gate that is locked, a
    mode that can change, flatter trees, a controller that makes groups, a kind more, and a version less."""
    folder = schemas / "kubernetes" / NEXT
    names = {"minCount": "minMember", "minGroupCount": "minSubGroup"}
    for path in folder.glob("[cpw]*.json"):
        text = path.read_text()
        for old, new in names.items():
            text = text.replace(f'"{old}"', f'"{new}"')
        path.write_text(text)
    kinds = {"Workload": ["v1", "v1beta1"], "PodGroup": ["v1", "v1beta1"], "CompositePodGroup": ["v1beta1"]}
    for kind, versions in kinds.items():
        gates = ["GenericWorkload", *(["CompositePodGroup"] if kind == "CompositePodGroup" else [])]
        serve(folder / f"{kind.lower()}.json", dict.fromkeys(versions, gates))
        change(folder / f"{kind.lower()}.json", free_modes)
    change(folder / "release.json", lambda it: it.update(kinds=kinds, names=names))
    change(folder / "release.json", lambda it: it.update(owns={"StatefulSet.apps": "spec.scheduling"}))
    locked = {"stage": "ga", "default": True, "locked": True}
    change(folder / "release.json", lambda it: it["gates"]["GenericWorkload"].update(locked))
    created = "x-kubernetes-handwritten"
    change(folder / "workload.json", lambda it: [row.__setitem__(1, 3) for row in it[created]["create"] if row[1] == 4])
    scheduling = {"type": "object", "properties": {"mode": {"type": "string"}}}
    change(
        folder / "statefulset.json",
        lambda it: it["$defs"]["StatefulSetSpec"]["properties"].update(scheduling=scheduling),
    )
    template = {"type": "object", "properties": {"template": {"$ref": "../pod.json#/$defs/PodTemplateSpec"}}}
    fields = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "../meta.json#/$defs/ObjectMeta"},
        "spec": template,
    }
    (folder / "others" / "apps.v2.json").write_text(
        json.dumps({"$defs": {"ReplicaGroup": {"type": "object", "properties": fields}}})
    )
    served = {"apps/v2": "ReplicaGroup", "batch/v1": "Job", "batch/v2": "CronJob"}
    change(folder / "others" / "kinds.json", lambda it: it["served"].update(served))
    change(folder / "cronjob.json", lambda it: it.update({"x-kubernetes-versions": {"v2": []}}))


def serve(path: Path, versions: dict[str, list[str]]) -> None:
    change(path, lambda it: it.update({"x-kubernetes-versions": versions}))


def free_modes(schema: dict[str, Any]) -> None:
    for definition in schema["$defs"].values():
        definition.get("properties", {}).get("disruptionMode", {}).pop("x-kubernetes-immutable", None)


def poor(schemas: Path) -> None:
    """Composites withdrawn, and every other gate removed: what it brought is simply there."""
    folder = schemas / "kubernetes" / NEXT
    release = json.loads((folder / "release.json").read_text())
    left = {name: gate for name, gate in release["gates"].items() if name != "CompositePodGroup"}
    release["features"] = [feature for gate in left.values() for feature in gate["features"]]
    release["goneGates"] += list(release["gates"])
    release["gates"] = {}
    del release["kinds"]["CompositePodGroup"]
    (folder / "release.json").write_text(json.dumps(release))
    (folder / "compositepodgroup.json").unlink()
    for path in (folder / "workload.json", folder / "podgroup.json"):
        change(path, drop_gates)
    spec = "properties"
    change(
        folder / "workload.json",
        lambda it: [
            it["$defs"]["WorkloadSpec"].pop("x-kubernetes-union"),
            it["$defs"]["WorkloadSpec"][spec].pop("compositePodGroupTemplates"),
        ],
    )
    change(folder / "podgroup.json", lambda it: it["$defs"]["PodGroupSpec"][spec].pop("parentCompositePodGroupName"))


def drop_gates(node: Any) -> None:
    if isinstance(node, dict):
        for key in [key for key in node if key.startswith(("x-kubernetes-feature-", "x-kubernetes-if-"))]:
            del node[key]
        if "x-kubernetes-versions" in node:
            node["x-kubernetes-versions"] = {version: [] for version in node["x-kubernetes-versions"]}
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        drop_gates(child)


def bare(schemas: Path) -> None:
    """Groups without Workloads."""
    folder = schemas / "kubernetes" / NEXT
    change(folder / "release.json", lambda it: it["kinds"].pop("Workload"))
    (folder / "workload.json").unlink()


def filled(schemas: Path) -> None:
    """Other defaults, gates that are on, a policy more, and fields under other names."""
    folder = schemas / "kubernetes" / NEXT
    release = json.loads((folder / "release.json").read_text())
    for gate in release["gates"].values():
        gate.update(stage="beta", default=True)
    names = {"disruptionMode": "disruption", "priorityClassName": "priorityClass"}
    (folder / "release.json").write_text(json.dumps(release | {"names": names}))
    for kind in ("workload", "podgroup", "compositepodgroup"):
        path = folder / f"{kind}.json"
        for old, new in names.items():
            path.write_text(path.read_text().replace(f'"{old}"', f'"{new}"'))
        change(path, add_policy)
    change(folder / "podgroup.json", fill_otherwise)


def fill_otherwise(schema: dict[str, Any]) -> None:
    fields = schema["$defs"]["PodGroupSpec"]["properties"]
    fields["disruption"]["default"], fields["preemptionPolicy"]["default"] = {"all": {}}, "Never"
    fields["priorityClass"]["x-kubernetes-max-bytes"] = 9
    schema["$defs"]["WorkloadReference"]["properties"]["templateName"]["maxLength"] = 20


def add_policy(schema: dict[str, Any]) -> None:
    policy = schema["$defs"].get("PodGroupSchedulingPolicy")
    if policy:
        schema["$defs"]["Elastic"] = schema["$defs"]["GangSchedulingPolicy"]
        policy["properties"]["elastic"] = {"$ref": "#/$defs/Elastic", "x-kubernetes-pointer": True}
        policy["x-kubernetes-union"].append("elastic")


other = installed(odd)
less = installed(poor)
alone = installed(bare)
fuller = installed(filled)


def test_quorums_of_another_name_are_written_read_and_converted(other: Run, tmp_path: Path) -> None:
    made = other("generate", "-q", "-", data=WIDE)
    assert (made.out.count("minMember: "), made.out.count("minSubGroup: "), "minCount" in made.out) == (26, 2, False)
    assert other("validate", "--fail-on", "error", "-", data=made.out).code == 0
    assert "all 13 groups start together" in other("tree", "-q", "-", data=made.out).out
    wrong = made.out.replace("minMember: 2", "minMember: 3")
    assert "minMember is 3, but only 2 pods can exist" in other("validate", "-", data=wrong).out
    assert "set minMember to 2" in other("validate", "-", data=made.out.replace("minMember: 2", "minMember: 1")).out + (
        "set minMember to 2"  # a quorum of one is told as such
    )
    asked = WIDE.replace("granularity: Group", "granularity: Cluster")
    written = {name: other("generate", "-q", "--kubernetes", name, "-", data=asked).out for name in (OLD, NEXT, "1.36")}
    for old, new in ((OLD, NEXT), (NEXT, OLD), ("1.36", NEXT)):
        done = other("convert", "-q", "--to", new, "-", data=written[old])
        assert (done.code, done.out.count("minMember")) == (0, 2 if new == NEXT else 0), done.err
        assert other("validate", "--fail-on", "error", "--kubernetes", new, "-", data=done.out).code == 0
    assert other("generate", "-q", "-", data=written[OLD]).out == written[NEXT], "what an older release wrote is ours"
    (tmp_path / "old.yaml").write_text(written[NEXT])
    (tmp_path / "new.yaml").write_text(written[NEXT].replace("minMember: 25", "minMember: 24"))
    plan = other("diff", str(tmp_path / "old.yaml"), str(tmp_path / "new.yaml")).out
    assert "The new minMember applies from the next scheduling attempt" in plan


def test_what_can_change_is_no_part_of_a_name(other: Run) -> None:
    def name(release: str, **more: str) -> str:
        notes = "".join(f", krmfn.dev/{key.replace('_', '-')}: {value}" for key, value in more.items())
        done = other(
            "generate", "-q", "--kubernetes", release, "-", data=JOB.replace(": Revisioned", f": Revisioned{notes}")
        )
        return done.out.split("kind: PodGroup\nmetadata:\n  name: ")[1].split("\n")[0]

    assert name(NEXT) == name(NEXT, disruption_mode="Single") == name(NEXT, min_count='"2"')
    assert name(OLD) != name(OLD, disruption_mode="Single")


def test_a_gate_that_is_locked_is_told(other: Run) -> None:
    told = other("validate", "--feature-gates", "GenericWorkload=false", "-", data=GROUP).out
    assert f"sets GenericWorkload, which Kubernetes {NEXT} has locked to its default" in told
    assert "locked" not in other("validate", "--feature-gates", "GenericWorkload=true", "-", data=GROUP).out


def test_a_controller_that_makes_groups_is_left_alone(other: Run) -> None:
    done = other("generate", "-", data=SET)
    assert (done.out, "creates its groups itself" in done.err) == (SET, True)
    linked = SET.replace("spec: {containers", "spec: {schedulingGroup: {podGroupName: ours}, containers")
    assert "[own-scheduling-and-link]" in other("validate", "-", data=f"{linked}---\n{GROUP}").out


def test_pods_of_a_kind_that_nobody_knows_are_in_their_group(other: Run) -> None:
    told = other("validate", "-", data=REPLICAS)
    assert (told.code, "[group-unused]" in told.out) == (0, False), told.out + told.err
    lost = other("validate", "-", data=REPLICAS.replace("podGroupName: ours", "podGroupName: theirs")).out
    assert ("[group-unused]" in lost, "[group-missing]" in lost) == (True, True), lost


def test_a_version_that_is_gone_is_refused_even_where_nothing_changes(other: Run, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(CRON)
    paths = [str(tmp_path / "a.yaml")] * 2
    assert other("diff", "--kubernetes", OLD, "--to-kubernetes", NEXT, *paths).out.startswith("Refused")
    assert "1 unchanged" in other("diff", "--kubernetes", OLD, *paths).out


def test_kinds_that_are_withdrawn_are_told(less: Run, tmp_path: Path) -> None:
    trees = less("generate", "-q", "--kubernetes", OLD, "-", data=WIDE).out
    done = less("convert", "--to", NEXT, "-", data=trees)
    assert (done.code, done.err.count(f"Kubernetes {NEXT} has no CompositePodGroup")) == (1, 2), done.err
    (tmp_path / "a.yaml").write_text(trees)
    steps = less("upgrade", "--kubernetes", OLD, "--to", NEXT, str(tmp_path / "a.yaml"))
    assert (steps.code, "delete compositepodgroup" in steps.out, "/compositepodgroups/" in steps.out) == (
        1,
        True,
        False,
    )
    plan = less("diff", "--kubernetes", OLD, "--to-kubernetes", NEXT, *[str(tmp_path / "a.yaml")] * 2).out
    assert "2 refused" in plan


def test_what_needs_no_gate_any_more_is_written(less: Run) -> None:
    done = less("generate", "-", data=JOB)
    assert (done.out.count("all: {}"), "gate" in done.err) == (2, False), done.err
    told = less("validate", "--feature-gates", "GenericWorkload=true", "-", data=done.out).out
    assert f"names GenericWorkload, which Kubernetes {NEXT} no longer has" in told


def test_groups_need_no_workload(alone: Run, tmp_path: Path) -> None:
    made = {release: alone("generate", "-q", "--kubernetes", release, "-", data=JOB).out for release in (OLD, NEXT)}
    assert [made[NEXT].count(f"kind: {kind}\n") for kind in ("Workload", "PodGroup")] == [0, 1]
    assert "workloadRef" not in made[NEXT]
    assert alone("validate", "--fail-on", "error", "-", data=made[NEXT]).code == 0
    assert "all 3 pods start together" in alone("tree", "-q", "-", data=made[NEXT]).out
    raised = alone("convert", "--to", NEXT, "-", data=made[OLD])
    assert (raised.code, f"Kubernetes {NEXT} has no Workload" in raised.err) == (1, True)
    lower = alone("convert", "-q", "--to", "1.35", "-", data=made[NEXT])
    assert (lower.code, lower.out.count("kind: Workload\n"), "kind: PodGroup\n" in lower.out) == (0, 1, False)
    (tmp_path / "a.yaml").write_text(made[OLD])
    assert alone("init", str(tmp_path)).code == 0
    plan = alone("diff", "--kubernetes", OLD, "--to-kubernetes", NEXT, *[str(tmp_path / "a.yaml")] * 2)
    assert "1 refused" in plan.out


def test_other_defaults_are_told_before_the_upgrade(fuller: Run, tmp_path: Path) -> None:
    """What stays as it is means something else when it is created anew; a field that is written does not."""
    (tmp_path / "a.yaml").write_text(GROUP.replace("minMember", "minCount"))
    words = ("diff", "--kubernetes", OLD, "--to-kubernetes", NEXT)
    told = fuller(*words, str(tmp_path / "a.yaml")).out
    mode = f'Kubernetes {NEXT} fills in {{"all": {{}}}}, {OLD} filled in {{"single": {{}}}}. Write the field'
    assert (mode in told, f'fills in "Never", {OLD} filled in nothing.\n' in told) == (True, True), told
    assert "1 unchanged" in fuller("diff", "--kubernetes", OLD, *[str(tmp_path / "a.yaml")] * 2).out
    written = "{disruptionMode: {single: {}}, preemptionPolicy: PreemptLowerPriority, schedulingPolicy"
    (tmp_path / "a.yaml").write_text((tmp_path / "a.yaml").read_text().replace("{schedulingPolicy", written))
    assert "fills in" not in fuller(*words, str(tmp_path / "a.yaml")).out


def test_limits_of_length(fuller: Run) -> None:
    """In characters or in bytes; what is generated is judged, too."""
    asked = GROUP.replace("minMember", "minCount").replace(
        "spec: {", f"spec: {{priorityClass: 0123456789, workloadRef: {{workloadName: a, templateName: {'t' * 21}}}, "
    )
    told = fuller("validate", "-", data=asked.replace("0123456789", '"0123456789"')).out
    assert "spec.priorityClass: Too long: may not be more than 9 bytes [max-items]" in told
    assert "templateName: Too long: may not be more than 20 characters [max-items]" in told
    assert "Too long" not in fuller("validate", "-", data=asked.replace("0123456789", '"high"').replace("tt", "")).out
    wide = fuller("validate", "-", data=asked.replace("0123456789", "ü" * 5).replace("t" * 21, "ü" * 20)).out
    assert ("more than 9 bytes" in wide, "more than 20 characters" in wide) == (True, False), wide
    assert (
        "more than 9 bytes"
        in fuller("generate", "-", data=JOB.replace("restart", "priorityClassName: quite-high, restart", 1)).err
    )


def test_a_value_that_a_release_does_not_take_is_told(fuller: Run) -> None:
    """Where another release takes it. A placeholder is none, and neither is a mistake."""
    asked = GROUP.replace("minMember", "minCount").replace(
        "spec: {", "spec: {workloadRef: {workloadName: a, templateName: NAME}, "
    )
    long, short = (fuller("convert", "--to", NEXT, "-", data=asked.replace("NAME", name)) for name in ("t" * 21, "t"))
    assert f"Kubernetes {NEXT} does not accept templateName: {'t' * 21}; it is unchanged" in long.err
    assert (long.code, short.code, "does not accept" in short.err) == (1, 0, False)
    for value in ("${COUNT}", "-1"):
        assert "does not accept" not in fuller("convert", "--to", "1.36", "-", data=asked.replace("3", value)).err


def test_a_policy_that_older_releases_lack_is_not_dropped(fuller: Run) -> None:
    asked = GROUP.replace("gang: {minMember", "elastic: {minCount")
    assert fuller("validate", "--fail-on", "error", "-", data=asked).code == 0
    assert "policy elastic, whose quorum krmfn does not know" in fuller("tree", "-q", "-", data=asked).out
    for to in (OLD, "1.36", "1.35"):
        done = fuller("convert", "--to", to, "-", data=asked)
        assert (done.code, "olicy elastic; it is unchanged" in done.err) == (1, True), (to, done.err)


def test_other_names_alone_make_no_new_revision(fuller: Run) -> None:
    asked = JOB.replace("restartPolicy", "priorityClassName: high, restartPolicy")
    found = {
        release: fuller("generate", "-q", "--kubernetes", release, "-", data=asked).out.splitlines()
        for release in (OLD, NEXT)
    }
    names = {release: {line for line in lines if "name: job-train-" in line} for release, lines in found.items()}
    assert names[OLD] == names[NEXT] != set()
    assert "  priorityClass: high" in found[NEXT]


def test_a_gate_that_is_on_counts_as_on(fuller: Run) -> None:
    """WorkloadWithJob, which a configuration has to name while it is off by default."""
    told = {release: fuller("validate", "--kubernetes", release, "-", data=LONE).out for release in (OLD, NEXT)}
    assert ["job-gang-lost" in told[release] for release in (OLD, NEXT)] == [False, True]
