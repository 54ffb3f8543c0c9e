"""PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, VolumeAttributesClass.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidatePersistentVolume*) and pkg/apis/storage/validation.
"""

from __future__ import annotations

from collections import Counter
from posixpath import normpath
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.values import Fields, Value
from krmfn.server.cases import check_part
from krmfn.server.formats import check_label_key, count_bytes
from krmfn.server.plain.values import spell_empty
from krmfn.server.pods.setting import Setting
from krmfn.server.pods.volumes import check_kind
from krmfn.server.schema import Kind
from krmfn.server.spell import Key, write_json
from krmfn.server.verdict import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    refuse_text,
    required,
    too_long,
)

_SPEC: Path = ("spec",)
#: The server says of a term how often it was there before; of many alike that would be millions of findings.
_MOST_ALIKE = 10
_BETA = "volume.beta.kubernetes.io/storage-class"
_OLD_SOURCES = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))
_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
#: The members in the order in which the server looks at them.
_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
#: Those that pods do not have, or not so.
_OWN = {"csi": "csi of volume", "local": "local of volume"}


def prepare_claim(kind: Kind, new: Fields) -> None:
    new["status"] = {"phase": "Pending"}
    _pair_sources(new["spec"], {})


def _pair_sources(spec: Fields, before: Value) -> None:
    """One of the two sources of data stands for both where they can; what cannot be a source is dropped."""
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if reference is not None and reference.get("namespace") and "dataSourceRef" not in before:
        del spec["dataSourceRef"]
        reference = None
    kept = reference is not None or "dataSource" in before or "dataSourceRef" in before
    if source is not None and not kept and (source.get("kind", ""), source.get("apiGroup", "")) not in _OLD_SOURCES:
        del spec["dataSource"]
        source = None
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {name: value for name, value in reference.items() if name != "namespace"}


def prepare_claim_change(kind: Kind, new: Fields, old: Value) -> None:
    _pair_sources(new["spec"], old["spec"])


def check_claim(kind: Kind, new: Value, old: Value | None) -> Causes:
    yield from check_part(kind, "claimSpec", new["spec"], _SPEC, "volume-claims")
    if old:
        yield from _check_changed_claim(new, old)


