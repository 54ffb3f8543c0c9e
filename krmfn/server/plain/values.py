"""What the rules of several kinds share: choices, counts, ports, addresses, selectors, fields that cannot change.

Source: k8s.io/apimachinery/pkg/util/validation, k8s.io/kubernetes/pkg/apis/{core,apps}/validation.
"""

from __future__ import annotations

import re
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import clamp_int, read_digits
from krmfn.model.values import Names, Value
from krmfn.server.formats import (
    check_dns_1035,
    check_ip,
    check_label_key,
    check_label_value,
    check_long_name,
    find_format,
    is_percent,
    trim_address,
)
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import read_written, spell, to_api, write_json
from krmfn.server.verdict import Causes, invalid, invalid_text, not_supported, refuse_text

#: What stands behind the domain.
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


def check_choice(value: Any, path: Path, values: Names) -> Causes:
    if value not in values:
        yield not_supported(path, write_json(value), values)


def check_domain_path(kind: Any, text: str, path: Path) -> Causes:
    """A path with a domain in front: `acme.io/foo`."""
    domain, _, rest = text.partition("/")
    if not domain or not rest:
        yield invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from refuse_text(path, domain, check_long_name(domain))
    if not re.fullmatch(_PATH, rest):
        yield invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')")


def check_least(value: int | None, least: int, path: Path) -> Causes:
    if value is not None and value < least:
        yield invalid(path, value, f"must be greater than or equal to {least}", "minimum")


def check_port(number: int, path: Path) -> Causes:
    if not 1 <= number <= 65535:
        yield invalid(path, number, "must be between 1 and 65535, inclusive")


def check_port_or_name(kind: Any, value: int | str, path: Path) -> Causes:
    yield from (
        check_port(value, path) if isinstance(value, int) else refuse_text(path, value, find_format("port_name")(value))
    )


def check_kind_name(kind: Any, name: str, path: Path) -> Causes:
    if wrong := check_dns_1035(name.lower()):
        yield invalid(path, name, f"may have mixed case, but should otherwise match: {','.join(wrong)}")


def check_labels(kind: Any, labels: Value, path: Path) -> Causes:
    for key, value in labels.items():
        yield from refuse_text(path, key, check_label_key(key))
        yield from refuse_text(path, value, check_label_value(value))


def check_address(kind: Any, text: str, path: Path) -> Causes:
    """An IP address in a field that is older than strict rules."""
    yield from refuse_text(path, text, check_ip(text, kind.is_on("StrictIPCIDRValidation")))


def check_endpoint_address(text: str, path: Path) -> Causes:
    """A right address that is one of a place in a network."""
    address = read_address(text)
    if address is None:
        return
    if address.is_unspecified:
        yield invalid(path, text, f"may not be unspecified ({text})")
    if address.is_loopback:
        yield invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if address.is_link_local:
        yield invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if address.is_multicast and (address.packed[:3] == b"\xe0\0\0" or address.packed[:2] == b"\xff\x02"):
        detail = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
        yield invalid(path, text, detail)


def read_address(text: str) -> Any:
    """The IP address as Go reads it, which accepts leading zeros; None if the text is not one."""
    import ipaddress  # rare

    if check_ip(text, strict=False):
        return None
    address = ipaddress.ip_address(trim_address(text))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def read_network(text: str) -> Any:
    """The network as Go reads it; None if the text is not one."""
    import ipaddress  # rare

    host, slash, bits = text.partition("/")
    address = read_address(host)
    length = read_digits(bits, most=3)
    most = 128 if ":" in host else 32
    if not slash or address is None or length is None or length > most:
        return None
    length -= 96 if most == 128 and address.version == 4 else 0
    return ipaddress.ip_network((address.packed, max(length, 0)), strict=False)


def check_network(kind: Kind, text: str, path: Path) -> Causes:
    """A CIDR in a field that is older than strict rules."""
    network = read_network(text)
    if network is None:
        yield invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif kind.is_on("StrictIPCIDRValidation"):
        host, _, bits = text.partition("/")
        if "must not have leading 0s" in check_ip(host, strict=True) or (bits[0] == "0" and bits != "0"):
            yield invalid(path, text, "must not have leading 0s in IP or prefix length")
        elif check_ip(host, strict=True):
            yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
        elif read_address(host) != network.network_address:
            yield invalid(path, text, "must not have bits set beyond the prefix length")


def check_kept(kind: Kind, spec: Value, old: Stored, *names: str, rule: str = "immutable") -> Causes:
    """Fields of the spec that an update does not change."""
    if old is None:
        return
    for name in names:
        value = spec.get(name)
        if value != old.get(name):
            field = kind.root.fields["spec"].type.fields[name]
            if value is None and field.type.kind == "string" and not field.pointer:
                value = ""
            shown = write_json(to_api(field.type, value)) if isinstance(value, (dict, list)) else spell(value)
            yield invalid_text(("spec", name), shown, "field is immutable", rule)


def spell_any(value: Any) -> str:
    """A value as an error prints it; what is in an object is not shown."""
    return "{…}" if isinstance(value, (dict, list)) else spell(value)


def spell_empty(new: Value, name: str) -> str:
    """How an error prints a field of the spec in which nothing is: an empty list or map is none in the normal form."""
    return "{…}" if read_written(new, "spec", name) in ([], {}) else "null"


def count_share(value: int | str) -> int:
    """The number in a count or a percentage, 0 where there is none."""
    if isinstance(value, int):
        return value
    return clamp_int(value.removesuffix("%") if is_percent(value) else value)


def check_share(kind: Any, value: int | str, path: Path) -> Causes:
    """A count, or a percentage."""
    if not isinstance(value, int):
        for detail in find_format("percent")(value):
            yield invalid_text(path, write_json(value), detail)
    else:
        yield from check_least(value, 0, path)


def check_whole(kind: Any, value: int | str, path: Path) -> Causes:
    """A percentage that is no more than all."""
    if isinstance(value, str) and is_percent(value) and count_share(value) > 100:
        yield invalid_text(path, write_json(value), "must not be greater than 100%")
