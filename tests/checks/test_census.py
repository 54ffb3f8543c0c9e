"""The census: who links to whom, with names before and after a prefix, in every release."""

from __future__ import annotations

from krmfn.survey.census import HIGHEST, Census, take_census
from krmfn.survey.members import from_item
from tests.checks.cases import read_items

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ml}
spec:
  replicas: 3
  template:
    spec: {LINK}
"""
GROUP = """
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: NAME, namespace: ml, annotations: {NOTE}}
spec: {schedulingPolicy: {gang: {minCount: 3}}}
"""


def count(text: str) -> Census:
    return take_census(read_items(text), ())


def test_a_link_finds_the_group_of_its_namespace() -> None:
    text = DEPLOYMENT.replace("{LINK}", "{schedulingGroup: {podGroupName: web}}")
    census = count(text + GROUP.replace("NAME", "web").replace("{NOTE}", "{}"))
    assert [(gang.group.name, gang.pods) for gang in census.gangs] == [("web", 3)]
    assert census.dangling == ()
    assert [gang.pods for gang in count(text + GROUP.replace("ml", "other").replace("{NOTE}", "{}")).gangs] == [0]


def test_a_name_from_before_a_prefix_is_followed_unless_another_group_has_it_now() -> None:
    text = DEPLOYMENT.replace("{LINK}", "{schedulingGroup: {podGroupName: web}}")
    note = "{internal.config.kubernetes.io/previousNames: web}"
    renamed = GROUP.replace("NAME", "dev-web").replace("{NOTE}", note)
    assert [gang.pods for gang in count(text + renamed).gangs] == [3]
    both = count(text + renamed + GROUP.replace("NAME", "web").replace("{NOTE}", "{}"))
    assert {gang.group.name: gang.pods for gang in both.gangs} == {"dev-web": 0, "web": 3}


def test_every_replica_key_of_1_35_makes_a_gang() -> None:
    pods = "".join(
        f"""
---
apiVersion: v1
kind: Pod
metadata: {{name: p{index}, namespace: ml}}
spec: {{workloadRef: {{name: w, podGroup: g, podGroupReplicaKey: "{key}"}}}}
"""
        for index, key in enumerate("aab")
    )
    workload = """
apiVersion: scheduling.k8s.io/v1alpha1
kind: Workload
metadata: {name: w, namespace: ml}
spec: {podGroups: [{name: g, policy: {gang: {minCount: 2}}}, {name: h, policy: {basic: {}}}]}
"""
    gangs = count(workload + pods).gangs
    assert [(gang.group.name, gang.group.policy, gang.pods) for gang in gangs] == [
        ("w/g", "gang", 2),
        ("w/g", "gang", 1),
        ("w/h", "basic", 0),
    ]


def test_chains_end_at_the_root_at_a_missing_parent_or_in_a_cycle() -> None:
    def composite(name: str, parent: str) -> str:
        return f"""
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {{name: {name}}}
spec: {{parentCompositePodGroupName: "{parent}", schedulingPolicy: {{basic: {{}}}}}}
"""

    texts = [("a", ""), ("b", "a"), ("lost", "nobody"), ("x", "y"), ("y", "x")]
    census = count("".join(composite(*text) for text in texts))
    ends = {name: census.chain(group) for (_, name), group in census.composites.items()}
    assert [group.name for group in ends["b"][0]] == ["a"]
    assert {name: end for name, (_, end) in ends.items()} == {
        "a": "",
        "b": "",
        "lost": "missing",
        "x": "cycle",
        "y": "cycle",
    }
    names = [f"c{number}" for number in range(HIGHEST + 2)]
    census = count("".join(composite(name, parent) for name, parent in zip(names, ["", *names], strict=False)))
    ends = {name: census.chain(group) for (_, name), group in census.composites.items()}
    assert [(len(ends[name][0]), ends[name][1]) for name in names[-2:]] == [(HIGHEST, ""), (HIGHEST, "deep")]


def test_a_kueue_workload_is_none_of_ours() -> None:
    census = count("apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w}\nspec: {podSets: []}\n")
    assert census.workloads == {}


def test_manifests_of_any_shape_are_counted_without_a_traceback() -> None:
    for spec in ("3", "[1]", "{template: 3}", "{replicas: many, template: {spec: {schedulingGroup: [x]}}}"):
        for kind in ("apps/v1 Deployment", "ray.io/v1 RayCluster", "jobset.x-k8s.io/v1alpha2 JobSet", "v1 Pod"):
            api_version, name = kind.split()
            count(f"apiVersion: {api_version}\nkind: {name}\nmetadata: {{name: a}}\nspec: {spec}\n")


def test_pods_of_kinds_without_a_source() -> None:
    text = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: v}
spec: {tasks: [{replicas: 2, template: {spec: {}}}, {template: {spec: {}}}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: d}
spec: {template: {spec: {}}}
"""
    assert [[member.pods for member in from_item(item)] for item in read_items(text)] == [[2, 1], [None]]
