"""The string formats of the API: names, label keys, path segments. Each function returns what is wrong, () when
nothing is.

Lengths are bytes of UTF-8. The two spellings of a length (`bytes`, `characters`) are those of the server's
declarative and hand-written rules. No regular expressions: importing `re` costs more than checking a thousand names.

Source: k8s.io/apimachinery/pkg/api/validate/content and pkg/util/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TypeAlias

from krmfn.releases import schemastore
from krmfn.server.schema import find_function

#: What is wrong with a text, nothing where it is right; and what finds it.
Faults: TypeAlias = "tuple[str, ...]"
Form: TypeAlias = "Callable[[str], Faults]"

_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
_LABEL = _LOWER + "-"
_ALNUM = _LOWER + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_QUALIFIED = _ALNUM + "-_."

_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = _DNS_LABEL + "(\\." + _DNS_LABEL + ")*"
_LABEL_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

NO_LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with"
    f" an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_DNS_LABEL}')"
)
NO_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and"
    f" end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_DNS_SUBDOMAIN}')"
)
NO_CASELESS_SUBDOMAIN = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an"
    f" alphanumeric character (e.g. 'Example.com', regex used for validation is '{_DNS_SUBDOMAIN}')"
)
_NO_DNS_1035 = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
    " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
    " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_NAME_PART = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
    f" (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_LABEL_NAME}')"
)
_NO_LABEL_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and"
    " end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345',"
    f" regex used for validation is '({_LABEL_NAME})?')"
)


def count_bytes(text: str) -> int:
    """The length of the text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _is_label(text: str) -> bool:
    return bool(text) and not text.strip(_LABEL) and text[0] != "-" and text[-1] != "-"


def _is_subdomain(text: str) -> bool:
    return all(map(_is_label, text.split(".")))


def _is_label_name(text: str) -> bool:
    return bool(text) and not text.strip(_QUALIFIED) and text[0] in _ALNUM and text[-1] in _ALNUM


def _find_faults(text: str, most: int, unit: str, wrong: str) -> Faults:
    """Whether a text is too long, and what else is `wrong`, if anything."""
    size = count_bytes(text) if wrong else len(text)  # what is right is ASCII
    faults = (f"must be no more than {most} {unit}",) if size > most else ()
    return (*faults, wrong) if wrong else faults


@lru_cache(1024)  # namespaces, containers and ports repeat theirs
def check_short_name(text: str, unit: str = "characters") -> Faults:
    """A DNS label of RFC 1123."""
    wrong = "" if _is_label(text) else "must not contain dots" if _is_subdomain(text) else NO_LABEL
    return _find_faults(text, 63, unit, wrong)


def check_dns_1035(text: str) -> Faults:
    """A DNS label of RFC 1035, which begins with a letter."""
    fits = not text.strip(_LABEL) and "a" <= text[:1] <= "z" and text[-1] != "-"
    return _find_faults(text, 63, "characters", "" if fits else _NO_DNS_1035)


def check_long_name(text: str, unit: str = "characters") -> Faults:
    """A DNS subdomain of RFC 1123."""
    return _find_faults(text, 253, unit, "" if _is_subdomain(text) else NO_SUBDOMAIN)


@lru_cache(1024)  # the objects of an input have few
def check_label_key(text: str) -> Faults:
    """A label key: `name` or `prefix/name`."""
    prefix, slash, name = text.partition("/")
    if not slash:
        prefix, name = "", text
    elif "/" in name:
        return (
            f"a valid label key {_NAME_PART} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
        )
    if _is_label_name(name) and len(name) <= 63 and (not slash or _is_subdomain(prefix)) and len(prefix) <= 253:
        return ()
    wrong = []
    if slash:
        faults = check_long_name(prefix, "bytes") if prefix else ("must be non-empty",)
        wrong += ["prefix part " + fault for fault in faults]
    faults = _find_faults(name, 63, "bytes", "" if _is_label_name(name) else _NAME_PART)
    wrong += ["name part " + fault for fault in (faults if name else ("must be non-empty", *faults))]
    return tuple(wrong)


