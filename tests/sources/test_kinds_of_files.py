"""Kinds that a file alone describes: the numbers of pods that their controllers make of objects of their repositories.

The objects have the shape of examples of kubeflow/spark-operator v2.5.2, sgl-project/rbg v0.8.0-alpha.5,
volcano-sh/kthena 3cc0572, kubernetes-sigs/lws 060ab4d, kserve/kserve v0.20.0, ai-dynamo/dynamo 2a6da14 and
ai-dynamo/grove v0.1.0-alpha.11.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance.definitions import list_projects, read_definitions
from krmfn.krm import Item
from krmfn.model.kinds import KINDS, KindRow
from krmfn.model.tree import Composite, leaves
from krmfn.pipeline import complete, find_all
from krmfn.survey.shape import shape
from tests.front_door import ROOT
from tests.sources.manifests import TEMPLATE, make_settings, manifest, paths_of, pods_of, read, rules_of

BRIDGE = make_settings(link="Auto")
INDEX = "replica-index"
RBG = "rbg.workloads.x-k8s.io/role"


def standalone(name: str, replicas: int, **fields: Any) -> dict[str, Any]:
    """A role of a RoleBasedGroup whose instances are single pods."""
    return {"name": name, "replicas": replicas, "standalonePattern": {"template": TEMPLATE}, **fields}


def spark(**spec: Any) -> dict[str, Any]:
    value = {"mode": "cluster", "driver": {"cores": 1}, "executor": {"cores": 1, "instances": 3}, **spec}
    return manifest("sparkoperator.k8s.io/v1beta2", "SparkApplication", value)


def group(*roles: dict[str, Any], version: str = "v1alpha2", **fields: Any) -> dict[str, Any]:
    return manifest(f"workloads.x-k8s.io/{version}", "RoleBasedGroup", {"roles": list(roles), **fields})


def serving(scheduler: str | None = "default-scheduler", **spec: Any) -> dict[str, Any]:
    roles = [
        {"name": name, "replicas": replicas, "workerReplicas": workers, "entryTemplate": TEMPLATE}
        | ({"workerTemplate": TEMPLATE} if workers else {})
        for name, replicas, workers in (("prefill", 2, 3), ("decode", 1, 0))
    ]
    value = {"schedulerName": scheduler, "template": {"roles": roles}, **spec}
    return manifest("workload.serving.volcano.sh/v1alpha1", "ModelServing", value)


def disaggregated(**spec: Any) -> dict[str, Any]:
    roles = [
        {"name": "prefill", "spec": {"replicas": 4, "leaderWorkerTemplate": {"size": 2, "workerTemplate": TEMPLATE}}},
        {
            "name": "decode",
            "spec": {
                "replicas": 2,
                "leaderWorkerTemplate": {"size": 3, "leaderTemplate": TEMPLATE, "workerTemplate": TEMPLATE},
            },
        },
    ]
    return manifest("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet", {"roles": roles, **spec})


def inference(**spec: Any) -> dict[str, Any]:
    return manifest("serving.kserve.io/v1alpha2", "LLMInferenceService", {"template": {}, **spec})


def graph(version: str = "v1beta1", grove: str = "false", **spec: Any) -> dict[str, Any]:
    annotations = {"nvidia.com/enable-grove": grove} if grove else {}
    return manifest(f"nvidia.com/{version}", "DynamoGraphDeployment", spec, annotations=annotations)


def component(name: str, replicas: int | None = None, **fields: Any) -> dict[str, Any]:
    return {"name": name, "podTemplate": TEMPLATE, **({"replicas": replicas} if replicas else {}), **fields}


def cliques(*sizes: tuple[str, int], replicas: int | None = 1, **template: Any) -> dict[str, Any]:
    """A PodCliqueSet whose cliques have so many pods each."""
    made = [{"name": name, "spec": {"roleName": name, "replicas": pods, "podSpec": {}}} for name, pods in sizes]
    spec = {**({} if replicas is None else {"replicas": replicas}), "template": {"cliques": made, **template}}
    return manifest("grove.io/v1alpha1", "PodCliqueSet", spec)


WORKERS = {"replicas": 2, "parallelism": {"data": 16, "dataLocal": 8}, "worker": {}}
LEADERS = {"name": "prefill", "replicas": 2, "leaderWorkerPattern": {"size": 4, "template": TEMPLATE}}
COMPONENTS: dict[str, Any] = {
    "name": "engine",
    "replicas": 3,
    "customComponentsPattern": {
        "components": [
            {"name": "front", "size": 1, "template": TEMPLATE},
            {"name": "back", "size": 2, "template": TEMPLATE},
        ]
    },
}


@pytest.mark.parametrize(
    ("value", "pods"),
    [
        (spark(), {"executor": 3}),
        (spark(executor={"cores": 1}), {"executor": 1}),
        (spark(dynamicAllocation={"enabled": False}), {"executor": 3}),
        (group(standalone("frontend", 1), standalone("backend", 3)), {"frontend": 1, "backend": 3}),
        (group(LEADERS, standalone("router", 1)), {"router": 1, "prefill": 8}),
        (group(COMPONENTS), {"engine-front": 3, "engine-back": 6}),
        (
            group(
                {"name": "lws", "replicas": 2, "leaderWorkerSet": {"size": 3}, "template": TEMPLATE},
                {"name": "sts", "template": TEMPLATE},
                version="v1alpha1",
            ),
            {"lws": 6, "sts": 1},
        ),
        (serving(), {"entry-prefill": 2, "entry-decode": 1, "worker-prefill": 6}),
        (serving(replicas=2), {"entry-prefill": 4, "entry-decode": 2, "worker-prefill": 12}),
        (disaggregated(), {"leader-decode": 2, "worker-prefill": 8, "worker-decode": 4}),
        (inference(), {"main": 1}),
        (inference(replicas=3, parallelism={"data": 16, "dataLocal": 8}), {"main": 3}),
        (inference(**WORKERS), {"main": 4}),
        (inference(parallelism={"pipeline": 3}, worker={}, prefill=WORKERS), {"main": 3, "prefill": 4}),
        (inference(parallelism={"data": 7, "dataLocal": 8}, worker={}), {"main": 1}),
        (graph(components=[component("Frontend"), component("decode", 2)]), {"Frontend": 1, "decode": 2}),
        (
            graph("v1alpha1", services={"Frontend": {}, "decode": {"replicas": 2, "extraPodSpec": {}}}),
            {"frontend": 1, "decode": 2},
        ),
        (graph("v1alpha1", services={"decode": {"scalingAdapter": {"enabled": False}}}), {"decode": 1}),
        (cliques(("prefill", 3), ("decode", 2)), {"prefill": 3, "decode": 2}),
        (cliques(("model", 2), replicas=3), {"model": 6}),
        (disaggregated(slices=2), {"leader-decode": 4, "worker-prefill": 16, "worker-decode": 8}),
    ],
)
def test_pods_are_those_that_the_controller_makes(value: dict[str, Any], pods: dict[str, int]) -> None:
    assert pods_of(read(value, BRIDGE).group) == pods
    assert rules_of(read(value, BRIDGE, requested=False)) == ["gang-on-request"]


GANG = "rbg.workloads.x-k8s.io/group-gang-scheduling"
DEPENDS = "rolebasedgroup.workloads.x-k8s.io/component-depends-on"
REFERS = {"name": "a", "standalonePattern": {"templateRef": {"name": "base"}}}


@pytest.mark.parametrize(
    ("value", "path", "told"),
    [
        (spark(dynamicAllocation={"enabled": True}), "dynamicAllocation/enabled", "an autoscaler"),
        (spark(sparkConf={"spark.dynamicAllocation.enabled": "true"}), "sparkConf/spark.dynamic", "an autoscaler"),
        (spark(sparkConf={"spark.executor.instances": "5"}), "sparkConf/spark.executor", "is in sparkConf"),
        (group(standalone("a", 2, podManagementPolicy="OrderedReady")), "podManagementPolicy", "one after the other"),
        (group(REFERS, roleTemplates=[{"name": "base", "template": TEMPLATE}]), "templateRef", "from spec.roleTempl"),
        (
            group({**LEADERS, "leaderWorkerPattern": {"templateRef": {"name": "b"}}}),
            "templateRef",
            "takes its pods from",
        ),
        (group(standalone("a", 2), podGroupPolicy={"kubeScheduling": {}}), "podGroupPolicy", "creates a PodGroup"),
        (inference(baseRefs=[{"name": "pd"}]), "baseRefs", "LLMInferenceServiceConfig"),
        (inference(scaling={"maxReplicas": 3}), "scaling", "an autoscaler"),
        (graph(grove="", components=[component("a")]), "enable-grove", "Grove creates its pods"),
        (graph(grove="yes", components=[component("a")]), "enable-grove", "Grove creates its pods"),
        (graph(components=[component("a", multinode={"nodeCount": 2})]), "multinode", "PodGroup of Volcano"),
        (graph(components=[component("a", scalingAdapter={})]), "components/0/scalingAdapter", "an autoscaler"),
        (graph("v1alpha1", services={"a": {"scalingAdapter": {"enabled": True}}}), "scalingAdapter", "an autoscaler"),
        (
            graph("v1alpha1", services={"a": {"multinode": {"nodeCount": 2}}}),
            "services/a/multinode",
            "PodGroup of Volcano",
        ),
        (
            cliques(podCliqueScalingGroups=[{"name": "a", "scaleConfig": {"maxReplicas": 3}}]),
            "podCliqueScalingGroups/0/scaleConfig",
            "an autoscaler",
        ),
        (
            cliques(cliques=[{"name": "a", "spec": {"autoScalingConfig": {"maxReplicas": 3}}}]),
            "autoScaling",
            "autoscaler",
        ),
        (serving(None), "schedulerName", "creates a PodGroup of Volcano"),
        (serving("volcano"), "schedulerName", "creates a PodGroup of Volcano"),
    ],
)
def test_what_has_no_gang_is_told_with_its_place(value: dict[str, Any], path: str, told: str) -> None:
    reading = read(value, BRIDGE)
    assert (reading.group, rules_of(reading)) == (None, ["kind-not-supported"])
    assert path in "/".join(map(str, reading.notes[0].path))
    assert told in reading.notes[0].message
    assert rules_of(read(value, BRIDGE, requested=False)) == ["kind-passed-over"]


def test_the_minimum_of_a_clique_is_that_of_each_replica_and_all_where_it_says_none() -> None:
    value = cliques(("prefill", 4), ("decode", 2), replicas=2)
    value["spec"]["template"]["cliques"][0]["spec"]["minAvailable"] = 3
    group = read(value, BRIDGE, min_count="MinReplicas").group
    assert group is not None
    assert {leaf.name: leaf.min_count for leaf in leaves(group)} == {"prefill": 6, "decode": 4}
    assert read(cliques(("a", 1), replicas=None), BRIDGE).group is None, "replicas are 0 by its definition"


def test_a_scaling_group_multiplies_the_cliques_that_it_names_and_its_first_replicas_start_the_gang() -> None:
    scaled = {"name": "a", "cliqueNames": ["prefill"], "replicas": 4, "minAvailable": 2}
    value = cliques(("prefill", 4), ("decode", 2), replicas=3, podCliqueScalingGroups=[scaled])
    group = read(value, BRIDGE).group
    assert group is not None
    prefill, decode = leaves(group)
    assert (prefill.pods, prefill.min_count, prefill.replicas) == (48, 24, 12)
    assert (decode.pods, decode.min_count, decode.replicas, decode.by) == (6, 6, 3, f"grove.io/podcliqueset-{INDEX}")
    sets = f"grove.io/podcliqueset-{INDEX}*4 + grove.io/podcliquescalinggroup-{INDEX}"
    assert prefill.by == f"({sets}) / 1"
    pods = f"grove.io/podcliqueset-{INDEX}*16 + grove.io/podcliquescalinggroup-{INDEX}*4 + grove.io/podclique-pod-index"
    assert prefill.number == pods


def list_groups(value: dict[str, Any], **options: Any) -> list[tuple[str, int, int | None, str]]:
    """The leaves with granularity Replica: name, how many groups, quorum, and what tells their pods apart."""
    group = read(value, BRIDGE, granularity="Replica", **options).group
    assert group is not None
    chosen = BRIDGE.gang._replace(granularity="Replica")
    return [(leaf.name, leaf.replicas, leaf.min_count, leaf.by) for leaf in leaves(shape(group, chosen).group)]


def test_a_replica_of_a_role_is_a_group_of_all_its_pods() -> None:
    """lws `pkg/controllers/disaggregatedset`: labels of both templates; rbg `injectIdentityLabelsIntoComponents`."""
    sets, slices = "leaderworkerset.sigs.k8s.io/group-index", "disaggregatedset.x-k8s.io/slice"
    assert list_groups(disaggregated()) == [("decode", 2, 3, sets), ("worker-prefill", 4, 2, sets)]
    both = f"({sets}*3 + {slices}) / 1"
    assert list_groups(disaggregated(slices=3)) == [("decode", 6, 3, both), ("worker-prefill", 12, 2, both)]
    instance = f"{RBG}-instance-index"
    router = standalone("router", 1)
    assert list_groups(group(LEADERS, COMPONENTS, router)) == [
        ("router", 1, 1, instance),
        ("prefill", 2, 4, instance),
        ("engine", 3, 3, instance),
    ]


@pytest.mark.parametrize(
    ("role", "version", "place"),
    [
        (
            {"annotations": {"rbg.workloads.x-k8s.io/role-instance-pattern": "Stateless"}},
            "v1alpha2",
            "annotations/rbg.workloads.x-k8s.io/role-instance-pattern",
        ),
        (
            {"annotations": {"rbg.workloads.x-k8s.io/role-workload-type": "apps/v1/Deployment"}},
            "v1alpha2",
            "annotations/rbg.workloads.x-k8s.io/role-workload-type",
        ),
        ({"template": TEMPLATE, "standalonePattern": None}, "v1alpha1", "template"),
    ],
)
def test_pods_without_the_number_of_their_instance_have_no_group_for_each(
    role: dict[str, Any], version: str, place: str
) -> None:
    value = group({**standalone("a", 3), **role}, version=version)
    reading = read(value, BRIDGE, granularity="Replica")
    assert (reading.group, rules_of(reading)) == (None, ["kind-not-supported"])
    assert "no label with the number of their instance" in reading.notes[0].message
    assert "/".join(map(str, reading.notes[0].path[3:])) == place
    assert pods_of(read(value, BRIDGE, granularity="Group").group) == {"a": 3}


def test_each_replica_of_a_set_of_cliques_is_a_gang_whose_scaling_groups_are_groups_below_it() -> None:
    scaled = {"name": "model", "cliqueNames": ["prefill", "decode"], "replicas": 4, "minAvailable": 2}
    value = cliques(("router", 1), ("prefill", 3), ("decode", 2), replicas=3, podCliqueScalingGroups=[scaled])
    whole = read(value, BRIDGE, granularity="Group").group
    assert whole is not None
    root = shape(whole, BRIDGE.gang).group
    assert isinstance(root, Composite)
    router, model = root.children
    assert (root.replicas, root.min_group_count, router.replicas) == (3, 2, 3)
    assert isinstance(model, Composite)
    (one,) = model.children
    assert isinstance(one, Composite)
    assert (model.replicas, model.min_group_count, one.replicas, one.min_group_count) == (3, 2, 12, 2)
    assert [(leaf.name, leaf.replicas, leaf.min_count) for leaf in leaves(one)] == [
        ("prefill", 12, 3),
        ("decode", 12, 2),
    ]
    value["spec"]["replicas"] = 1
    single = read(value, BRIDGE, granularity="Group").group
    assert single is not None
    assert all(leaf.by == "" for leaf in leaves(shape(single, BRIDGE.gang).group)), "one replica is one gang"


def test_nothing_is_wrong_with_gangs_of_replicas() -> None:
    scaled = {"name": "model", "cliqueNames": ["prefill", "decode"], "replicas": 4, "minAvailable": 2}
    value = cliques(("router", 1), ("prefill", 3), ("decode", 2), replicas=3, podCliqueScalingGroups=[scaled])
    value["metadata"]["annotations"] = {"krmfn.dev/gang": "true"}
    made, told = complete([Item.new(value)], BRIDGE)
    assert [result.severity for result in told if result.severity != "info"] == []
    found = find_all(made, BRIDGE, None, ("scheduler", "operator"), "apply")
    assert "groups-without-root" not in {finding.rule for finding in found}
    assert len(made) == 1 + 1 + 3 * (1 + 1 + 4) + 3 * (1 + 4 * 2), "Workload, composites and groups"


def test_annotations_and_their_keys_are_conditions() -> None:
    value = group(standalone("a", 2))
    value["metadata"]["annotations"] = {GANG: "true"}
    assert read(value, BRIDGE).group is None
    value["metadata"]["annotations"] = {GANG: "false"}
    assert pods_of(read(value, BRIDGE).group) == {"a": 2}
    components = [
        {**each, "annotations": {DEPENDS: "{}"}} for each in COMPONENTS["customComponentsPattern"]["components"]
    ]
    waiting = group({**COMPONENTS, "customComponentsPattern": {"components": components}})
    assert read(waiting, BRIDGE).group is None


def test_roles_with_dependencies_start_one_after_the_other() -> None:
    reading = read(group(standalone("a", 1), standalone("b", 3, dependencies=["a"])), BRIDGE, granularity="Group")
    assert rules_of(reading) == ["ordered-start"]
    assert pods_of(reading.group) == {"a": 1, "b": 3}


@pytest.mark.parametrize("value", [spark(), group(standalone("a", 2)), serving(), inference()])
def test_definitions_that_drop_the_link_need_the_bridge(value: dict[str, Any]) -> None:
    reading = read(value)
    assert reading.group is None
    assert "drops the link from pod templates" in reading.notes[0].message
    assert all(template.bridged for template in _templates(read(value, BRIDGE).group))


def _templates(tree: Any) -> list[Any]:
    return [template for leaf in leaves(tree) for template in leaf.templates]


def test_executors_take_their_annotations_from_their_entry() -> None:
    group = read(spark(executor={"instances": 2, "schedulerName": "mine", "priorityClassName": "high"}), BRIDGE).group
    (template,) = _templates(group)
    assert paths_of(group) == [("spec", "executor")]
    assert (template.metadata_path, template.spec_path) == (("spec", "executor"), ("spec", "executor"))
    assert (template.scheduler, template.priority_class) == ("mine", "high")


@pytest.mark.parametrize(
    ("project", "group", "kind"),
    [
        ("sparkOperator", "sparkoperator.k8s.io", "SparkApplication"),
        ("rbg", "workloads.x-k8s.io", "RoleBasedGroup"),
        ("kthena", "workload.serving.volcano.sh", "ModelServing"),
        ("kserve", "serving.kserve.io", "LLMInferenceService"),
        ("leaderWorkerSet", "disaggregatedset.x-k8s.io", "DisaggregatedSet"),
        ("grove", "grove.io", "PodCliqueSet"),
    ],
)
def test_the_definitions_have_the_paths_and_keep_what_links(project: str, group: str, kind: str) -> None:
    """Each field that a file names is in one version at least, the annotations that the bridge reads are kept, and the
    link is kept where a file says so."""
    newest = list(list_projects()[project]["versions"])[-1]
    (definition,) = (each for each in read_definitions(project, newest) if each["spec"]["names"]["kind"] == kind)
    check_paths(KINDS[group, kind], lambda path: find_versions(definition, path))


DYNAMO = KINDS["nvidia.com", "DynamoGraphDeployment"]
#: Which versions of its definition have a field, of Dynamo 1.5.0 (2a6da14c, deploy/operator/config/crd/bases). The
#: definition itself has 1.6 MB.
DYNAMO_FIELDS = ROOT / "conformance/data/dynamo.json"


def test_the_definition_of_dynamo_has_the_paths() -> None:
    known: dict[str, list[str]] = json.loads(DYNAMO_FIELDS.read_text())
    check_paths(DYNAMO, known.__getitem__)


@pytest.mark.skipif("KRMFN_DYNAMO" not in os.environ, reason="KRMFN_DYNAMO: a clone of ai-dynamo/dynamo")
def test_what_is_noted_of_the_definition_of_dynamo() -> None:
    folder = "deploy/operator/config/crd/bases"
    text = Path(os.environ["KRMFN_DYNAMO"], folder, "nvidia.com_dynamographdeployments.yaml").read_text()
    definition = yaml.load(text, yaml.CSafeLoader)
    found: dict[str, list[str]] = {}
    check_paths(DYNAMO, lambda path: found.setdefault(path, find_versions(definition, path)))
    assert json.loads(DYNAMO_FIELDS.read_text()) == found


def find_versions(definition: dict[str, Any], path: str) -> list[str]:
    """The versions of a definition that have a field."""
    versions = definition["spec"]["versions"]
    return [each["name"] for each in versions if keeps(each["schema"]["openAPIV3Schema"], path.split("."))]


def check_paths(row: KindRow, has: Callable[[str], list[str]]) -> None:
    """`has` says which versions have the field at a path."""
    conditions = [each.field for each in (*row.order, *row.excluded) if not each.field.startswith("metadata.")]
    paths = [".".join(path) for path in (row.managed_by, row.rival, row.owns, row.whole)]
    for field in (*conditions, *paths):
        assert not field or has(field), field
    for role in row.templates:
        assert has(role.path), role.path
        place = role.path if role.spec else f"{role.path}.metadata"
        assert role.aside or has(f"{place}.annotations"), place
        for factor in role.factors or ():
            for field in (factor.field, factor.over, factor.where, factor.less):
                assert not field or has(field), field
        if not role.spec and not role.aside:
            kept = bool(has(f"{role.path}.spec.schedulingGroup"))
            dropped = row.drops != ("", "") and not row.drops[0]  # by every version
            assert kept != dropped or role.path in TYPED, role.path


#: The definition keeps what its controller, which knows the types of Kubernetes 1.34, drops.
TYPED = {
    "spec.roles.*.customComponentsPattern.components.*.template",
    "spec.roles.*.components.*.template",
}


def keeps(schema: dict[str, Any], path: list[str]) -> bool:
    """Whether a schema has a field, or keeps any."""
    for step in path:
        known = schema.get("properties", {}) if step != "*" else {"*"}
        if schema.get("x-kubernetes-preserve-unknown-fields") and step not in known:
            return True
        below = schema.get("items") or schema.get("additionalProperties") if step == "*" else None
        below = (
            below
            or schema.get("properties", {}).get(step)
            or (None if step == "*" else schema.get("additionalProperties"))
        )
        if not isinstance(below, dict):
            return False
        schema = below
    return True


def test_nothing_is_wrong_with_gangs_of_replicas_that_are_asked_for() -> None:
    """Those of the fixture: LeaderWorkerSets, JobSets and Ray."""
    listed = yaml.safe_load((ROOT / "fixtures/accept/kinds/bridge-replicas.yaml").read_text())["items"]
    made, _ = complete([Item.new(value) for value in listed], BRIDGE)
    found = find_all(made, BRIDGE, None, ("scheduler", "operator"), "apply")
    assert len(made) > 2 * len(listed)
    assert "groups-without-root" not in {finding.rule for finding in found}
