"""Ingress, IngressClass, NetworkPolicy; EndpointSlice, Endpoints.

Source: k8s.io/kubernetes/pkg/apis/{networking,discovery,core}/validation, and the defaults.go beside their types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.cases import check_each, check_part
from krmfn.server.formats import Faults, check_dns_1035, check_ip, check_long_name, check_short_name, count_bytes
from krmfn.server.plain.values import (
    check_address,
    check_choice,
    check_endpoint_address,
    check_network,
    check_port,
    check_text,
    read_address,
    read_network,
    spell_empty,
)
from krmfn.server.pods.placement import check_label_selector
from krmfn.server.pods.setting import Setting
from krmfn.server.replicated import is_wrong_selector
from krmfn.server.schema import Kind
from krmfn.server.verdict import Causes, Out, invalid, invalid_text, refuse_text, required

_SPEC: Path = ("spec",)
_CLASS = "kubernetes.io/ingress.class"
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = rf"\*\.{_LABEL}(\.{_LABEL})*"


def check_ingress(kind: Kind, new: Value, old: Value | None) -> Causes:
    spec = new.get("spec", {})
    before = old.get("spec", {}) if old else {}
    if not spec.get("rules") and "defaultBackend" not in spec:
        detail = "either `defaultBackend` or `rules` must be specified"
        yield invalid_text(_SPEC, spell_empty(new, "rules"), detail)
    relaxed = frozenset(("RelaxedServiceNameValidation",) if _has_relaxed_name(before) else ())
    setting = Setting({}, kind.gates, allowed=relaxed)
    if "defaultBackend" in spec:
        yield from check_part(setting, "backend", spec["defaultBackend"], (*_SPEC, "defaultBackend"))
    wild = [rule for rule in before.get("rules", ()) if "*" in rule.get("host", "")]
    any_rule = any(_is_wrong_rule(kind, rule) for rule in wild)
    for index, rule in enumerate(spec.get("rules", ())):
        yield from _check_rule(setting, rule, (*_SPEC, "rules", index), any_rule)
    any_secret = any(check_long_name(one["secretName"]) for one in before.get("tls", ()) if one.get("secretName"))
    for index, tls in enumerate(spec.get("tls", ())):
        if not any_secret:
            yield from check_text(tls, "secretName", (*_SPEC, "tls", index), check_long_name)
    name = spec.get("ingressClassName")
    if name is not None:
        noted = new["metadata"].get("annotations", {}).get(_CLASS)
        if not old and noted is not None and noted != name:
            detail = "must match `ingressClassName` when both are specified"
            yield invalid(("annotations", _CLASS), noted, detail)


def check_host(kind: Kind, host: str, path: Path) -> Causes:
    yield from refuse_text(path, host, _list_faults(host))


def _list_faults(host: str) -> Faults:
    if "*" not in host:
        return check_long_name(host)
    wrong = ("must be no more than 253 characters",) if count_bytes(host) > 253 else ()
    if re.fullmatch(_WILDCARD, host):
        return wrong
    text = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of"
        " lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com',"
        f" regex used for validation is '\\*\\.{_LABEL}(\\.{_LABEL})*')"
    )
    return (*wrong, text)


def _check_rule(setting: Setting, rule: Value, path: Path, any_rule: bool) -> Causes:
    host = rule.get("host", "")
    if host:
        if read_address(host) is not None:
            yield invalid((*path, "host"), host, "must be a DNS name, not an IP address")
        yield from refuse_text((*path, "host"), host, _list_faults(host))
    if "*" not in host or not any_rule:
        yield from check_each(setting, "ingressPath", rule.get("http", {}).get("paths", ()), (*path, "http", "paths"))


def _is_wrong_rule(kind: Kind, rule: Value) -> bool:
    strict = Setting({}, {**kind.gates, "RelaxedServiceNameValidation": False})
    return bool(check_each(strict, "ingressPath", rule.get("http", {}).get("paths", ()), ()))


def _has_relaxed_name(spec: Value) -> bool:
    """Whether a stored Ingress has a name of a Service that only newer rules take."""
    backends = [spec.get("defaultBackend", {})]
    for rule in spec.get("rules", ()):
        backends += (path.get("backend", {}) for path in rule.get("http", {}).get("paths", ()))
    names = [backend["service"].get("name", "") for backend in backends if "service" in backend]
    return any(not check_short_name(name) and check_dns_1035(name) for name in names)


def check_network_policy(kind: Kind, new: Value, old: Value | None) -> Causes:
    spec = new.get("spec", {})
    before = old.get("spec", {}) if old else {}
    any_value = is_wrong_selector(before.get("podSelector"))
    known = {text for block in _list_blocks(before) for text in (block.get("cidr", ""), *block.get("except", ()))}
    yield from check_label_selector(kind, spec.get("podSelector"), (*_SPEC, "podSelector"), any_value)
    for way, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(way, ())):
            at: Path = (*_SPEC, way, index)
            for place, peer in enumerate(rule.get(side, ())):
                yield from _check_peer(kind, peer, (*at, side, place), any_value, known)
    types = spec.get("policyTypes", ())
    if len(types) > 2:
        yield invalid_text((*_SPEC, "policyTypes"), "{…}", "may not specify more than two policyTypes")
        return
    for index, name in enumerate(types):
        yield from check_choice(name, (*_SPEC, "policyTypes", index), ("Ingress", "Egress"))


def _list_blocks(spec: Value) -> Iterator[Value]:
    for way, side in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(way, ()):
            yield from (peer["ipBlock"] for peer in rule.get(side, ()) if "ipBlock" in peer)


def check_policy_port(kind: Kind, one: Value, at: Path) -> Causes:
    port, end = one.get("port"), one.get("endPort")
    if end is None:
        return
    path = (*at, "endPort")
    if port is None:
        yield invalid(path, end, "may not be specified when `port` is not specified")
    elif isinstance(port, str):
        yield invalid(path, end, "may not be specified when `port` is non-numeric")
    else:
        if end < port:
            shown = port if kind.is_on("older-texts") else end
            yield invalid(path, shown, "must be greater than or equal to `port`")
        yield from check_port(end, path)


def _check_peer(kind: Kind, peer: Value, at: Path, any_value: bool, known: set[str]) -> Causes:
    for name in ("podSelector", "namespaceSelector"):
        yield from check_label_selector(kind, peer.get(name), (*at, name), any_value)
    block = peer.get("ipBlock")
    if block is not None:
        yield from _check_block(kind, block, (*at, "ipBlock"), known)


def _check_block(kind: Kind, block: Value, path: Path, known: set[str]) -> Causes:
    text = block.get("cidr", "")
    if not text:
        yield required((*path, "cidr"))
        return
    if text not in known:
        yield from check_network(kind, text, (*path, "cidr"))
    network = read_network(text)
    for index, part in enumerate(block.get("except", ()) if network is not None else ()):
        at = (*path, "except", index)
        if part not in known:
            yield from check_network(kind, part, at)
        inner = read_network(part)
        if inner is None:
            continue
        inside = inner.version == network.version and inner.network_address in network
        if not inside or network.prefixlen >= inner.prefixlen:
            yield invalid(at, part, "must be a strict subset of `cidr`")


def check_slice(kind: Kind, new: Value, old: Value | None) -> Causes:
    endpoints = new.get("endpoints", ())
    if len(endpoints) <= 1000 and not (old and new.get("endpoints") == old.get("endpoints")):
        for index, endpoint in enumerate(endpoints):
            for place, text in enumerate(endpoint.get("addresses", ())):
                path = ("endpoints", index, "addresses")
                yield from _check_one(kind, text, new.get("addressType", ""), path, place)


def _check_one(kind: Kind, text: str, of: str, path: Path, index: int) -> Causes:
    at = (*path, index)
    if of == "FQDN":
        name = text.removesuffix(".")
        wrong = check_long_name(name)
        if not name:
            yield required(at)
        elif wrong:
            yield invalid(at, name, ",".join(wrong))
        elif "." not in name:
            yield invalid(at, name, "should be a domain with at least two segments separated by dots")
        else:
            long = next((label for label in name.split(".") if len(label) > 63), "")
            yield from refuse_text(at, long, check_short_name(long) if long else ())
    elif of in ("IPv4", "IPv6"):
        wrong_address = list(check_address(kind, text, at)) if of == "IPv4" else _list_wrong(text, at)
        if wrong_address:
            yield from wrong_address
            return
        if read_address(text).version != int(of[-1]):
            yield invalid(path, text, f"must be an {of} address")
        yield from check_endpoint_address(text, at)


def _list_wrong(text: str, at: Path) -> Out:
    wrong = list(refuse_text(at, text, check_ip(text, strict=True)))
    if not wrong and text != str(read_address(text)):
        wrong.append(invalid(at, text, f"must be in canonical form ({quote(str(read_address(text)))})"))
    return wrong


def check_address_of_endpoint(kind: Kind, text: str, path: Path) -> Causes:
    yield from check_address(kind, text, path)
    if read_address(text) is None:
        yield invalid(path, text, "must be a valid IP address")
    yield from check_endpoint_address(text, path)
