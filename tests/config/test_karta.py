"""Kinds that a Karta describes. What is asked of the ten below is what files of the catalogue of run-ai/karta ask, at
d20a8a9 and 812f3f2, with their paths; of Sandbox and Queue nobody has one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn.config.karta import translate
from krmfn.config.kinds import find_mistakes
from krmfn.model.kinds import KINDS
from tests.front_door import call

TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "b"}]}}


def label(name: str) -> str:
    return f'.metadata.labels["{name}"]'


def component(name: str, pods: dict[str, Any], count: str = "", **more: Any) -> dict[str, Any]:
    scale = {"replicasPath": count} if count else {}
    return {"name": name, "specDefinition": pods, **({"scaleDefinition": scale} if scale else {}), **more}


def karta(kind: str, *components: dict[str, Any], by: str = "example.com/name", **gang: Any) -> dict[str, Any]:
    """A Karta of a kind, all of whose components are one group by the label `by`; `gang` are other instructions."""
    name, _, group = kind.partition(".")
    members = [{"componentName": each["name"], "groupByKeyPaths": [label(by)]} for each in components]
    instructions = gang or {"gangScheduling": {"podGroups": [{"name": "all", "members": members}]}}
    root = {"name": name.lower(), "kind": {"group": group, "version": "v1", "kind": name}}
    return {
        "apiVersion": "run.ai/v1alpha1",
        "kind": "Karta",
        "metadata": {"name": "k"},
        "spec": {
            "structureDefinition": {"rootComponent": root, "childComponents": list(components)},
            "optimizationInstructions": instructions,
        },
    }


def templates(path: str) -> dict[str, Any]:
    return {"podTemplateSpecPath": path}


def fragments(path: str, annotations: str = "annotations") -> dict[str, Any]:
    places = {"annotationsPath": f"{path}.{annotations}", "schedulerNamePath": f"{path}.schedulerName"}
    return {"fragmentedPodSpecDefinition": places}


INSTANCE = {"podSelector": {"componentInstanceSelector": {"idPath": label("example.com/name")}}}
WORKERS = ".spec.workerGroupSpecs[]"
SERVICE = ".spec.services | .[] | "
LEADER = ".spec.leaderWorkerTemplate.leaderTemplate"


@pytest.mark.parametrize(
    ("described", "roles"),
    [
        (
            karta(
                "RayCluster.ray.io",
                component("head", templates(".spec.headGroupSpec.template"), "1"),
                component(
                    "worker",
                    templates(f"{WORKERS}.template"),
                    f"{WORKERS}.replicas // 1",
                    instanceIdPath=f"{WORKERS}.groupName",
                ),
            ),
            [
                {"name": "head", "template": "spec.headGroupSpec.template", "count": [1]},
                {
                    "nameField": "groupName",
                    "template": "spec.workerGroupSpecs.*.template",
                    "count": ["spec.workerGroupSpecs.*.replicas"],
                },
            ],
        ),
        (
            karta(
                "Milvus.milvus.io",
                component("node", templates(".spec.components.node.template"), ".spec.components.node.replicas"),
            ),
            [{"name": "node", "template": "spec.components.node.template", "count": ["spec.components.node.replicas"]}],
        ),
        (
            karta("NIMService.apps.nvidia.com", component("nim", fragments(".spec"), ".spec.replicas // 1")),
            [{"name": "nim", "template": "spec", "podSpec": "spec", "count": ["spec.replicas"]}],
        ),
        (
            karta(
                "LeaderWorkerSet.leaderworkerset.x-k8s.io",
                component(
                    "leader", templates(LEADER), "(.spec.replicas // 1) * ((.spec.leaderWorkerTemplate.size // 1) - 1)"
                ),
            ),
            [
                {
                    "name": "leader",
                    "template": "spec.leaderWorkerTemplate.leaderTemplate",
                    "count": [
                        "spec.replicas",
                        {"field": "spec.leaderWorkerTemplate.size", "default": 1, "plus": -1},
                    ],
                }
            ],
        ),
        (
            karta(
                "DynamoGraphDeployment.nvidia.com",
                component(
                    "service",
                    {
                        "fragmentedPodSpecDefinition": {
                            "annotationsPath": f"{SERVICE}.annotations",
                            "schedulerNamePath": f"{SERVICE}.extraPodSpec.schedulerName",
                        }
                    },
                    ".spec.services[] | (.replicas // 2) * (.multinode.nodeCount // 1)",
                    instanceIdPath=".spec.services | to_entries[] | .key",
                ),
            ),
            [
                {
                    "template": "spec.services.*",
                    "podSpec": "spec.services.*.extraPodSpec",
                    "count": [
                        {"field": "spec.services.*.replicas", "default": 2},
                        "spec.services.*.multinode.nodeCount",
                    ],
                }
            ],
        ),
        (
            karta(
                "Graph.nvidia.com",
                component("part", fragments(".spec.components[].podTemplate.metadata"), ".spec.components[].replicas"),
            ),
            [{"template": "spec.components.*.podTemplate", "count": ["spec.components.*.replicas"]}],
        ),
        (
            karta(
                "Sandbox.agents.x-k8s.io",
                component("a", {"podSpecPath": ".spec.pod.spec", "metadataPath": ".spec.pod"}, "3"),
            ),
            [{"name": "a", "template": "spec.pod", "podSpec": "spec.pod.spec", "count": [3]}],
        ),
    ],
    ids=lambda value: value["spec"]["structureDefinition"]["rootComponent"]["name"] if isinstance(value, dict) else "",
)
def test_a_karta_is_a_kind(described: dict[str, Any], roles: list[dict[str, Any]]) -> None:
    spec = translate(described)
    assert spec["roles"] == roles
    apart = any("podSpec" in role for role in roles)
    assert spec.get("link", {}) == ({"kept": "Never"} if apart else {})
    told = [
        each.message
        for each in find_mistakes({"apiVersion": "krmfn.dev/v1alpha1", "kind": "WorkloadKind", "spec": spec})
    ]
    known = (spec["group"], spec["kind"]) in KINDS.shipped
    assert told == ([f"krmfn knows {spec['kind']} of {spec['group']} itself"] if known else [])


PLAIN = component("a", templates(".spec.template"), ".spec.replicas")
FILTERED = {"componentName": "a", "filters": ["any(.spec.x)"], "groupByKeyPaths": [label("x")]}


@pytest.mark.parametrize(
    ("described", "reason"),
    [
        (karta("Set.apps", PLAIN, gangScheduling={}), "its Karta describes no gang"),
        (karta("Jobs.x", {**PLAIN, **INSTANCE}), "each value of example.com/name is a separate gang"),
        (
            karta("Auto.x", {**PLAIN, "scaleDefinition": {"minReplicasPath": ".spec.min"}}),
            "an autoscaler counts its pods",
        ),
        (karta("Grove.x", component("a", templates(".spec as $s | $s.a"), "1")), "the expression .spec as $s | $s.a"),
        (karta("Sum.x", component("a", templates(".spec.t"), ".spec.a + .spec.b")), "the expression .spec.a + .spec.b"),
        (karta("Llm.x", component("a", {"podSpecPath": ".spec.template"}, "1")), "no field called annotations"),
        (karta("Milvus.x", component("a", fragments(".spec.a", "podAnnotations"), "1")), "no field called annotations"),
        (karta("Many.x", PLAIN, gangScheduling={"podGroups": [{}, {}]}), "it has 2 kinds of groups"),
        (karta("Few.x", PLAIN, gangScheduling={"podGroups": [{"members": [FILTERED]}]}), "filters choose the pods"),
        (karta("None.x", {"name": "a"}), "a has no separate pods"),
    ],
    ids=lambda value: value["spec"]["structureDefinition"]["rootComponent"]["name"] if isinstance(value, dict) else "",
)
def test_what_a_kind_cannot_say_is_its_reason(described: dict[str, Any], reason: str) -> None:
    spec = translate(described)
    assert (spec["gang"], "roles" in spec) == ("Never", False)
    assert reason in spec["reason"]


def test_pods_of_no_group_are_aside_or_not_known() -> None:
    one = [{"componentName": "a", "groupByKeyPaths": [label("x")]}]
    others = [component("b", templates(".spec.other"), "1"), component("c", {"podSpecPath": ".spec.router"}, "1")]
    spec = translate(karta("Some.x", PLAIN, *others, gangScheduling={"podGroups": [{"members": one}]}))
    assert [(role["template"], role.get("aside", False)) for role in spec["roles"]] == [
        ("spec.template", False),
        ("spec.other", True),
    ]


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    done = call(b"", words, folder)
    return done.code, done.out.decode(), done.err.decode()


def test_a_karta_beside_the_manifests_makes_gangs(tmp_path: Path) -> None:
    known = karta("RayCluster.ray.io", component("head", {"podSpecPath": ".spec"}, "1"))
    (tmp_path / "karta.yaml").write_text(yaml.safe_dump_all([karta("Swarm.example.com", PLAIN), known]))
    head = {"metadata": {"name": "bees", "annotations": {"krmfn.dev/gang": "true"}}}
    swarm = {"apiVersion": "example.com/v1", "kind": "Swarm", **head, "spec": {"replicas": 3, "template": TEMPLATE}}
    (tmp_path / "swarm.yaml").write_text(yaml.safe_dump(swarm))
    code, out, err = run(tmp_path, "generate", ".")
    assert code == 0, err
    assert "minCount: 3" in out
    (tmp_path / "karta.yaml").write_text(yaml.safe_dump(karta("Swarm.example.com", {**PLAIN, **INSTANCE})))
    code, out, err = run(tmp_path, "generate", ".")
    assert (code, "PodGroup" in out) == (0, False)
    assert "nothing is generated for this Swarm: its Karta says more than krmfn can: each value of" in err
    code, out, _ = run(tmp_path, "kinds", "--from", "karta.yaml")
    assert (code, yaml.safe_load(out)["spec"]["gang"]) == (0, "Never")


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (
            component("a", templates(".spec.template"), ".spec.parts[].replicas"),
            "is not a WorkloadKind: spec.roles[0].count: spec.parts.*.replicas has",
        ),
        (
            component("a", templates(".[]"), "1"),
            'is not a WorkloadKind: spec.roles[0].template: "*" has the wrong format',
        ),
        (component("a", templates(".spec.template"), "²"), "says more than krmfn can: the expression ²"),
        (component("a", templates(".spec.template"), "9" * 5000), "says more than krmfn can: the expression 9"),
        (component("a", templates(".spec.template"), "0"), "has no pods: it is left out"),
        ({"name": "a"}, "says more than krmfn can: a has no separate pods"),
        (5, "is not a WorkloadKind: spec.roles: is missing"),
    ],
)
def test_a_karta_that_would_be_refused_as_a_kind_makes_no_gangs(part: Any, told: str, tmp_path: Path) -> None:
    described = karta("Swarm.example.com", PLAIN)
    described["spec"]["structureDefinition"]["childComponents"] = [part]
    head = {"metadata": {"name": "bees", "annotations": {"krmfn.dev/gang": "true"}}}
    spec = {"replicas": 3, "template": TEMPLATE, "parts": [{"replicas": 2}]}
    swarm = {"apiVersion": "example.com/v1", "kind": "Swarm", **head, "spec": spec}
    (tmp_path / "all.yaml").write_text(yaml.safe_dump_all([described, swarm]))
    code, out, err = run(tmp_path, "generate", ".")
    assert (code, "PodGroup" in out, told in err) == (0, False, True), err


def test_a_karta_of_nothing_is_told(tmp_path: Path) -> None:
    (tmp_path / "karta.yaml").write_text(
        "apiVersion: run.ai/v1alpha1\nkind: Karta\nmetadata: {name: k}\nspec: {structureDefinition: 7}\n"
    )
    assert translate({"spec": 7}) == {}
    code, _, err = run(tmp_path, "kinds", "--from", "karta.yaml")
    assert (code, "has no pod template" in err) == (2, True)
