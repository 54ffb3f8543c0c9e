"""A dump of a cluster shrunk to what is read of it: equal nodes counted, everything private dropped.

What goes in and what comes out have the shape of `spec.cluster`, and say the same to every rule. Of pods stay names,
labels, owners, links, node, requests and what keeps others away; commands, environments, images, addresses and
annotations do not. Of the containers of training runtimes, all stays but what they run and the values in their
environment. Pods and nodes are cut while a dump is read: a large one has 150,000 pods, of which nearly all are alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from krmfn.model.quantity import add, format_quantity
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text, dig, group_by, key_of, name_of, pick
from krmfn.releases import schemastore
from krmfn.releases.spelling import LINK_FIELDS
from krmfn.survey.control_plane import (
    is_program,
    keep_configuration,
    list_hosts,
    merge_gates,
    read_node_groups,
    read_programs,
)
from krmfn.survey.control_plane import shrink as shrink_workloads
from krmfn.survey.facts import Amounts, is_daemon, list_running, read_resources

CONTAINERS = ("containers", "initContainers")
#: Fields of a pod's spec that the scheduler reads of a pod that runs, and of one that waits.
_POD = (
    *("nodeName", "schedulerName", "priorityClassName", *sorted(LINK_FIELDS), "affinity", "resources"),
    *("runtimeClassName", "overhead", "schedulingGates", "nodeSelector", "tolerations", "topologySpreadConstraints"),
    *("resourceClaims", "preemptionPolicy", "restartPolicy"),
)
#: What the server gives every pod, and what a pod without it gets.
_DEFAULTS: Value = {
    "schedulerName": "default-scheduler",
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
}


class Cutter:
    """Cuts objects, each once; what is equal in several pods is held once."""

    def __init__(self) -> None:
        self._held: Fields = {}
        #: What was cut, by identity.
        self._cut: dict[int, Any] = {}

    def __call__(self, value: Any) -> Any:
        """An object as it is, of a pod or node only what is read of it. A pod of the control plane says in its flags
        what is on: it stays whole."""
        kind = value.get("kind") if isinstance(value, dict) and "metadata" in value else ""
        if kind == "Node":
            return _cut_node(value)
        return value if kind != "Pod" or is_program(value) else self.cut_pod(value)

    def cut_pod(self, pod: Value) -> Value:
        """Of a pod what the scheduler reads of it, and who it is."""
        if id(pod) in self._cut:
            return pod
        cut = _cut_pod(pod)
        for part in (cut["metadata"], cut["spec"]):
            for key, value in part.items():
                if isinstance(value, dict | list):
                    part[key] = self._held.setdefault(repr(value), value)
        self._cut[id(cut)] = cut
        return cut


def _cut_node(node: Value) -> Value:
    return {
        **{key: entry for key, entry in node.items() if key not in ("metadata", "spec", "status")},
        "metadata": {"name": name_of(node), "labels": dict(as_mapping(node, "metadata", "labels"))},
        "spec": pick(node.get("spec"), ("taints", "unschedulable")),
        "status": {"allocatable": dig(node, "status", "allocatable")},
    }


def _cut_pod(pod: Value) -> Fields:
    spec = as_mapping(pod, "spec")
    space, name = key_of(pod)
    metadata: Fields = {"name": name, "namespace": space}
    if labels := as_mapping(pod, "metadata", "labels"):
        metadata["labels"] = labels
    if references := as_list(pod, "metadata", "ownerReferences"):
        metadata["ownerReferences"] = [pick(each, ("apiVersion", "kind", "name", "controller")) for each in references]
    kept = {key: spec[key] for key in _POD if key in spec and spec[key] != _DEFAULTS.get(key)}
    for field in CONTAINERS:
        boxes = [_cut_container(as_mapping(box)) for box in as_list(spec.get(field))]
        kept |= {field: boxes} if boxes else {}
    claimed = ("persistentVolumeClaim", "ephemeral")
    volumes = [pick(each, ("name", *claimed)) for each in as_list(spec, "volumes") if pick(each, claimed)]
    kept |= {"volumes": volumes} if volumes else {}
    shrunk: Fields = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": kept}
    phase = dig(pod, "status", "phase")
    return shrunk | ({"status": {"phase": phase}} if phase else {})


def list_ports(box: Value) -> list[Value]:
    """The ports that a container takes of its node."""
    kept = ("containerPort", "hostPort", "hostIP", "protocol")
    return [pick(port, kept) for port in as_list(box, "ports") if "hostPort" in as_mapping(port)]


def _cut_container(box: Value) -> Value:
    ports = list_ports(box)
    kept = {key: box[key] for key in ("name", "resources", "restartPolicy") if box.get(key)}
    return {**kept, "ports": ports} if ports else kept


#: Labels that have a value of its own on every node: pods do not ask for it.
_PRIVATE = ("instance-id", "node-id", "provider-id", "machine", "kubernetes.io/hostname")
_PROGRAM = ("command", "args", "image", "lifecycle")
_FIELDS = (
    *("provisioner", "volumeBindingMode", "allowedTopologies", "handler", "overhead", "scheduling", "value", "spec"),
)


def condense(cluster: Value, pods: bool = True, cutter: Cutter | None = None) -> Fields:
    """The facts of a dump. Without `pods`, those that run are left out: the cluster as if it were empty, but for
    DaemonSets. `cutter` is the one that has cut what is in it."""
    cutter = cutter or Cutter()
    by_kind = group_by(lambda item: as_text(item, "kind"), map(as_mapping, as_list(cluster, "items")))
    every = by_kind.get("Pod", [])
    running = [pod for pod in every if dig(pod, "status", "phase") not in ("Succeeded", "Failed")]
    kept = [pod for pod in running if not is_daemon(pod) and (pods or not dig(pod, "spec", "nodeName"))]
    workloads = by_kind.get("Workload", ()) if pods else ()
    found = {key: value for key, value in cluster.items() if key not in ("items", "metadata")}
    programs = list(read_programs(every))
    gates = merge_gates(programs, as_mapping(cluster, "featureGates"))
    plugins = {name for program in programs for name in program.plugins}
    if gates:
        found["featureGates"] = gates
    scaled = list(read_node_groups(every))
    if scaled:
        found["nodePools"] = [*scaled, *as_list(cluster, "nodePools")]
    if plugins:
        found["admissionPlugins"] = sorted({*plugins, *map(str, as_list(cluster, "admissionPlugins"))})
    if "PriorityClass" in by_kind:
        found["priorityClasses"] = {
            **{name_of(item): _shrink_class(item) for item in by_kind["PriorityClass"]},
            **as_mapping(cluster, "priorityClasses"),
        }
    if "Node" in by_kind:
        used = {as_text(pod, "spec", "nodeName") for pod in kept}
        used.update(*map(list_hosts, workloads))
        found["nodes"] = [*_count_nodes(by_kind["Node"], running, used), *as_list(cluster, "nodes")]
    if "PodGroup" in by_kind:
        groups = [group for group in by_kind["PodGroup"] if as_text(group, "apiVersion").startswith("scheduling.k8s")]
        found["podGroups"] = ["/".join(key_of(group)) for group in groups]
    kinds = {kind: row for kind, row in schemastore.load("cluster.json")["kinds"].items() if "keeps" in row}
    shrunk = [
        *(_shrink(item, row, pods) for kind, row in kinds.items() for item in by_kind.get(kind, ())),
        *(_shrink_schema(item) for item in by_kind.get("CustomResourceDefinition", ())),
        *shrink_workloads((*by_kind.get("Deployment", ()), *workloads), cutter.cut_pod),
        *map(cutter.cut_pod, kept),
    ]
    if shrunk:
        found["items"] = shrunk
    listed = {kind for kind in by_kind if kind in kinds or (kind == "Pod" and pods)}
    if listed:
        found["listed"] = sorted({*listed, *map(str, as_list(cluster, "listed"))})
    return found


def _shrink_class(item: Value) -> Any:
    policy, value = as_text(item, "preemptionPolicy"), item.get("value") or 0
    more: Fields = {"preemptionPolicy": policy} if policy not in ("", "PreemptLowerPriority") else {}
    more |= {"globalDefault": True} if item.get("globalDefault") is True else {}
    return {"value": value, **more} if more else value


def _count_nodes(nodes: Iterable[Value], pods: Iterable[Value], used: set[str]) -> list[Fields]:
    """The nodes; those that are alike, and on which no pod is that stays in the facts, as one with their number."""
    taken: dict[str, Amounts] = defaultdict(dict)
    ports: dict[str, list[Value]] = defaultdict(list)
    for pod in filter(is_daemon, pods):
        host = as_text(pod, "spec", "nodeName")
        add(taken[host], {"pods": 10**9})
        for box in list_running(as_mapping(pod, "spec")):
            ports[host] += list_ports(as_mapping(box))
            add(taken[host], read_resources(dig(box, "resources", "requests")))
    found: list[Fields] = []
    places: dict[str, Fields] = {}
    for node in nodes:
        name, given = name_of(node), as_mapping(node, "metadata", "labels").items()
        parts = {
            "labels": {key: value for key, value in given if value != name and not key.endswith(_PRIVATE)},
            "allocatable": dict(as_mapping(node, "status", "allocatable")),
            "taints": [pick(taint, ("key", "value", "effect")) for taint in as_list(node, "spec", "taints")],
            "unschedulable": dig(node, "spec", "unschedulable") is True,
            "used": {key: format_quantity(amount) for key, amount in taken[name].items() if amount},
            "ports": sorted(ports[name], key=repr),
        }
        entry = {"name": name, **{key: part for key, part in parts.items() if part or key == "allocatable"}}
        alike = repr(parts)
        if name not in used and alike in places:
            places[alike]["count"] = places[alike].get("count", 1) + 1
            continue
        if name not in used:
            places[alike] = entry
        found.append(entry)
    return found


def _shrink(item: Value, row: Value, pods: bool) -> Value:
    names = ("name", "namespace", "deletionTimestamp")
    metadata: Fields = {key: text for key in names if (text := as_text(item, "metadata", key))}
    metadata |= {key: said for key in row.get("metadata", ()) if (said := dig(item, "metadata", key))}
    marks = as_mapping(item, "metadata", "annotations") if item.get("kind") == "StorageClass" else {}
    if marks:
        metadata["annotations"] = {key: value for key, value in marks.items() if key.endswith("/is-default-class")}
    shrunk = {"apiVersion": as_text(item, "apiVersion"), "kind": item.get("kind"), "metadata": metadata}
    if row["keeps"] != "names":
        shrunk |= {key: _drop_private(item[key]) for key in _FIELDS if key in item}
    if item.get("kind") == "ResourceQuota" and pods and dig(item, "status", "used"):
        shrunk["status"] = {"used": dig(item, "status", "used")}
    if row["keeps"] == "state" and "status" in item:
        shrunk["status"] = item["status"]
    if item.get("kind") in ("ConfigMap", "Secret"):
        held = (key for field in ("data", "binaryData") for key in as_mapping(item.get(field)))
        shrunk["data"] = {**dict.fromkeys(held, ""), **keep_configuration(item)}
    if "spec" in row:
        shrunk["spec"] = pick(item.get("spec"), row["spec"])
    return shrunk


def _drop_private(value: Any, name: str = "") -> Any:
    """The same without what containers run, and without the values in their environment."""
    if isinstance(value, Mapping):
        kept = {key: _drop_private(child, key) for key, child in value.items()}
        if name in CONTAINERS:
            kept = {key: child for key, child in kept.items() if key not in _PROGRAM}
        return kept
    if isinstance(value, list):
        if name == "env":  # a name says nothing that a reference does not
            sources = [as_mapping(entry, "valueFrom") for entry in value]
            return [{"valueFrom": {k: v for k, v in each.items() if isinstance(v, dict)}} for each in sources if each]
        return [_drop_private(child, name) for child in value]
    return value


def _shrink_schema(crd: Value) -> Value:
    """A CRD with those parts of its schemas that lead to the fields that link pods to groups."""
    versions = [
        {
            "name": dig(version, "name"),
            "schema": {"openAPIV3Schema": _prune(dig(version, "schema", "openAPIV3Schema")) or {}},
        }
        for version in as_list(crd, "spec", "versions")
    ]
    names = {"kind": dig(crd, "spec", "names", "kind")}
    spec = {"group": dig(crd, "spec", "group"), "names": names, "versions": versions}
    return {**pick(crd, ("apiVersion", "kind")), "metadata": {"name": name_of(crd)}, "spec": spec}


def _prune(node: object) -> Fields:
    """A schema without the properties that do not lead to a link, or to what is kept unread."""
    if dig(node, "x-kubernetes-preserve-unknown-fields") is True:
        return {"x-kubernetes-preserve-unknown-fields": True}
    pruned = {}
    properties = {
        name: {"type": "object"} if name in LINK_FIELDS else _prune(below)
        for name, below in as_mapping(node, "properties").items()
    }
    properties = {name: below for name, below in properties.items() if below}
    if properties:
        pruned["properties"] = properties
    for field in ("items", "additionalProperties"):
        below = dig(node, field)
        if isinstance(below, Mapping) and (kept := _prune(below)):
            pruned[field] = kept
    return pruned
