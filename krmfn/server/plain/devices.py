"""ResourceClaim, ResourceClaimTemplate, DeviceClass. Whether an expression compiles is not checked.

Source: k8s.io/kubernetes/pkg/apis/resource/validation and pkg/apis/resource/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Value
from krmfn.server.formats import NO_CASELESS_SUBDOMAIN, NO_SUBDOMAIN, check_label_key, check_long_name, check_short_name
from krmfn.server.pods.volumes import check_metadata_of_claims
from krmfn.server.schema import Kind
from krmfn.server.spell import read_written, write_json
from krmfn.server.verdict import (
    Causes,
    duplicate,
    find_repeated,
    invalid,
    invalid_text,
    refuse_text,
    required,
    too_long,
    too_many,
)

_MOST, _LONGEST = 32, 10 * 1024
_REFERENCE = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"


def check_claim(kind: Kind, new: Value, old: Value | None) -> Causes:
    if not old:
        yield from _check_devices(kind, new, ("spec",))


def check_claim_template(kind: Kind, new: Value, old: Value | None) -> Causes:
    yield from check_metadata_of_claims(kind, dig(new, "spec", "metadata", default={}), ("spec", "metadata"))
    yield from _check_devices(kind, new, ("spec", "spec"))


def check_device_class(kind: Kind, new: Value, old: Value | None) -> Causes:
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


def check_names(kind: Kind, items: list[Any], path: Path) -> Causes:
    """The names of requests differ."""
    names = [item.get("name", "") for item in items]
    for index in sorted(find_repeated(names)):
        shown = write_json(names[index]) if kind.is_on("oldest-texts") else "{…}"
        yield duplicate((*path, index), shown)


def check_expression(kind: Kind, text: str, path: Path) -> Causes:
    if not text.strip():
        detail = "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>'"
        yield invalid(path, text, detail)
    elif len(text.encode()) > _LONGEST:
        yield too_long(path, _LONGEST)


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
