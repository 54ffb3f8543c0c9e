"""What pods claim: PersistentVolumeClaim, PersistentVolume, StorageClass, CSIDriver, VolumeAttributesClass;
ResourceClaim, ResourceClaimTemplate, DeviceClass. Whether an expression compiles is not checked.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidatePersistentVolume*) and pkg/apis/storage/validation;
pkg/apis/resource/validation and pkg/apis/resource/v1/defaults.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from posixpath import normpath
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_part
from krmfn.server.formats import (
    NO_CASELESS_SUBDOMAIN,
    NO_SUBDOMAIN,
    check_label_key,
    check_long_name,
    check_short_name,
    count_bytes,
)
from krmfn.server.plain.values import spell_empty
from krmfn.server.pods.spec import PodContext
from krmfn.server.pods.volumes import SECOND, check_kind, check_metadata_of_claims
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import Key, read_written, write_json
from krmfn.server.strategy import with_fields
from krmfn.server.verdict import (
    Causes,
    duplicate,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    refuse_text,
    required,
    too_long,
    too_many,
)

_SPEC: Path = ("spec",)
_NAMES = schemastore.load("kubernetes/named.json")
#: The server says of a term how often it was there before; of many alike that would be millions of findings.
_MOST_ALIKE = 10
_BETA = "volume.beta.kubernetes.io/storage-class"
_OLD_SOURCES = (("PersistentVolumeClaim", ""), ("VolumeSnapshot", "snapshot.storage.k8s.io"))
_FIXED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
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


def check_changed_claim(kind: Kind, new: Value, old: Stored) -> Causes:
    if not old:
        return
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
    size, least = (dig(each, "resources", "requests", "storage", default=0) for each in (spec, before))
    if status.get("phase") == "Bound":
        resources = spec.get("resources", {})
        if "requests" in resources:
            spec["resources"] = {**resources, "requests": {**resources["requests"], "storage": least}}
        spec = with_fields(spec, before, "volumeAttributesClassName")
    if spec != before:
        yield forbidden(_SPEC, _FIXED, "immutable")
    if size < least and size <= status.get("capacity", {}).get("storage", 0):
        path = (*_SPEC, "resources", "requests", "storage")
        yield forbidden(path, "field can not be less than status.capacity", "immutable")


def check_volume(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, pod = new["spec"], PodContext({}, kind.gates)
    yield from _check_capacity(new, spec.get("capacity", {}))
    name, host = "persistentVolumeReclaimPolicy", spec.get("hostPath", {}).get("path", "")
    if spec[name] == "Recycle" and normpath(host) in ("/", "//"):
        yield forbidden((*_SPEC, name), "may not be 'recycle' for a hostPath mount of '/'")
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
    mine = {name: spec.get(name) for name in _NAMES["sourcesOfVolumes"]}
    if "csi" in spec and "csi" in before and secret not in before["csi"]:
        mine["csi"] = {key: value for key, value in spec["csi"].items() if key != secret}
    if mine != {name: before.get(name) for name in _NAMES["sourcesOfVolumes"]}:
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


def _check_sources(spec: Value, name: str, path: Path, pod: PodContext) -> Causes:
    found = [source for source in _NAMES["sourcesOfVolumes"] if source in spec]
    if not found:
        yield required(path, "must specify a volume type")
    for index, source in enumerate(found):
        if index and source != "flexVolume":
            yield forbidden((*path, SECOND.get(source, source)), "may not specify more than 1 volume type")
        elif source in _OWN:
            yield from check_part(pod, _OWN[source], spec[source], (*path, source))
        else:
            yield from check_kind(pod, source, spec[source], name, path)
    if found[:1] == ["local"] and "nodeAffinity" not in spec:
        yield required((*path, "nodeAffinity"), "Local volume requires node affinity")


_MOST, _LONGEST = 32, 10 * 1024
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def check_device_claim(kind: Kind, new: Value, old: Stored) -> Causes:
    if not old:
        yield from _check_devices(kind, new, ("spec",))


def check_claim_template(kind: Kind, new: Value, old: Stored) -> Causes:
    yield from check_metadata_of_claims(kind, dig(new, "spec", "metadata", default={}), ("spec", "metadata"))
    yield from _check_devices(kind, new, ("spec", "spec"))


def check_device_class(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new.get("spec", {})
    for index, config in enumerate(_list_few(spec.get("config", ()))):
        yield from _check_config(new, config, ("spec", "config", index))
    name = spec.get("extendedResourceName")
    wrong = [] if name is None else list(_list_extended_misnomers(name))
    if wrong and kind.is_on("older-texts"):
        wrong = ["must be a valid extended resource name"]
    yield from refuse_text(("spec", "extendedResourceName"), name, wrong)


def _list_extended_misnomers(name: str) -> Iterator[str]:
    """Why no device can be requested as a resource of this name."""
    if "/" not in name:
        yield "a name must be a domain-prefixed path, such as 'example.com/my-prop'"
    elif "kubernetes.io/" in name:
        yield 'must not have "kubernetes.io/" domain'
    if name.startswith("requests."):
        yield 'must not have "requests." prefix'
    yield from check_label_key(f"requests.{name}")


def _check_devices(kind: Kind, new: Value, at: Path) -> Causes:
    at = (*at, "devices")
    devices = dig(new, *at, default={})
    requests, constraints, configs = (devices.get(name, []) for name in ("requests", "constraints", "config"))
    names: set[str] = set()
    for request in requests:
        name = request.get("name", "")
        names |= {name, *(f"{name}/{choice.get('name', '')}" for choice in request.get("firstAvailable", ()))}
    for index, constraint in enumerate(_list_few(constraints)):
        yield from _check_constraint(kind, constraint, names, (*at, "constraints", index))
    for index, config in enumerate(_list_few(configs)):
        yield from _check_references(config.get("requests", []), names, (*at, "config", index, "requests"))
        yield from _check_config(new, config, (*at, "config", index))


def _list_few(items: Sequence[Value]) -> Sequence[Value]:
    """What a server looks at: of too many nothing."""
    return items if len(items) <= _MOST else ()


def _check_constraint(kind: Kind, constraint: Value, names: set[str], at: Path) -> Causes:
    yield from _check_references(constraint.get("requests", []), names, (*at, "requests"))
    for name in ("matchAttribute", "distinctAttribute"):
        if name in constraint:
            yield from _check_attribute(kind, constraint[name], (*at, name))
            return
    if kind.is_on("DRAConsumableCapacity"):
        detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
        yield required(at, detail)
    else:
        yield required((*at, "matchAttribute"))


def _check_attribute(kind: Kind, text: str, path: Path) -> Causes:
    domain, slash, name = text.partition("/")
    older = kind.is_on("older-texts")
    words = ("the domain", "the name") if older else ("prefix", "name")
    if not slash:
        yield from _check_identifier(text, path)
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid(path, text, detail)
    elif "/" not in name:  # with several, the server says nothing
        if not domain:
            yield invalid(path, "", f"{words[0]} must not be empty")
        elif older:
            yield from check_driver(kind, domain, path)
        else:
            if len(domain) > 63:
                yield too_long(path, 63)
            yield from refuse_text(path, domain, [f"prefix: {each}" for each in check_long_name(domain, "bytes")])
        if not name:
            yield invalid(path, "", f"{words[1]} must not be empty")
        else:
            yield from _check_identifier(name, path)


def _check_identifier(text: str, path: Path) -> Causes:
    import re

    if len(text) > 32:
        yield too_long(path, 32)
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text, re.ASCII):
        detail = (
            "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
            "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
            "'[A-Za-z_][A-Za-z0-9_]*')"
        )
        yield invalid(path, text, detail)


def check_driver(kind: Kind, name: str, path: Path) -> Causes:
    if len(name) > 63:
        yield too_long(path, 63, "characters")
    if check_long_name(name.lower()):
        yield invalid(path, name, NO_SUBDOMAIN if kind.is_on("older-texts") else NO_CASELESS_SUBDOMAIN)


def _check_references(references: list[str], names: set[str], path: Path) -> Causes:
    if len(references) > _MOST:
        yield too_many(path, len(references), _MOST)
        return
    for index, text in enumerate(references):
        at, parts = (*path, index), text.split("/")
        for part in parts if len(parts) <= 2 else ():
            yield from refuse_text(at, part, check_short_name(part))
        if text not in names:
            yield invalid(at, text, _REFERENCE)
        if text in references[:index]:
            yield duplicate(at, write_json(text))


def _check_config(new: Value, config: Value, at: Path) -> Causes:
    path = (*at, "opaque", "parameters")
    parameters = read_written(new, *path)  # of any type, and `{}` is not nothing
    if "opaque" not in config:
        return
    if parameters is None:
        yield required(path)
    elif not isinstance(parameters, dict):
        yield invalid_text(path, '"<value omitted>"', "must be a valid JSON object")
    elif len(write_json(parameters).encode()) > _LONGEST:
        yield too_long(path, _LONGEST)