def _check_changed_claim(new: Value, old: Value) -> Causes:
    spec, before = dict(new["spec"]), dict(old["spec"])
    notes, noted = (each["metadata"].get("annotations", {}) for each in (new, old))
    status = old.get("status", {})
    if not before.get("volumeName"):
        before["volumeName"] = spec["volumeName"] = ""
    name, was = spec.get("storageClassName"), before.get("storageClassName")
    if _BETA in noted and was is None and name == noted[_BETA] and notes.get(_BETA, name) == name:
        spec.pop("storageClassName", None)
    else:
        if notes.get(_BETA, "") != noted.get(_BETA, ""):
            yield invalid(("metadata", "annotations", _BETA), notes.get(_BETA, ""), "field is immutable", "immutable")
        if name is not None and was is None and noted.get(_BETA, name) == name:
            before["storageClassName"] = name
    size, least = (each.get("resources", {}).get("requests", {}).get("storage", 0) for each in (spec, before))
    if status.get("phase") == "Bound":
        resources = spec.get("resources", {})
        if "requests" in resources:
            spec["resources"] = {**resources, "requests": {**resources["requests"], "storage": least}}
        spec["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
    if {key: value for key, value in spec.items() if value is not None} != {
        key: value for key, value in before.items() if value is not None
    }:
        yield forbidden(_SPEC, _FIXED, "immutable")
    if size < least and size <= status.get("capacity", {}).get("storage", 0):
        path = (*_SPEC, "resources", "requests", "storage")
        yield forbidden(path, "field can not be less than status.capacity", "immutable")


def check_volume(kind: Kind, new: Value, old: Value | None) -> Causes:
    spec, pod = new["spec"], Setting({}, kind.gates)
    yield from _check_capacity(new, spec.get("capacity", {}))
    name, host = "persistentVolumeReclaimPolicy", spec.get("hostPath", {}).get("path", "")
    if spec[name] == "Recycle" and normpath(host) in ("/", "//"):
        yield forbidden((*_SPEC, name), "may not be 'recycle' for a hostPath mount of '/'")
    affinity = spec.get("nodeAffinity")
    if affinity is not None and "required" in affinity:
        path = (*_SPEC, "nodeAffinity", "required")
        yield from check_part(pod, "neededNodes", affinity["required"], path, "pod-affinity")
    yield from _check_sources(spec, new["metadata"].get("name", ""), _SPEC, pod)
    if old:
        yield from _check_changed_volume(spec, old["spec"])


def _check_capacity(new: Value, capacity: Value) -> Causes:
    path = (*_SPEC, "capacity")
    if not capacity:
        yield required(path)
    if "storage" not in capacity or len(capacity) > 1:
        yield not_supported(path, "{…}" if capacity else spell_empty(new, "capacity"), ("storage",))
    for name, amount in capacity.items():
        at = (*path, Key(name))
        if amount < 0:
            yield invalid(at, amount // 10**9, "must be a valid resource quantity")
        if amount <= 0:
            yield invalid(at, amount, "must be greater than zero")


def _check_changed_volume(spec: Value, before: Value) -> Causes:
    secret = "controllerExpandSecretRef"
    mine = {name: spec.get(name) for name in _SOURCES}
    if "csi" in spec and "csi" in before and secret not in before["csi"]:
        mine["csi"] = {key: value for key, value in spec["csi"].items() if key != secret}
    if mine != {name: before.get(name) for name in _SOURCES}:
        yield forbidden(
            (*_SPEC, "persistentvolumesource"), "spec.persistentvolumesource is immutable after creation", "immutable"
        )


def check_topologies(kind: Kind, terms: list[Any], path: Path) -> Causes:
    alike: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        at = (*path, index, "matchLabelExpressions")
        found: dict[str, frozenset[str]] = {}
        for place, need in enumerate(term.get("matchLabelExpressions", ())):
            key, values = need.get("key", ""), need.get("values", [])
            yield from check_part(kind, "topologyNeed", need, (*at, place))
            if key in found:
                yield duplicate((*at, place, "key"), write_json(key))
            found[key] = frozenset(values)
        whole = frozenset(found.items())
        for _ in range(min(alike[whole], _MOST_ALIKE)):
            yield duplicate(at, '""')
        alike[whole] += 1


def check_provisioner(kind: Kind, name: str, path: Path) -> Causes:
    yield from refuse_text(path, name.lower(), check_label_key(name.lower()))


def check_parameters(kind: Kind, parameters: Value, path: Path) -> Causes:
    if len(parameters) > 512:
        yield too_long(path, 512)
        return
    if "" in parameters:
        yield invalid(path, "", "field can not be empty.")
    if sum(count_bytes(key) + count_bytes(value) for key, value in parameters.items()) > 256 * 1024:
        yield too_long(path, 256 * 1024)


def _check_sources(spec: Value, name: str, path: Path, pod: Setting) -> Causes:
    found = [source for source in _SOURCES if source in spec]
    if not found:
        yield required(path, "must specify a volume type")
    for index, source in enumerate(found):
        if index and source != "flexVolume":
            at = (*path, {"cephfs": "cephFS"}.get(source, source))
            yield forbidden(at, "may not specify more than 1 volume type")
        elif source in _OWN:
            yield from check_part(pod, _OWN[source], spec[source], (*path, source))
        else:
            yield from check_kind(pod, source, spec[source], name, path)
    if found[:1] == ["local"] and "nodeAffinity" not in spec:
        yield required((*path, "nodeAffinity"), "Local volume requires node affinity")
