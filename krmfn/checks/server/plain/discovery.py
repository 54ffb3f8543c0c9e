"""EndpointSlice, Endpoints.

Source: k8s.io/kubernetes/pkg/apis/{discovery,core}/validation and pkg/apis/{discovery,core}/v1/defaults.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.server.formats import check_ip, check_label_key, check_label_value, check_long_name, check_short_name
from krmfn.checks.server.plain.values import (
    RULE,
    check_address,
    check_choice,
    check_endpoint_address,
    check_immutable,
    check_port,
    check_text,
    read_address,
    refuse,
)
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import Cause, duplicate, find_repeated, invalid, required, too_many
from krmfn.krm.paths import Path
from krmfn.krm.types import Any
from krmfn.model.gotext import quote

_TYPES = ("FQDN", "IPv4", "IPv6")


def fill_slice(kind: Kind, new: dict[str, Any]) -> None:
    for port in new.get("ports", ()):
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")


def check_slice(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    of = new.get("addressType", "")
    if old:
        yield from check_immutable({"addressType": of}, old, "addressType", ())
    if not of:
        yield required(("addressType",), "required")
    else:
        yield from check_choice(of, ("addressType",), _TYPES)
    ports = new.get("ports", [])
    if len(ports) > 20000:
        yield too_many(("ports",), "max-items", len(ports), 20000)
    else:
        yield from _check_ports(ports)
    endpoints = new.get("endpoints", [])
    if old and endpoints == old.get("endpoints", []):
        return
    if len(endpoints) > 1000:
        yield too_many(("endpoints",), "max-items", len(endpoints), 1000)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _check_endpoint(kind, endpoint, of, ("endpoints", index))


def _check_ports(ports: list[Any]) -> Iterator[Cause]:
    again = find_repeated(port["name"] for port in ports)
    for index, port in enumerate(ports):
        at, name = ("ports", index), port["name"]
        yield from check_text(port, "name", at, check_short_name)
        if index in again:
            yield duplicate((*at, "name"), "unique-key", quote(name))
        yield from check_choice(port["protocol"], (*at, "protocol"), ("SCTP", "TCP", "UDP"))
        if "appProtocol" in port:
            yield from refuse((*at, "appProtocol"), port["appProtocol"], check_label_key(port["appProtocol"]))


def _check_endpoint(kind: Kind, endpoint: Object, of: str, at: Path) -> Iterator[Cause]:
    addresses, path = endpoint.get("addresses", []), (*at, "addresses")
    if not addresses:
        yield required(path, "required", "must contain at least 1 address")
    elif len(addresses) > 100:
        yield too_many(path, "max-items", len(addresses), 100)
    for index, text in enumerate(addresses):
        yield from _check_one(kind, text, of, path, index)
    for name, check in (("nodeName", check_long_name), ("hostname", check_short_name)):
        if name in endpoint:
            yield from refuse((*at, name), endpoint[name], check(endpoint[name]))
    for name, most in (("forZones", 8), ("forNodes", 8)):
        hints, where = endpoint.get("hints", {}).get(name, []), (*at, "hints", name)
        if len(hints) > most:
            yield too_many(where, "max-items", len(hints), most)
            return
        seen: set[str] = set()
        for index, hint in enumerate(hints):
            text = hint.get("name", "")
            if text in seen:
                yield duplicate((*where, index, "name"), "unique-key", quote(text))
            seen.add(text)
            wrong = check_label_value(text) if name == "forZones" else check_long_name(text)
            yield from refuse((*where, index, "name"), text, wrong)


def _check_one(kind: Kind, text: str, of: str, path: Path, index: int) -> Iterator[Cause]:
    at = (*path, index)
    if of == "FQDN":
        name = text.removesuffix(".")
        wrong = check_long_name(name)
        if not name:
            yield required(at, "required")
        elif wrong:
            yield invalid(at, RULE, name, ",".join(wrong))
        elif "." not in name:
            yield invalid(at, RULE, name, "should be a domain with at least two segments separated by dots")
        else:
            long = next((label for label in name.split(".") if len(label) > 63), "")
            yield from refuse(at, long, check_short_name(long) if long else ())
    elif of in ("IPv4", "IPv6"):
        wrong_address = list(check_address(kind, text, at)) if of == "IPv4" else _list_wrong(text, at)
        if wrong_address:
            yield from wrong_address
            return
        if read_address(text).version != int(of[-1]):
            yield invalid(path, RULE, text, f"must be an {of} address")
        yield from check_endpoint_address(text, at)


def _list_wrong(text: str, at: Path) -> list[Cause]:
    wrong = list(refuse(at, text, check_ip(text, strict=True)))
    if not wrong and text != str(read_address(text)):
        wrong.append(invalid(at, RULE, text, f"must be in canonical form ({quote(str(read_address(text)))})"))
    return wrong


def fill_endpoints(kind: Kind, new: dict[str, Any]) -> None:
    for subset in new.get("subsets", ()):
        for port in subset.get("ports", ()):
            port.setdefault("protocol", "TCP")


def check_endpoints(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    subsets = new.get("subsets", [])
    if old and subsets == old.get("subsets", []):
        return
    for index, subset in enumerate(subsets):
        at: Path = ("subsets", index)
        lists = ("addresses", "notReadyAddresses")
        if not any(subset.get(name) for name in lists):
            yield required(at, "required", "must specify `addresses` or `notReadyAddresses`")
        for name in lists:
            for place, address in enumerate(subset.get(name, ())):
                yield from _check_place(kind, address, (*at, name, place))
        ports = subset.get("ports", [])
        for place, port in enumerate(ports):
            yield from _check_endpoint_port(port, len(ports) > 1, (*at, "ports", place))


def _check_place(kind: Kind, address: Object, at: Path) -> Iterator[Cause]:
    text = address.get("ip", "")
    yield from check_address(kind, text, (*at, "ip"))
    yield from check_text(address, "hostname", at, check_short_name)
    if "nodeName" in address:
        yield from refuse((*at, "nodeName"), address["nodeName"], check_long_name(address["nodeName"]))
    if read_address(text) is None:
        yield invalid((*at, "ip"), RULE, text, "must be a valid IP address")
    yield from check_endpoint_address(text, (*at, "ip"))


def _check_endpoint_port(port: Object, named: bool, at: Path) -> Iterator[Cause]:
    name = port.get("name", "")
    if named and not name:
        yield required((*at, "name"), "required")
    elif name:
        yield from refuse((*at, "name"), name, check_short_name(name))
    yield from check_port(port.get("port", 0), (*at, "port"))
    if not port["protocol"]:
        yield required((*at, "protocol"), "required")
    else:
        yield from check_choice(port["protocol"], (*at, "protocol"), ("SCTP", "TCP", "UDP"))
    if "appProtocol" in port:
        yield from refuse((*at, "appProtocol"), port["appProtocol"], check_label_key(port["appProtocol"]))
