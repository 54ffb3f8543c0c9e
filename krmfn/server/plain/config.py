"""ConfigMap, Secret, Namespace.

Source: ValidateConfigMap, ValidateSecret, ValidateNamespace of k8s.io/kubernetes/pkg/apis/core/validation, and the
strategies in pkg/registry/core.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.placeholders import has_placeholder
from krmfn.server.formats import check_label_key, count_bytes, find_format
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.spell import Key
from krmfn.server.verdict import Cause, invalid, refuse_text, required, too_long

_MOST = 1024 * 1024
_ACCOUNT = "kubernetes.io/service-account.name"
#: The keys of which a Secret of a type needs all, or one.
_NEEDS_ALL: Mapping[str, tuple[str, ...]] = {"kubernetes.io/tls": ("tls.crt", "tls.key")}
_NEEDS_ONE: Mapping[str, tuple[str, ...]] = {"kubernetes.io/basic-auth": ("username", "password")}
_DOCKER = {"kubernetes.io/dockercfg": ".dockercfg", "kubernetes.io/dockerconfigjson": ".dockerconfigjson"}


def check_config_map(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    texts, binary = new.get("data", {}), new.get("binaryData", {})
    for key in texts:
        if key in binary:
            yield invalid(("data", Key(key)), key, "duplicate of key present in binaryData")
    if sum(map(count_bytes, texts.values())) + sum(len(read_bytes(value)) for value in binary.values()) > _MOST:
        yield too_long(("",), _MOST)


def check_keys(kind: Kind, values: Object, path: Path) -> Iterator[Cause]:
    for key in values:
        yield from refuse_text((*path, Key(key)), key, find_format("config_key")(key))


def read_bytes(value: str | list[int]) -> bytes:
    """What a field of bytes holds; it has been read before."""
    return bytes(number or 0 for number in value) if isinstance(value, list) else base64.b64decode(value)


def fill_secret(kind: Kind, new: dict[str, Any]) -> None:
    texts = new.pop("stringData", {})
    if texts:
        data = new.setdefault("data", {})
        for key, text in texts.items():
            data[key] = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()


def check_secret(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    data, name = new.get("data", {}), new.get("type", "")
    if sum(len(read_bytes(value)) for value in data.values()) > _MOST:
        yield too_long(("data",), _MOST)
    missing = [key for key in _NEEDS_ALL.get(name, ()) if key not in data]
    if all(key not in data for key in _NEEDS_ONE.get(name, ())):
        missing += _NEEDS_ONE.get(name, ())
    for key in missing:
        yield required(("data", Key(key)))
    if name == "kubernetes.io/service-account-token" and not new["metadata"].get("annotations", {}).get(_ACCOUNT):
        yield required(("metadata", "annotations", Key(_ACCOUNT)))
    if name == "kubernetes.io/ssh-auth" and not read_bytes(data.get("ssh-privatekey", "")):
        yield required(("data", Key("ssh-privatekey")))
    if name in _DOCKER:
        yield from _check_docker(data, _DOCKER[name])


def _check_docker(data: Object, key: str) -> Iterator[Cause]:
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


def fill_namespace(kind: Kind, new: dict[str, Any]) -> None:
    meta = new.get("metadata", {})
    if meta.get("name"):
        meta["labels"] = {**meta.get("labels", {}), "kubernetes.io/metadata.name": meta["name"]}


def prepare_namespace(kind: Kind, new: dict[str, Any]) -> None:
    """The server adds its own finalizer, and a name that it made to the labels."""
    spec = new.setdefault("spec", {})
    if "kubernetes" not in spec.get("finalizers", ()):
        spec["finalizers"] = [*spec.get("finalizers", ()), "kubernetes"]
    fill_namespace(kind, new)


def prepare_namespace_change(kind: Kind, new: dict[str, Any], old: Object) -> None:
    new["spec"] = dict(old.get("spec", {}))


def check_namespace(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    if old:
        return
    path = ("spec", "finalizers")
    for name in new.get("spec", {}).get("finalizers", ()):
        yield from refuse_text(path, name, check_label_key(name))
        if "/" not in name and name not in ("kubernetes", "orphan", "foregroundDeletion"):
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(path, name, detail)
