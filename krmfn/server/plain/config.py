"""What rows of tables cannot say about ConfigMap, Secret, Namespace, Node, PodDisruptionBudget, PriorityClass,
APIService, ClusterRole, FlowSchema and PriorityLevelConfiguration. The tables, `plain.json` and `fields.json` in
`schemas/kubernetes`, name the functions: `check_` yields causes, `fill_` sets defaults, `prepare_` is the strategy.

FlowSchemas and PriorityLevelConfigurations that a server makes by itself (`exempt`, `catch-all`) have fixed contents,
which are not compared. Source: k8s.io/kubernetes/pkg/apis/{core,rbac,policy,scheduling,flowcontrol}/validation,
the strategies in pkg/registry/core, and k8s.io/kube-aggregator/pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

import base64
import math

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.placeholders import has_placeholder
from krmfn.model.values import Fields, Value
from krmfn.server.admission import SYSTEM_CLASSES
from krmfn.server.formats import Faults, check_short_name, count_bytes, find_format
from krmfn.server.plain.values import read_network
from krmfn.server.pods.spec import check_label_selector, is_wrong_selector
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import Key
from krmfn.server.verdict import (
    Causes,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    refuse_text,
    required,
    too_long,
)

#: Of a ConfigMap or a Secret.
_MAX_BYTES = 1024 * 1024
_MAX_USER_PRIORITY = 1_000_000_000
_MAX_ENTROPY_BITS = 60
#: The key that holds the configuration of docker, by the type of the Secret.
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def check_config_map(kind: Kind, new: Value, old: Stored) -> Causes:
    texts, binary = new.get("data", {}), new.get("binaryData", {})
    for key in texts:
        if key in binary:
            yield invalid(("data", Key(key)), key, "duplicate of key present in binaryData")
    if sum(map(count_bytes, texts.values())) + sum(len(read_bytes(value)) for value in binary.values()) > _MAX_BYTES:
        yield too_long(("",), _MAX_BYTES)


def check_keys(kind: Kind, values: Value, path: Path) -> Causes:
    for key in values:
        yield from refuse_text((*path, Key(key)), key, find_format("config_key")(key))


def read_bytes(value: str | list[int]) -> bytes:
    """What a field of bytes holds, which has been decoded without an error: base64, or a list of numbers."""
    return bytes(number or 0 for number in value) if isinstance(value, list) else base64.b64decode(value)


def fill_secret(kind: Kind, new: Fields) -> None:
    """Move `stringData` into `data`."""
    texts = new.pop("stringData", {})
    if texts:
        data = new.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def check_secret(kind: Kind, new: Value, old: Stored) -> Causes:
    data, name = new.get("data", {}), new.get("type", "")
    if sum(len(read_bytes(value)) for value in data.values()) > _MAX_BYTES:
        yield too_long(("data",), _MAX_BYTES)
    if name == "kubernetes.io/ssh-auth" and not read_bytes(data.get("ssh-privatekey", "")):
        yield required(("data", Key("ssh-privatekey")))
    if name in _DOCKER:
        yield from _check_docker(data, _DOCKER[name])


def _check_docker(data: Value, key: str) -> Causes:
    from krmfn.krm.json_reading import load_json

    path = ("data", Key(key))
    if key not in data:
        yield required(path)
        return
    text = read_bytes(data[key]).decode("utf-8", "replace")
    if has_placeholder(text):
        return  # what stands in stringData is not found at the place that the server names
    try:
        found = load_json(text)
    except (ValueError, RecursionError):
        yield invalid(path, "<secret contents redacted>", "is not JSON")
        return
    if found is not None and not isinstance(found, dict):
        yield invalid(path, "<secret contents redacted>", "is not a JSON object")


def fill_namespace(kind: Kind, new: Fields) -> None:
    """Set the label with the name."""
    meta = new.get("metadata", {})
    if meta.get("name"):
        meta["labels"] = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}


def prepare_namespace(kind: Kind, new: Fields) -> None:
    """Set the finalizer, and the label again: a generated name was not known before."""
    spec = new.setdefault("spec", {})
    if "kubernetes" not in spec.get("finalizers", ()):
        spec["finalizers"] = [*spec.get("finalizers", ()), "kubernetes"]
    fill_namespace(kind, new)


def prepare_namespace_change(kind: Kind, new: Fields, old: Value) -> None:
    new["spec"] = dict(old.get("spec", {}))


def check_role_selector(kind: Kind, selector: Value, path: Path) -> Causes:
    wrong = check_label_selector(kind, selector, path)
    yield from wrong
    if wrong:
        yield invalid_text(path, "null", "invalid label selector.")


def check_api_service(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), new["metadata"].get("name", "")
    whole = f"{version}.{group}"
    if name != whole and "/" not in name and "%" not in name:
        yield invalid(("metadata", "name"), name, f'must be `spec.version+"."+spec.group`: {quote(whole)}')
    bundle = read_bytes(spec.get("caBundle", ""))
    if bundle and "service" not in spec:
        detail = "local APIServices may not have a caBundle"
        yield invalid(("spec", "caBundle"), f"{len(bundle)} bytes", detail)


def fill_node(kind: Kind, new: Fields) -> None:
    """Let podCIDR and podCIDRs agree; the former, which is older, decides."""
    spec = new.setdefault("spec", {})
    alone, several = spec.get("podCIDR"), spec.get("podCIDRs", [])
    if alone and several[:1] != [alone]:
        spec["podCIDRs"] = [alone]
    elif several:
        spec["podCIDR"] = several[0]


def check_node(kind: Kind, new: Value, old: Stored) -> Causes:
    networks = map(read_network, new["spec"].get("podCIDRs", ()))
    families = [network.version for network in networks if network]
    if find_repeated(families):
        yield invalid_text(("spec", "podCIDRs"), "{…}", "may specify no more than one CIDR for each IP family")


def check_budget(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new.get("spec", {})
    any_value = old is not None and is_wrong_selector(old.get("spec", {}).get("selector"))
    yield from check_label_selector(kind, spec.get("selector"), ("spec", "selector"), any_value)


def check_priority_class(kind: Kind, new: Value, old: Stored) -> Causes:
    if old:
        return
    value, name = new.get("value", 0), new["metadata"].get("name", "")
    if name.startswith("system-"):
        why = ""
        if name not in SYSTEM_CLASSES:
            why = f"{name} is not a known system priority class"
        elif value != SYSTEM_CLASSES[name]:
            why = f"value of {name} PriorityClass must be {SYSTEM_CLASSES[name]}"
        elif new.get("globalDefault"):
            why = f"globalDefault of {name} PriorityClass must be false"
        if why:
            detail = f"priority class names with 'system-' prefix are reserved for system use only. error: {why}"
            yield forbidden(("metadata", "name"), detail)
    elif value > _MAX_USER_PRIORITY:
        detail = f"maximum allowed value of a user defined priority is {_MAX_USER_PRIORITY}"
        yield forbidden(("value",), detail, "maximum")


def list_namespace_faults(name: str) -> Faults:
    """What is wrong with one of the namespaces that a FlowSchema names."""
    return tuple(f"each member of this list must be '*' or a DNS-1123 label; {each}" for each in check_short_name(name))


def check_queues(kind: Kind, queuing: Value, at: Path) -> Causes:
    queues, hand = queuing["queues"], queuing["handSize"]
    if hand > queues:
        yield invalid((*at, "handSize"), hand, f"should not be greater than queues ({queues})")
    elif hand > 0 and math.ceil(math.log2(queues) * hand) > _MAX_ENTROPY_BITS:
        detail = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than "
        yield invalid((*at, "handSize"), hand, f"{detail}{_MAX_ENTROPY_BITS}")