@lru_cache(1024)  # what makes pods repeats its labels
def check_label_value(text: str) -> Faults:
    """The value of a label: empty, or like the name part of a key."""
    fits = not text or _is_label_name(text)
    return _find_faults(text, 63, "bytes", "" if fits else _NO_LABEL_VALUE)


def check_path_segment(text: str) -> Faults:
    """A text that can stand in a URL's path."""
    if "/" not in text and "%" not in text:
        return (f"may not be '{text}'",) if text in (".", "..") else ()
    return tuple(f"may not contain '{part}'" for part in "/%" if part in text)


def is_percent(text: str) -> bool:
    """Whether it is a percentage of whole numbers, as apimachinery's IsValidPercent has it."""
    return text[-1:] == "%" and text[:-1].isascii() and text[:-1].isdigit()


def check_ip(text: str, strict: bool) -> Faults:
    """An IP address. `strict`: no zeros in front, no IPv4 inside of IPv6."""
    import ipaddress  # rare

    plain = trim_address(text)
    try:
        address = ipaddress.ip_address(plain if "%" not in plain else "")
    except ValueError:
        return ("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",)
    if not strict:
        return ()
    if plain != text:
        return ("must not have leading 0s",)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return ("must not be an IPv4-mapped IPv6 address",)
    return ()


def trim_address(text: str) -> str:
    """An IP address without the zeros that Go reads in front of its numbers, and Python does not."""
    *groups, last = (group if group[:-4].strip("0") else group[-4:] for group in text.split(":"))
    if "." in last:
        last = ".".join(part.lstrip("0") or part[:1] for part in last.split("."))
    return ":".join((*groups, last))


def check_object_name(text: str) -> Faults:
    """The name of a whole ConfigMap or Secret, which the server takes for a prefix that can end in a dash."""
    return check_long_name(text[:-2] + "a" if text.endswith("-") and len(text) > 1 else text)


def check_driver_name(text: str) -> Faults:
    """The name of a driver of CSI."""
    return check_long_name(text.lower())


FORMATS: Mapping[str, Form] = {
    "k8s-short-name": lambda text: check_short_name(text, "bytes"),
    "k8s-long-name": lambda text: check_long_name(text, "bytes"),
    "k8s-label-key": check_label_key,
    "k8s-path-segment-name": check_path_segment,
}


@cache
def find_format(name: str) -> Form:
    """What finds the faults of a text of a form: the patterns of `schemas/kubernetes/formats.json`, or a function."""
    rows = schemastore.load("kubernetes/formats.json").get(name)
    if rows is None:
        return find_function(name if "." in name else f"formats.check_{name}")
    import re

    checks = [
        (pattern if isinstance(pattern, int) else re.compile(pattern, re.DOTALL), detail) for pattern, detail in rows
    ]

    @lru_cache(1024)  # ports, keys and variables have few names
    def find_faults(text: str) -> Faults:
        wrong = [
            detail
            for asked, detail in checks
            if (count_bytes(text) > asked if isinstance(asked, int) else not asked.match(text))
        ]
        return tuple(wrong)

    return find_faults


def find_corrupt_base64(text: str) -> int | None:
    """The byte at which Go's decoder of base64 gives up; None when it reads all. Line ends count for nothing."""
    data = text.encode("utf-8", "replace")
    known = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    places = [at for at, byte in enumerate(data) if byte not in b"\r\n"]
    read = next((number for number, at in enumerate(places) if data[at] not in known), len(places))
    filled = read % 4
    if read == len(places):
        return len(data) - filled if filled else None
    if data[places[read]] != 61 or filled < 2:
        return places[read]
    if filled == 2:  # a second sign of equality fills what the first one leaves
        read += 1
        if read == len(places):
            return len(data)
        if data[places[read]] != 61:
            return places[read] - 1
    return places[read + 1] if read + 1 < len(places) else None
