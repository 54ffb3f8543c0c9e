"""What anybody reads of the pods and nodes of a cluster, cut out while a dump is read: a large one has 150,000 pods, of
which nearly all are alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.model.values import as_list, as_mapping, dig, key_of, name_of
from krmfn.releases.spelling import LINK_FIELDS
from krmfn.survey.control_plane import is_program

Value = Mapping[str, Any]
CONTAINERS: Final = ("containers", "initContainers")
#: Fields of a pod's spec that the scheduler reads of a pod that runs, and of one that waits.
_POD: Final = (
    *("nodeName", "schedulerName", "priorityClassName", *sorted(LINK_FIELDS), "affinity", "resources"),
    *("runtimeClassName", "overhead", "schedulingGates", "nodeSelector", "tolerations", "topologySpreadConstraints"),
    *("resourceClaims", "preemptionPolicy", "restartPolicy"),
)
#: What the server gives every pod, and what a pod without it gets.
_DEFAULTS: Final[Mapping[str, Any]] = {
    "schedulerName": "default-scheduler",
    "preemptionPolicy": "PreemptLowerPriority",
    "restartPolicy": "Always",
}


class Cutter:
    """Cuts objects, each once; what is equal in several pods is held once."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}
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
    spec = {key: entry for key, entry in as_mapping(node, "spec").items() if key in ("taints", "unschedulable")}
    return {
        **{key: entry for key, entry in node.items() if key not in ("metadata", "spec", "status")},
        "metadata": {"name": name_of(node), "labels": dict(as_mapping(node, "metadata", "labels"))},
        "spec": spec,
        "status": {"allocatable": dig(node, "status", "allocatable")},
    }


def _cut_pod(pod: Value) -> dict[str, Any]:
    spec = as_mapping(pod, "spec")
    space, name = key_of(pod)
    metadata: dict[str, Any] = {"name": name, "namespace": space}
    if as_mapping(pod, "metadata", "labels"):
        metadata["labels"] = dig(pod, "metadata", "labels")
    owners = [
        {key: owner[key] for key in ("apiVersion", "kind", "name", "controller") if key in owner}
        for owner in map(as_mapping, as_list(pod, "metadata", "ownerReferences"))
    ]
    if owners:
        metadata["ownerReferences"] = owners
    kept = {key: spec[key] for key in _POD if key in spec and spec[key] != _DEFAULTS.get(key)}
    for field in CONTAINERS:
        boxes = [_cut_container(as_mapping(box)) for box in as_list(spec.get(field))]
        kept |= {field: boxes} if boxes else {}
    volumes = [
        {key: entry[key] for key in ("name", "persistentVolumeClaim", "ephemeral") if key in entry}
        for entry in map(as_mapping, as_list(spec, "volumes"))
        if "persistentVolumeClaim" in entry or "ephemeral" in entry
    ]
    kept |= {"volumes": volumes} if volumes else {}
    shrunk: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": kept}
    if dig(pod, "status", "phase"):
        shrunk["status"] = {"phase": dig(pod, "status", "phase")}
    return shrunk


def list_ports(box: Value) -> list[Value]:
    """The ports that a container takes of its node."""
    return [
        {key: port[key] for key in ("containerPort", "hostPort", "hostIP", "protocol") if key in port}
        for port in map(as_mapping, as_list(box, "ports"))
        if "hostPort" in port
    ]


def _cut_container(box: Value) -> Value:
    ports = list_ports(box)
    kept = {key: box[key] for key in ("name", "resources", "restartPolicy") if box.get(key)}
    return {**kept, "ports": ports} if ports else kept
