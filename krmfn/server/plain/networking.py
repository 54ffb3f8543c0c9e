"""Ingress, IngressClass, NetworkPolicy; EndpointSlice, Endpoints; Service.

Which addresses and ports are free, and which families of addresses there are, is known to a cluster alone: what a
server would refuse for that is not said.

Source: k8s.io/kubernetes/pkg/apis/{networking,discovery,core}/validation, and the defaults.go beside their types;
pkg/registry/core/service (strategy.go, storage/alloc.go, storage/storage.go).
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Fields, Value
from krmfn.server.cases import check_each, check_part
from krmfn.server.formats import check_dns_1035, check_ip, check_long_name, check_short_name, find_format
from krmfn.server.plain.values import (
    check_address,
    check_endpoint_address,
    check_network,
    check_port,
    read_address,
    read_network,
    spell_empty,
)
from krmfn.server.pods.spec import PodContext, check_label_selector, is_wrong_selector
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import Key, write_json
from krmfn.server.verdict import Causes, Out, duplicate, forbidden, invalid, invalid_text, refuse_text, required

_SPEC: Path = ("spec",)
_CLASS = "kubernetes.io/ingress.class"


def check_ingress(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new.get("spec", {})
    before = old.get("spec", {}) if old else {}
    if not spec.get("rules") and "defaultBackend" not in spec:
        detail = "either `defaultBackend` or `rules` must be specified"
        yield invalid_text(_SPEC, spell_empty(new, "rules"), detail)
    relaxed = frozenset(("RelaxedServiceNameValidation",) if _has_relaxed_name(before) else ())
    setting = PodContext({}, kind.gates, allowed=relaxed)
    if "defaultBackend" in spec:
        yield from check_part(setting, "backend", spec["defaultBackend"], (*_SPEC, "defaultBackend"))
    wild = [rule for rule in before.get("rules", ()) if "*" in rule.get("host", "")]
    strict = PodContext({}, {**kind.gates, "RelaxedServiceNameValidation": False})
    any_rule = any(check_each(strict, "ingressPath", rule.get("http", {}).get("paths", ()), ()) for rule in wild)
    for index, rule in enumerate(spec.get("rules", ())):
        yield from _check_rule(setting, rule, (*_SPEC, "rules", index), any_rule)
    any_secret = any(check_long_name(one["secretName"]) for one in before.get("tls", ()) if one.get("secretName"))
    for index, tls in enumerate(spec.get("tls", ())):
        if not any_secret and (secret := tls.get("secretName")):
            yield from refuse_text((*_SPEC, "tls", index, "secretName"), secret, check_long_name(secret))
    name = spec.get("ingressClassName")
    if name is not None:
        noted = new["metadata"].get("annotations", {}).get(_CLASS)
        if not old and noted is not None and noted != name:
            detail = "must match `ingressClassName` when both are specified"
            yield invalid(("annotations", _CLASS), noted, detail)


def _check_rule(setting: PodContext, rule: Value, path: Path, any_rule: bool) -> Causes:
    host = rule.get("host", "")
    if host:
        if read_address(host) is not None:
            yield invalid((*path, "host"), host, "must be a DNS name, not an IP address")
        yield from refuse_text((*path, "host"), host, find_format("host")(host))
    if "*" not in host or not any_rule:
        yield from check_each(setting, "ingressPath", rule.get("http", {}).get("paths", ()), (*path, "http", "paths"))


def _has_relaxed_name(spec: Value) -> bool:
    """Whether a stored Ingress has a name of a Service that only newer rules take."""
    backends = [spec.get("defaultBackend", {})]
    for rule in spec.get("rules", ()):
        backends += (path.get("backend", {}) for path in rule.get("http", {}).get("paths", ()))
    names = [backend["service"].get("name", "") for backend in backends if "service" in backend]
    return any(not check_short_name(name) and check_dns_1035(name) for name in names)


def check_network_policy(kind: Kind, new: Value, old: Stored) -> Causes:
    spec = new.get("spec", {})
    before = old.get("spec", {}) if old else {}
    any_value = is_wrong_selector(before.get("podSelector"))
    blocks = [peer["ipBlock"] for peer, _ in _list_peers(before) if "ipBlock" in peer]
    known = {text for block in blocks for text in (block.get("cidr", ""), *block.get("except", ()))}
    yield from check_label_selector(kind, spec.get("podSelector"), (*_SPEC, "podSelector"), any_value)
    for peer, at in _list_peers(spec):
        for name in ("podSelector", "namespaceSelector"):
            yield from check_label_selector(kind, peer.get(name), (*at, name), any_value)
        if "ipBlock" in peer:
            yield from _check_block(kind, peer["ipBlock"], (*at, "ipBlock"), known)


def _list_peers(spec: Value) -> Iterator[tuple[Value, Path]]:
    for way, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(way, ())):
            for place, peer in enumerate(rule.get(side, ())):
                yield peer, (*_SPEC, way, index, side, place)


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


def check_slice(kind: Kind, new: Value, old: Stored) -> Causes:
    endpoints = new.get("endpoints", ())
    if len(endpoints) <= 1000 and endpoints != (old or {}).get("endpoints"):
        for index, endpoint in enumerate(endpoints):
            for place, text in enumerate(endpoint.get("addresses", ())):
                at: Path = ("endpoints", index, "addresses", place)
                yield from _check_one(kind, text, new.get("addressType", ""), at)


def _check_one(kind: Kind, text: str, of: str, at: Path) -> Causes:
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
            yield invalid(at[:-1], text, f"must be an {of} address")
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


_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
#: Stands for an address that the server chooses.
_CHOSEN = "192.0.2.254"


def _is_external(spec: Value) -> bool:
    kind = spec.get("type")
    return kind in ("LoadBalancer", "NodePort") or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def _needs_health_port(spec: Value) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def fill_service(kind: Kind, new: Fields) -> None:
    spec = new.setdefault("spec", {})
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    for port in spec.get("ports", ()):
        if port.get("targetPort", 0) in (0, ""):
            port["targetPort"] = port.get("port", 0)


def _pair_addresses(spec: Fields, before: Value) -> None:
    """One address and the list of addresses say the same, where one of the two was written."""
    one, several = spec.get("clusterIP", ""), spec.get("clusterIPs", [])
    was, were = before.get("clusterIP", ""), before.get("clusterIPs", [])
    if were and not several and one == was:
        spec["clusterIPs"] = were
    elif one != was and several == were:
        spec["clusterIPs"] = [one] if one else []


def prepare_service(kind: Kind, new: Fields) -> None:
    _pair_addresses(new["spec"], {})


def settle_service(kind: Kind, new: Fields) -> None:
    """What a server fills in when a Service is stored."""
    spec = new["spec"]
    if spec["type"] == "ExternalName":
        return
    spec.setdefault("clusterIP", _CHOSEN)
    spec.setdefault("clusterIPs", [spec["clusterIP"]])


def prepare_service_change(kind: Kind, new: Fields, old: Value) -> None:
    """What an update takes over, and what it forgets because the new type has no use for it."""
    spec, before = new["spec"], old.get("spec", {})
    if spec["type"] != "ExternalName" and before.get("type") != "ExternalName":
        for name in ("clusterIP", "clusterIPs"):
            if not spec.get(name) and before.get(name):
                spec[name] = before[name]
        if _needs_health_port(spec) and _needs_health_port(before) and "healthCheckNodePort" in before:
            spec.setdefault("healthCheckNodePort", before["healthCheckNodePort"])
    _pair_addresses(spec, before)
    if spec["type"] == "ExternalName" and before.get("type") != "ExternalName":
        if all(spec.get(name) == before.get(name) for name in ("clusterIP", "clusterIPs")):
            spec.pop("clusterIP", None)
            spec.pop("clusterIPs", None)
        _forget(spec, before, "ipFamilies", "ipFamilyPolicy")
    with_ports = ("NodePort", "LoadBalancer")
    if before.get("type") in with_ports and spec["type"] not in with_ports:
        numbers = [{port.get("nodePort", 0) for port in each.get("ports", ())} - {0} for each in (spec, before)]
        if numbers[0] <= numbers[1]:
            for port in spec.get("ports", ()):
                port.pop("nodePort", None)
    if _needs_health_port(before) and not _needs_health_port(spec):
        _forget(spec, before, "healthCheckNodePort")
    if before.get("type") == "LoadBalancer" and spec["type"] != "LoadBalancer":
        _forget(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if _is_external(before) and not _is_external(spec):
        _forget(spec, before, "externalTrafficPolicy")


def _forget(spec: Fields, before: Value, *names: str) -> None:
    for name in names:
        if spec.get(name) == before.get(name):
            spec.pop(name, None)


def check_first(kind: Kind, new: Value, old: Stored) -> Causes:
    """What is refused before the rest is looked at, because addresses are chosen then."""
    spec = new["spec"]
    if spec["type"] == "ExternalName":
        return
    before = old["spec"] if old else {}
    wrong = list(_check_addresses(kind, spec, before))
    yield from wrong
    policy = spec.get("ipFamilyPolicy", before.get("ipFamilyPolicy"))
    decisive = before if before.get("type", "ExternalName") != "ExternalName" else spec
    if policy is None and (decisive.get("clusterIP") != "None" or decisive.get("selector")):
        policy = "SingleStack"
    for name, word in (("clusterIPs", "cluster IPs are"), ("ipFamilies", "IP families are")):
        added = len(spec.get(name, ())) == 2 and spec[name] != before.get(name)
        if added and not wrong and policy == "SingleStack":
            detail = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {word} specified"
            yield invalid((*_SPEC, "ipFamilyPolicy"), policy, detail)


def check_service(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, notes = new["spec"], new["metadata"].get("annotations", {})
    before = old["spec"] if old else {}
    if old:
        now, were = (each.get("clusterIPs", []) for each in (spec, before))
        if "ExternalName" not in (spec["type"], before["type"]) and not now == were == ["None"]:
            yield from _check_kept(were, now, spec)
    if _MODE in notes and _HINTS in notes and notes[_MODE] != notes[_HINTS]:
        detail = f"must match annotations[{_HINTS}] when both are specified"
        yield invalid(("metadata", "annotations", Key(_MODE)), notes[_MODE], detail)
    yield from _check_type(spec)
    yield from _check_ports(spec)
    for index, text in enumerate(spec.get("externalIPs", ())):
        at = (*_SPEC, "externalIPs", index)
        wrong = () if text in before.get("externalIPs", ()) else tuple(check_address(kind, text, at))
        yield from wrong or check_endpoint_address(text, at)
    yield from _check_balancing(kind, spec, notes, before, old["metadata"].get("annotations", {}) if old else {})


def _check_type(spec: Value) -> Causes:
    kind = spec["type"]
    if kind in ("LoadBalancer", "NodePort") and spec.get("clusterIPs") == ["None"]:
        yield invalid((*_SPEC, "clusterIPs", 0), "None", f"may not be set to 'None' for {kind} services")
    if kind != "ExternalName":
        return
    host = spec.get("externalName", "").removesuffix(".")
    path = (*_SPEC, "externalName")
    if not host:
        yield required(path)
    else:
        yield from refuse_text(path, host, check_long_name(host))


def _check_ports(spec: Value) -> Causes:
    ports = spec.get("ports", ())
    on_nodes = set()
    for index, port in enumerate(ports):
        at = (*_SPEC, "ports", index)
        protocol, on_node = port.get("protocol", ""), port.get("nodePort", 0)
        if on_node and spec["type"] == "ClusterIP":
            yield forbidden((*at, "nodePort"), "may not be used when `type` is 'ClusterIP'")
        if on_node and (protocol, on_node) in on_nodes:
            yield duplicate((*at, "nodePort"), str(on_node))
        on_nodes.add((protocol, on_node))


def _check_addresses(kind: Kind, spec: Value, before: Value) -> Causes:
    one, several, families = spec.get("clusterIP", ""), spec.get("clusterIPs", []), spec.get("ipFamilies", [])
    path = (*_SPEC, "clusterIPs")
    if one and several and several[0] != one:
        yield invalid_text(path, "{…}", "first value must match `clusterIP`")
    yield from check_part(kind, "serviceAddresses", spec, _SPEC)
    wrong: Out = []
    if several[:1] == ["None"] and len(several) > 1:
        wrong.append(invalid_text(path, "{…}", "'None' must be the first and only value"))
    for index, text in enumerate(several):
        if (index, text) != (0, "None") and text not in before.get("clusterIPs", ()):
            wrong += check_address(kind, text, (*path, index))
    yield from wrong
    if wrong or several[:1] == ["None"]:
        return
    versions = [read_address(text).version if read_address(text) else 0 for text in several]
    if len(several) > 1 and sorted(versions) != [4, 6]:
        yield invalid_text(path, "{…}", "may specify no more than one IP for each IP family")
    for index, (text, family) in enumerate(zip(several, families, strict=False)):
        if family in ("IPv4", "IPv6") and (":" in text) != (family == "IPv6") and text != _CHOSEN:
            detail = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield invalid((*path, index), text, detail)


def _check_balancing(kind: Kind, spec: Value, notes: Value, before: Value, noted: Value) -> Causes:
    ranges = spec.get("loadBalancerSourceRanges", ())
    path: Path = (*_SPEC, "LoadBalancerSourceRanges")
    if not ranges and _RANGES in notes:
        path = ("metadata", "annotations", Key(_RANGES))
    if (ranges or _RANGES in notes) and spec["type"] != "LoadBalancer":
        yield forbidden(path, "may only be used when `type` is 'LoadBalancer'")
    if ranges:
        known = [text.strip() for text in before.get("loadBalancerSourceRanges", ())]
        for index, text in enumerate(ranges):
            if text.strip() not in known:
                yield from check_network(kind, text.strip(), (*path, index))
    elif notes.get(_RANGES, "").strip() and noted.get(_RANGES) != notes[_RANGES]:
        for text in notes[_RANGES].split(","):
            yield from check_network(kind, text.strip(), path)


def _check_kept(were: list[str], now: list[str], spec: Value) -> Causes:
    path = (*_SPEC, "clusterIPs")
    if were and not now:
        yield invalid_text((*path, 0), "null", "primary clusterIP can not be unset", "immutable")
    for index, (was, text) in enumerate(zip(were, now, strict=False)):
        if was != text and (index == 0 or len(were) == len(now)):
            yield invalid_text((*path, index), "{…}", "may not change once set", "immutable")
    if len(were) > len(now) == 1 and spec.get("ipFamilyPolicy") != "SingleStack":
        detail = "must be set to 'SingleStack' when releasing the secondary clusterIP"
        yield invalid_text((*_SPEC, "ipFamilyPolicy"), write_json(spec.get("ipFamilyPolicy")), detail)
