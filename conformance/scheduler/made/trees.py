"""Made-up groups as people write them by hand: flat ones, trees of any depth, pods and Jobs that link to them."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.scheduler.made.clusters import HOST, RACK, REGION, ZONE
from conformance.scheduler.made.templates import fill, make_template
from conformance.versions import read_releases
from krmfn.releases.release import find_release

Value = dict[str, Any]


def make_groups(random: Random, nodes: list[Value], name: str, release: str, composites: bool) -> Value:
    """A gang `{kind, objects}`: a Workload, groups and what links to them."""
    if release == "1.35":
        return {"kind": "groups", "objects": _write_1_35(random, nodes, name)}
    writer = _Writer(random, nodes, name, release)
    if composites and random.random() < 0.75:
        writer.composite(name, "", random.choice((1, 1, 1, 2, 2, 3, 4, 5)))
        kind = "tree"
    else:
        writer.leaf(name, "")
        kind = "groups"
    return {"kind": kind, "objects": [writer.workload(), *writer.groups, *writer.members]}


class _Writer:
    """Collects the objects of one gang."""

    def __init__(self, random: Random, nodes: list[Value], name: str, release: str) -> None:
        self.random, self.nodes, self.name = random, nodes, name
        self.served = read_releases(previews=True)[release].served
        self.nested = find_release(release).has("composite-groups")
        self.groups: list[Value] = []
        self.members: list[Value] = []
        self.priority = random.choice(("", "", "", "high", "low", "patient"))

    def workload(self) -> Value:
        """A Workload with one template: the scheduler does not look at it."""
        template: Value = {"name": "any", "schedulingPolicy": {"gang": {"minCount": 1}}}
        metadata = {"name": self.name, "namespace": "ml"}
        spec = {"podGroupTemplates": [template]}
        return {"apiVersion": self._version("Workload"), "kind": "Workload", "metadata": metadata, "spec": spec}

    def composite(self, name: str, parent: str, depth: int) -> None:
        children = self.random.choice((1, 2, 2, 2, 3))
        quorum = children - (self.random.random() < 0.2 and children > 1)
        policy: Value = {"gang": {"minGroupCount": quorum}}
        if self.random.random() < 0.12:
            policy = {"basic": {}}
        self._add("CompositePodGroup", name, parent, policy)
        names = [f"{name}-{letter}" for letter in self.random.sample("abcdxyz", children)]
        for child in names:
            if depth > 1 and self.random.random() < 0.6:
                self.composite(child, name, depth - 1)
            else:
                self.leaf(child, name)

    def leaf(self, name: str, parent: str) -> None:
        template = make_template(self.random, self.nodes, self.name)
        spec = template["spec"]
        spec.pop("priorityClassName", None)
        if self.priority:
            spec["priorityClassName"] = self.priority
        spec["schedulingGroup"] = {"podGroupName": name}
        pods = fill(self.random, self.nodes, template, self.random.choice((1, 1, 2, 2, 3, 4, 5)))
        count = max(1, pods - (self.random.random() < 0.3))
        policy: Value = {"gang": {"minCount": count}}
        if self.random.random() < (0.2 if parent else 0.1):
            policy = {"basic": {}}
        self._add("PodGroup", name, parent, policy)
        self.members += _members(self.random, name, template, pods)

    def _add(self, kind: str, name: str, parent: str, policy: Value) -> None:
        spec: Value = {"schedulingPolicy": policy}
        if self.random.random() < (0.2 if parent else 0.35):
            key = self.random.choice((RACK, RACK, ZONE, ZONE, HOST, REGION, "example.com/block"))
            spec["schedulingConstraints"] = {"topology": [{"key": key}]}
        if self.priority:
            spec["priorityClassName"] = self.priority
            if self.priority == "patient" and self.nested:
                spec["preemptionPolicy"] = "Never"
        if self.random.random() < 0.25 and "gang" in policy and self.nested:
            spec["disruptionMode"] = self.random.choice(({"all": {}}, {"single": {}}))
        metadata = {"name": name, "namespace": "ml"}
        if self.nested:
            spec["workloadRef"] = {"workloadName": self.name, "templateName": "any"}
            if parent:
                spec["parentCompositePodGroupName"] = parent
        self.groups.append({"apiVersion": self._version(kind), "kind": kind, "metadata": metadata, "spec": spec})

    def _version(self, kind: str) -> str:
        return f"scheduling.k8s.io/{self.served[kind][-1]}"


def _members(random: Random, name: str, template: Value, pods: int) -> list[Value]:
    """A Job of so many pods, or bare pods."""
    metadata = {"name": name, "namespace": "ml"}
    template["spec"]["restartPolicy"] = "Never"
    if random.random() < 0.6:
        spec = {"parallelism": pods, "completions": pods, "completionMode": "Indexed", "template": template}
        return [{"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}]
    labels = template["metadata"]["labels"]
    return [
        {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"]}
        | {"metadata": {"name": f"{name}-{number}", "namespace": "ml", "labels": labels}}
        for number in range(pods)
    ]


def _write_1_35(random: Random, nodes: list[Value], name: str) -> list[Value]:
    entries, members = [], []
    for number in range(random.choice((1, 1, 2))):
        entry = "abc"[number]
        template = make_template(random, nodes, name)
        pods = random.choice((1, 2, 2, 3, 4, 5))
        policy: Value = {"gang": {"minCount": max(1, pods - (random.random() < 0.3))}}
        if random.random() < 0.15:
            policy = {"basic": {}}
        entries.append({"name": entry, "policy": policy})
        template["spec"]["workloadRef"] = {"name": name, "podGroup": entry}
        if random.random() < 0.2:
            template["spec"]["workloadRef"]["podGroupReplicaKey"] = "0"
        members += _members(random, f"{name}-{entry}", template, pods)
    metadata = {"name": name, "namespace": "ml"}
    workload: Value = {"apiVersion": "scheduling.k8s.io/v1alpha1", "kind": "Workload", "metadata": metadata}
    return [{**workload, "spec": {"podGroups": entries}}, *members]
