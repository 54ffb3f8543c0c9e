"""Planted obstacles: a gang that would start, and one thing in its way. krmfn names it without asking a scheduler, and
on the control plane the gang never starts. The same gang without obstacle does."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from conformance.live.claims import Claim, Value, ask_json, spell_cluster, write_manifests
from conformance.live.gangs import make_node
from conformance.scheduler.cluster import clean, create, list_pods, wait_quiet
from conformance.scheduler.plane import Plane
from conformance.scheduler.pods import expand
from conformance.scheduler.verdicts import link_of

PLANTED: Final = "planted obstacles"
_HOST: Final = "kubernetes.io/hostname"


class Obstacle(NamedTuple):
    """What is changed of a Job of three pods with 2 CPUs each: `pod` is put into the spec of its pods, `box` into their
    container, `group` into the spec of its PodGroup, `stored` into the cluster, `more` beside the gang."""

    title: str
    pod: Mapping[str, Any] = {}
    box: Mapping[str, Any] = {}
    group: Mapping[str, Any] = {}
    stored: tuple[Value, ...] = ()
    more: tuple[Value, ...] = ()
    pods: int = 3


def _object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Value:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _quota(hard: Value, **spec: Any) -> Value:
    return _object("v1", "ResourceQuota", "quota", "ml", spec={"hard": hard, **spec})


def _limits(**limit: Any) -> Value:
    return _object("v1", "LimitRange", "limits", "ml", spec={"limits": [{"type": "Container", **limit}]})


def _class(name: str, value: int, **fields: Any) -> Value:
    return _object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def _runtime(**fields: Any) -> Value:
    return _object("node.k8s.io/v1", "RuntimeClass", "sandbox", handler="sandbox", **fields)


def _claim(name: str, volume: str, mode: str = "ReadWriteMany") -> Value:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": [mode], "resources": resources, "volumeName": volume, "storageClassName": ""}
    return _object("v1", "PersistentVolumeClaim", name, "ml", spec=spec)


def _volume(name: str, claim: str, mode: str = "ReadWriteMany", **spec: Any) -> Value:
    rest = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "hostPath": {"path": "/data"},
        "storageClassName": "",
    }
    return _object(
        "v1", "PersistentVolume", name, spec={**rest, "claimRef": {"name": claim, "namespace": "ml"}, **spec}
    )


def _mount(claim: str) -> Value:
    return {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}


def _affinity(kind: str, **term: Any) -> Value:
    labels = {"labelSelector": {"matchLabels": {"app": "g"}}, "topologyKey": _HOST}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [{**labels, **term}]}}}


def _node_affinity(**term: Any) -> Value:
    selector = {"nodeSelectorTerms": [term]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}}


def _tree(name: str, minimum: int, parent: str = "") -> Value:
    spec: Value = {
        "schedulingPolicy": {"gang": {"minGroupCount": minimum}},
        "workloadRef": {"workloadName": "g", "templateName": "t"},
    }
    spec |= {"parentCompositePodGroupName": parent} if parent else {}
    return _object("scheduling.k8s.io/v1alpha3", "CompositePodGroup", name, "ml", spec=spec)


def _own_volume(storage: str) -> Value:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage,
    }
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


def _storage(name: str) -> Value:
    return _object("storage.k8s.io/v1", "StorageClass", name, provisioner="disks.example.com")


def _devices(template: str) -> Value:
    return {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": template}]}


def _claim_template(name: str, device_class: str = "gpu") -> Value:
    request = {"name": "r", "exactly": {"deviceClassName": device_class, "count": 2}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return _object("resource.k8s.io/v1", "ResourceClaimTemplate", name, "ml", spec=spec)


def _device_class(**spec: Any) -> Value:
    return _object("resource.k8s.io/v1", "DeviceClass", "gpu", spec=spec)


def _slice(devices: int, node: str = "n1") -> Value:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    named = [{"name": f"gpu-{number}"} for number in range(devices)]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": named}
    return _object("resource.k8s.io/v1", "ResourceSlice", node, spec=spec)


_CHILD: Final = {"parentCompositePodGroupName": "root", "workloadRef": {"workloadName": "g", "templateName": "g"}}
_GPU: Final = {"nvidia.com/gpu": "2"}

#: The cluster: n1 and n2 with 8 CPUs in rack r1; n3 with 16 CPUs and 8 GPUs in rack r2, which only those who tolerate
#: `gpu` may use; n4, large and cordoned.
OBSTACLES: Final = (
    Obstacle("quota on limits.memory, pods without limits", stored=(_quota({"limits.memory": "1Ti"}),)),
    Obstacle("quota on requests.cpu below the gang", stored=(_quota({"requests.cpu": "5"}),)),
    Obstacle("quota on pods below the gang", stored=(_quota({"pods": "2"}),)),
    Obstacle(
        "quota of the gang's priority class below the gang",
        {"priorityClassName": "high"},
        group={"priorityClassName": "high"},
        stored=(
            _class("high", 10),
            _quota(
                {"cpu": "4"},
                scopeSelector={
                    "matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]
                },
            ),
        ),
    ),
    Obstacle("LimitRange with a maximum below the requests", stored=(_limits(max={"cpu": "1"}),)),
    Obstacle("LimitRange with a minimum above the requests", stored=(_limits(min={"cpu": "3"}),)),
    Obstacle(
        "LimitRange with a ratio that the pods exceed",
        box={"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}},
        stored=(_limits(maxLimitRequestRatio={"cpu": "2"}),),
    ),
    Obstacle("preemptionPolicy in pods without a class", {"preemptionPolicy": "Never"}),
    Obstacle("a class that does not exist", {"priorityClassName": "nowhere"}),
    Obstacle("pods of another class than the group", {"priorityClassName": "high"}, stored=(_class("high", 10),)),
    Obstacle("a runtime class that does not exist", {"runtimeClassName": "nowhere"}, stored=(_runtime(),)),
    Obstacle(
        "overhead of the runtime class",
        {"runtimeClassName": "sandbox"},
        stored=(_runtime(overhead={"podFixed": {"cpu": "7"}}),),
    ),
    Obstacle(
        "nodes of the runtime class",
        {"runtimeClassName": "sandbox"},
        stored=(_runtime(scheduling={"nodeSelector": {"sandbox": "yes"}}),),
    ),
    Obstacle("a claim that does not exist", _mount("nowhere"), stored=(_claim("other", "pv"), _volume("pv", "other"))),
    Obstacle(
        "a volume on a node that is too small",
        _mount("data"),
        stored=(
            _claim("data", "pv"),
            _volume(
                "pv",
                "data",
                nodeAffinity={
                    "required": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["x"]}]}
                        ]
                    }
                },
            ),
        ),
    ),
    Obstacle(
        "a claim for one pod, used by three",
        _mount("data"),
        stored=(_claim("data", "pv", "ReadWriteOncePod"), _volume("pv", "data", "ReadWriteOncePod")),
    ),
    Obstacle("one host port, fewer nodes than pods", box={"ports": [{"containerPort": 80, "hostPort": 80}]}),
    Obstacle("one pod a node, fewer nodes than pods", _affinity("podAntiAffinity")),
    Obstacle(
        "near pods that do not exist", _affinity("podAffinity", labelSelector={"matchLabels": {"app": "nowhere"}})
    ),
    Obstacle("near each other by a label that no node has", _affinity("podAffinity", topologyKey="row")),
    Obstacle(
        "spread over more hosts than there are",
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "minDomains": 9,
                    "topologyKey": _HOST,
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "g"}},
                }
            ]
        },
    ),
    Obstacle(
        "spread by a label that no node has",
        {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "row",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": {"matchLabels": {"app": "g"}},
                }
            ]
        },
    ),
    Obstacle("a selector that no node has", {"nodeSelector": {"rak": "r1"}}),
    Obstacle(
        "a number that no node exceeds",
        _node_affinity(matchExpressions=[{"key": "generation", "operator": "Gt", "values": ["4"]}]),
    ),
    Obstacle(
        "a node that does not exist",
        _node_affinity(matchFields=[{"key": "metadata.name", "operator": "In", "values": ["n9"]}]),
    ),
    Obstacle("the only GPUs behind a taint", box={"resources": {"limits": _GPU}}),
    Obstacle("the only node large enough is cordoned", box={"resources": {"requests": {"cpu": "20"}}}),
    Obstacle("a resource that is spelled wrong", box={"resources": {"limits": {"nvidia.com/gpus": "1"}}}),
    Obstacle("huge pages", box={"resources": {"limits": {"hugepages-2Mi": "64Mi", "memory": "64Mi", "cpu": "1"}}}),
    Obstacle("more disk than a node has", box={"resources": {"requests": {"ephemeral-storage": "1Ti"}}}),
    Obstacle(
        "an init container larger than every node",
        {"initContainers": [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "9"}}}]},
    ),
    Obstacle(
        "a sidecar beside the containers",
        {
            "initContainers": [
                {"name": "i", "image": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "7"}}}
            ]
        },
    ),
    Obstacle("resources of the whole pod", {"resources": {"requests": {"cpu": "9"}}}),
    Obstacle("more pods than there are", group={"schedulingPolicy": {"gang": {"minCount": 4}}}),
    Obstacle("a topology key that no node has", group={"schedulingConstraints": {"topology": [{"key": "row"}]}}),
    Obstacle("no rack large enough", group={"schedulingConstraints": {"topology": [{"key": "rack"}]}}, pods=9),
    Obstacle("no node large enough", group={"schedulingConstraints": {"topology": [{"key": _HOST}]}}, pods=5),
    Obstacle("all nodes together too small", pods=9),
    Obstacle("another scheduler", {"schedulerName": "other"}),
    Obstacle("a link to a group that does not exist", {"schedulingGroup": {"podGroupName": "other"}}),
    Obstacle("a parent that does not exist", group=_CHILD),
    Obstacle("more children than there are", group=_CHILD, more=(_tree("root", 2),)),
    Obstacle("parents in a circle", group=_CHILD, more=(_tree("root", 1, "above"), _tree("above", 1, "root"))),
    Obstacle(
        "a sibling that never starts",
        group=_CHILD,
        more=(
            _tree("root", 2),
            _object(
                "scheduling.k8s.io/v1beta1",
                "PodGroup",
                "sibling",
                "ml",
                spec={"schedulingPolicy": {"gang": {"minCount": 1}}, **_CHILD},
            ),
        ),
    ),
    Obstacle(
        "a claim of a pod's own, of a class that does not exist",
        _own_volume("nowhere"),
        stored=(_claim("other", "pv"), _volume("pv", "other"), _storage("fast")),
    ),
    Obstacle(
        "a quota on claims below the gang", _own_volume("fast"), stored=(_quota({"persistentvolumeclaims": "2"}),)
    ),
    Obstacle(
        "a LimitRange with a maximum below the claims",
        _own_volume("fast"),
        stored=(
            _object(
                "v1",
                "LimitRange",
                "limits",
                "ml",
                spec={"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Mi"}}]},
            ),
        ),
    ),
    Obstacle("a priority by hand", {"priority": 100}),
    Obstacle(
        "claims from a template that does not exist",
        _devices("nowhere"),
        stored=(_claim_template("two"), _device_class(), _slice(8)),
    ),
    Obstacle(
        "a class of devices that does not exist",
        _devices("two"),
        stored=(_claim_template("two", "nowhere"), _device_class(), _slice(8)),
    ),
    Obstacle(
        "fewer devices than the gang needs",
        _devices("two"),
        stored=(_claim_template("two"), _device_class(), _slice(5)),
    ),
    Obstacle(
        "a claim of a device that does not exist",
        {"resourceClaims": [{"name": "d", "resourceClaimName": "nowhere"}]},
        stored=(_object("resource.k8s.io/v1", "ResourceClaim", "other", "ml", spec={"devices": {}}),),
    ),
)
_LARGE: Final = {"resources": {"limits": {"example.com/gpu": "1"}}}
#: Gangs without an obstacle.
CLEAR: Final = (
    Obstacle("nothing"),
    Obstacle(
        "as many devices as the gang needs",
        _devices("two"),
        stored=(_claim_template("two"), _device_class(), _slice(6)),
    ),
    Obstacle(
        "a resource that devices of a class stand for",
        box=_LARGE,
        stored=(_device_class(extendedResourceName="example.com/gpu"), _slice(3)),
    ),
)


def make_nodes() -> list[Value]:
    """The cluster."""
    rows: tuple[tuple[str, Value, Value, Value], ...] = (
        ("n1", {"rack": "r1", "generation": "3"}, {"cpu": "8"}, {}),
        ("n2", {"rack": "r1", "generation": "4"}, {"cpu": "8"}, {}),
        (
            "n3",
            {"rack": "r2"},
            {"cpu": "16", "nvidia.com/gpu": "8"},
            {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        ),
        ("n4", {"rack": "r2", "disk": "x"}, {"cpu": "32"}, {"unschedulable": True}),
    )
    more = {"memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    return [make_node(name, labels, {**more, **amounts}, spec) for name, labels, amounts, spec in rows]


def make_gang(obstacle: Obstacle) -> list[Value]:
    """The manifests of the gang, with the obstacle in its way."""
    box = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "2"}}, **obstacle.box}
    link = {"schedulingGroup": {"podGroupName": "g"}}
    spec = {"restartPolicy": "Never", "containers": [box], **link, **obstacle.pod}
    template = {"metadata": {"labels": {"app": "g"}}, "spec": spec}
    job = {"parallelism": obstacle.pods, "completions": obstacle.pods, "template": template}
    group = {"schedulingPolicy": {"gang": {"minCount": obstacle.pods}}, **obstacle.group}
    return copy.deepcopy(
        [
            _object("scheduling.k8s.io/v1beta1", "PodGroup", "g", "ml", spec=group),
            *obstacle.more,
            _object("batch/v1", "Job", "g", "ml", spec=job),
        ]
    )


def ask(obstacle: Obstacle, *words: str) -> Value:
    """What `krmfn fit` proves about the gang. Raises RuntimeError when it has no answer."""
    with TemporaryDirectory() as folder:
        listed = sorted({value["kind"] for value in obstacle.stored} | {"Node", "Pod", "PriorityClass"})
        spec = {"items": [*make_nodes(), *obstacle.stored], "listed": listed, "schedulers": ["default-scheduler"]}
        facts = _object("krmfn.dev/v1alpha1", "ClusterFacts", "cluster", spec=spec)
        cluster = Path(folder, "cluster.json")
        cluster.write_text(json.dumps(facts))
        manifests = write_manifests(Path(folder, "gang.yaml"), make_gang(obstacle))
        answer = ask_json("fit", "--as-is", "--prove", manifests, "--cluster", str(cluster), *words)
    found: Value = answer["gangs"][0]
    return found


def prove_obstacles(plane: Plane) -> Iterator[Claim]:
    """Each obstacle by itself, and the gangs without any."""
    for obstacle in (*CLEAR, *OBSTACLES):
        clean(plane, plane.applied)
        values = make_gang(obstacle)
        plane.applied = [*obstacle.stored, *(value for value in values if value["kind"] != "Job")]
        told = ask(obstacle, *spell_cluster(plane))
        create(plane, [*make_nodes(), *obstacle.stored])
        groups = [value for value in values if value["kind"] != "Job"]
        refused = create(plane, [*groups, *(pod for value in values for pod in expand(value))])
        wait_quiet(plane, 2)
        pods = [pod for pod in list_pods(plane) if link_of(pod)]
        bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
        words = next((text.partition(": ")[2] for text in refused.values()), "")
        seen = f"{bound} of {obstacle.pods} pods run{f'; refused: {words[:120]}' if words else ''}"
        rule = f" ({told['rule']})" if told.get("rule") else ""
        never = told["verdict"] == "never"
        kept = (bound == obstacle.pods and not never) if obstacle in CLEAR else (bound == 0 and never)
        yield Claim(PLANTED, obstacle.title, f"{told['verdict']}{rule}", seen, kept)
