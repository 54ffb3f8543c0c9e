"""What stands in the way of a gang that would start, and gangs without obstacle: tables. planting.py asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from conformance.live.claims import Value

_HOST: Final = "kubernetes.io/hostname"


class Obstacle(NamedTuple):
    """What is changed of a Job of three pods with 2 CPUs each: `pod` is put into the spec of its pods, `box` into their
    container, `group` into the spec of its PodGroup, `stored` into the cluster, `more` beside the gang; `link` is the
    group that the pods name, `labels` are those of its namespace. A release that lacks the feature `needs`, or has
    `unless`, does not know the obstacle."""

    title: str
    pod: Mapping[str, Any] = {}
    box: Mapping[str, Any] = {}
    group: Mapping[str, Any] = {}
    stored: tuple[Value, ...] = ()
    more: tuple[Value, ...] = ()
    pods: int = 3
    link: str = "g"
    labels: Mapping[str, str] = {}
    needs: str = "gang-scheduling"
    unless: str = ""


def make_object(api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> Value:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


def _quota(hard: Value, **spec: Any) -> Value:
    return make_object("v1", "ResourceQuota", "quota", "ml", spec={"hard": hard, **spec})


def _limits(**limit: Any) -> Value:
    return make_object("v1", "LimitRange", "limits", "ml", spec={"limits": [{"type": "Container"} | limit]})


def _class(name: str, value: int, **fields: Any) -> Value:
    return make_object("scheduling.k8s.io/v1", "PriorityClass", name, value=value, **fields)


def _runtime(**fields: Any) -> Value:
    return make_object("node.k8s.io/v1", "RuntimeClass", "sandbox", handler="sandbox", **fields)


def _claim(name: str, volume: str, mode: str = "ReadWriteMany") -> Value:
    resources = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": [mode], "resources": resources, "volumeName": volume, "storageClassName": ""}
    return make_object("v1", "PersistentVolumeClaim", name, "ml", spec=spec)


def _volume(name: str, claim: str, mode: str = "ReadWriteMany", **spec: Any) -> Value:
    rest = {
        "capacity": {"storage": "1Gi"},
        "accessModes": [mode],
        "hostPath": {"path": "/data"},
        "storageClassName": "",
    }
    return make_object(
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
    return make_object("scheduling.k8s.io/v1alpha3", "CompositePodGroup", name, "ml", spec=spec)


def _own_volume(storage: str) -> Value:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": storage,
    }
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


def _storage(name: str) -> Value:
    return make_object("storage.k8s.io/v1", "StorageClass", name, provisioner="disks.example.com")


def _devices(template: str) -> Value:
    return {"resourceClaims": [{"name": "d", "resourceClaimTemplateName": template}]}


def _claim_template(name: str, device_class: str = "gpu") -> Value:
    request = {"name": "r", "exactly": {"deviceClassName": device_class, "count": 2}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    return make_object("resource.k8s.io/v1", "ResourceClaimTemplate", name, "ml", spec=spec)


def _device_class(**spec: Any) -> Value:
    return make_object("resource.k8s.io/v1", "DeviceClass", "gpu", spec=spec)


def _slice(devices: int, node: str = "n1") -> Value:
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    named = [{"name": f"gpu-{number}"} for number in range(devices)]
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": named}
    return make_object("resource.k8s.io/v1", "ResourceSlice", node, spec=spec)


def _enforce(level: str) -> Mapping[str, str]:
    return {"pod-security.kubernetes.io/enforce": level}


def _within(key: str) -> Value:
    return {"schedulingConstraints": {"topology": [{"key": key}]}}


_TREES: Final = "composite-groups"
_CHILD: Final = {"parentCompositePodGroupName": "root", "workloadRef": {"workloadName": "g", "templateName": "g"}}
_FOUR: Final = {"key": "generation", "operator": "In", "values": ["4"]}
_GPU: Final = {"nvidia.com/gpu": "2"}

#: The cluster: n1 and n2 with 8 CPUs in rack r1; n3 with 16 CPUs and 8 GPUs in rack r2, which only those who tolerate
#: `gpu` may use; n4, large and cordoned.
OBSTACLES: Final = (
    Obstacle("a namespace that enforces restricted pods", labels=_enforce("restricted")),
    Obstacle("a namespace that enforces baseline pods", {"hostNetwork": True}, labels=_enforce("baseline")),
    Obstacle("quota on limits.memory, pods without limits", stored=(_quota({"limits.memory": "1Ti"}),)),
    Obstacle("quota on requests.cpu below the gang", stored=(_quota({"requests.cpu": "5"}),)),
    Obstacle("quota on pods below the gang", stored=(_quota({"pods": "2"}),)),
    Obstacle(
        "quota on GPUs below the gang",
        {"tolerations": [{"operator": "Exists"}]},
        {"resources": {"limits": {"nvidia.com/gpu": "1"}}},
        stored=(_quota({"requests.nvidia.com/gpu": "2"}),),
    ),
    Obstacle(
        "quota on pods without requests",
        box={"resources": {}},
        stored=(_quota({"pods": "2"}, scopes=["BestEffort"]),),
    ),
    Obstacle(
        "quota on pods that end", {"activeDeadlineSeconds": 60}, stored=(_quota({"pods": "2"}, scopes=["Terminating"]),)
    ),
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
    Obstacle(
        "LimitRange with defaults that no node has",
        box={"resources": {}},
        stored=(_limits(default={"cpu": "9"}, defaultRequest={"cpu": "9"}),),
    ),
    Obstacle(
        "LimitRange with a maximum for whole pods",
        box={"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "2"}}},
        stored=(_limits(type="Pod", max={"cpu": "1"}),),
    ),
    Obstacle("LimitRange with a minimum above the requests", stored=(_limits(min={"cpu": "3"}),)),
    Obstacle(
        "LimitRange with a ratio that the pods exceed",
        box={"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "4"}}},
        stored=(_limits(maxLimitRequestRatio={"cpu": "2"}),),
    ),
    Obstacle("preemptionPolicy in pods without a class", {"preemptionPolicy": "Never"}),
    Obstacle("a class that does not exist", {"priorityClassName": "nowhere"}),
    Obstacle(
        "pods of another class than the group",
        {"priorityClassName": "high"},
        stored=(_class("high", 10),),
        needs="one-priority",
    ),
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
        "a claim that no volume is for",
        _mount("data"),
        stored=(_claim("data", ""), _volume("pv", "other"), _storage("fast")),
    ),
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
        unless="stale-gang-snapshot",
    ),
    Obstacle("one host port, fewer nodes than pods", box={"ports": [{"containerPort": 80, "hostPort": 80}]}),
    Obstacle("the host's network, fewer nodes than pods", {"hostNetwork": True}, {"ports": [{"containerPort": 80}]}),
    Obstacle("one pod a rack, fewer racks than pods", _affinity("podAntiAffinity", topologyKey="rack")),
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
    Obstacle(
        "a selector against the affinity",
        {"nodeSelector": {"generation": "3"}, **_node_affinity(matchExpressions=[_FOUR])},
    ),
    Obstacle("more memory than a node has", box={"resources": {"requests": {"memory": "65Gi"}}}),
    Obstacle(
        "a taint of another effect tolerated",
        {"tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}]},
        {"resources": {"limits": _GPU}},
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
    Obstacle("a topology key that no node has", group=_within("row"), needs="topology-keys"),
    Obstacle("no rack large enough", group=_within("rack"), pods=9, needs="topology-keys"),
    Obstacle("no node large enough", group=_within(_HOST), pods=5, needs="topology-keys"),
    Obstacle("all nodes together too small", pods=9),
    Obstacle("another scheduler", {"schedulerName": "other"}),
    Obstacle("a link to a group that does not exist", link="other"),
    Obstacle("a parent that does not exist", group=_CHILD, needs=_TREES),
    Obstacle("more children than there are", group=_CHILD, more=(_tree("root", 2),), needs=_TREES),
    Obstacle(
        "parents in a circle", group=_CHILD, more=(_tree("root", 1, "above"), _tree("above", 1, "root")), needs=_TREES
    ),
    Obstacle(
        "a sibling that never starts",
        group=_CHILD,
        more=(
            _tree("root", 2),
            make_object(
                "scheduling.k8s.io/v1beta1",
                "PodGroup",
                "sibling",
                "ml",
                spec={"schedulingPolicy": {"gang": {"minCount": 1}}, **_CHILD},
            ),
        ),
        needs=_TREES,
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
            make_object(
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
        stored=(make_object("resource.k8s.io/v1", "ResourceClaim", "other", "ml", spec={"devices": {}}),),
    ),
)
_LARGE: Final = {"resources": {"limits": {"example.com/gpu": "1"}}}
#: Gangs without an obstacle.
CLEAR: Final = (
    Obstacle("nothing"),
    Obstacle(
        "a namespace that enforces restricted pods, which these are",
        {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}},
        {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}},
        labels=_enforce("restricted"),
    ),
    Obstacle(
        "a namespace that enforces baseline pods, which these are",
        box={"securityContext": {"capabilities": {"add": ["CHOWN"]}}},
        labels=_enforce("baseline"),
    ),
    Obstacle(
        "as many devices as the gang needs",
        _devices("two"),
        stored=(_claim_template("two"), _device_class(), _slice(6)),
    ),
    Obstacle(
        "a resource that devices of a class provide",
        box=_LARGE,
        stored=(_device_class(extendedResourceName="example.com/gpu"), _slice(3)),
        needs="pod-groups",  # these releases have it on
    ),
)
