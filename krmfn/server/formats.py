"""The string formats of the API: names, label keys, path segments. Each function returns what is wrong, () when
nothing is.

Lengths are bytes of UTF-8. The two spellings of a length (`bytes`, `characters`) are those of the server's
declarative and hand-written rules. No regular expressions: importing `re` costs more than checking a thousand names.

Source: k8s.io/apimachinery/pkg/api/validate/content and pkg/util/validation; rule ids L1-L3, S1, S2 of the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

#: Those of a condition.
STATUSES = ("False", "True", "Unknown")
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
_LABEL = _LOWER + "-"
_SUBDOMAIN = _LOWER + "-."
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
_RELAXED = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_NO_RELAXED = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    f" '{_RELAXED}(\\.{_RELAXED})*')"
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
    return (
        bool(text)
        and not text.strip(_SUBDOMAIN)
        and text[0] not in "-."
        and text[-1] not in "-."
        and ".." not in text
        and ".-" not in text
        and "-." not in text
    )


def _is_label_name(text: str) -> bool:
    return bool(text) and not text.strip(_QUALIFIED) and text[0] in _ALNUM and text[-1] in _ALNUM


def check_short_name(text: str, unit: str = "characters") -> tuple[str, ...]:
    """A DNS label of RFC 1123."""
    if _is_label(text):
        return () if len(text) <= 63 else (f"must be no more than 63 {unit}",)
    wrong = "must not contain dots" if _is_subdomain(text) else NO_LABEL
    return (f"must be no more than 63 {unit}", wrong) if count_bytes(text) > 63 else (wrong,)


def check_dns_1035(text: str) -> tuple[str, ...]:
    """A DNS label of RFC 1035, which begins with a letter."""
    wrong = ("must be no more than 63 characters",) if count_bytes(text) > 63 else ()
    if not text.strip(_LABEL) and "a" <= text[:1] <= "z" and text[-1] != "-":
        return wrong
    return (
        *wrong,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic"
        " character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for"
        " validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )


def check_long_name(text: str, unit: str = "characters") -> tuple[str, ...]:
    """A DNS subdomain of RFC 1123."""
    if _is_subdomain(text):
        return () if len(text) <= 253 else (f"must be no more than 253 {unit}",)
    return (f"must be no more than 253 {unit}", NO_SUBDOMAIN) if count_bytes(text) > 253 else (NO_SUBDOMAIN,)


@lru_cache(1024)  # the objects of an input have few
def check_label_key(text: str) -> tuple[str, ...]:
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
        if prefix:
            wrong += ["prefix part " + message for message in check_long_name(prefix, "bytes")]
        else:
            wrong.append("prefix part must be non-empty")
    if not name:
        wrong.append("name part must be non-empty")
    elif count_bytes(name) > 63:
        wrong.append("name part must be no more than 63 bytes")
    if not _is_label_name(name):
        wrong.append("name part " + _NAME_PART)
    return tuple(wrong)


@lru_cache(1024)  # what makes pods repeats its labels
def check_label_value(text: str) -> tuple[str, ...]:
    """The value of a label: empty, or like the name part of a key."""
    fits = not text or _is_label_name(text)
    if fits and len(text) <= 63:
        return ()
    wrong = ("must be no more than 63 bytes",) if count_bytes(text) > 63 else ()
    return wrong if fits else (*wrong, _NO_LABEL_VALUE)


def check_path_segment(text: str) -> tuple[str, ...]:
    """A text that can stand in a URL's path."""
    if "/" not in text and "%" not in text:
        return (f"may not be '{text}'",) if text in (".", "..") else ()
    return tuple(f"may not contain '{part}'" for part in "/%" if part in text)


def check_port_name(text: str) -> tuple[str, ...]:
    """The name of a port."""
    wrong = []
    if count_bytes(text) > 15:
        wrong.append("must be no more than 15 characters")
    if not text or text.strip(_LABEL):
        wrong.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= character <= "z" for character in text):
        wrong.append("must contain at least one letter (a-z)")
    if "--" in text:
        wrong.append("must not contain consecutive hyphens")
    if text and (text[0] == "-" or text[-1] == "-"):
        wrong.append("must not begin or end with a hyphen")
    return tuple(wrong)


def is_percent(text: str) -> bool:
    """Whether it is a percentage of whole numbers, as apimachinery's IsValidPercent has it."""
    return text[-1:] == "%" and text[:-1].isascii() and text[:-1].isdigit()


def check_percent(text: str) -> tuple[str, ...]:
    """A percentage in a field that may also be a number."""
    if is_percent(text):
        return ()
    return (
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex"
        " used for validation is '[0-9]+%')",
    )


def check_environment_name(text: str) -> tuple[str, ...]:
    """The name of an environment variable, as servers since 1.34 take it."""
    if not text:
        return ("environment variable name must be non-empty",)
    if text.isascii() and text.isprintable() and "=" not in text:
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


def check_config_key(text: str) -> tuple[str, ...]:
    """The key of a ConfigMap or a Secret."""
    wrong = ["must be no more than 253 characters"] if count_bytes(text) > 253 else []
    if not text or text.strip(_QUALIFIED):
        wrong.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or"
            " 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
        )
    if text in (".", ".."):
        wrong.append(f"must not be '{text}'")
    elif text.startswith(".."):
        wrong.append("must not start with '..'")
    return tuple(wrong)


def check_header_name(text: str) -> tuple[str, ...]:
    """The name of an HTTP header."""
    if text and not text.strip(_ALNUM + "-"):
        return ()
    return (
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for"
        " validation is '[-A-Za-z0-9]+')",
    )


def check_relaxed_long_name(text: str) -> tuple[str, ...]:
    """A DNS subdomain whose labels may begin with an underscore, and have some inside."""
    wrong = ["must be no more than 253 characters"] if count_bytes(text) > 253 else []
    for label in text.split("."):
        rest = label.removeprefix("_")
        if not rest or rest.strip(_LABEL + "_") or rest[0] not in _LOWER or rest[-1] not in _LOWER:
            wrong.append(_NO_RELAXED)
            break
    return tuple(wrong)


def check_decimal(text: str) -> tuple[str, ...]:
    """An integer as people write it."""
    if not text:
        return ("must be non-empty",)
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0"):
        return ()
    return ("must be a valid decimal integer in canonical form",)


def check_ip(text: str, strict: bool) -> tuple[str, ...]:
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


def check_forward_path(text: str) -> tuple[str, ...]:
    """No part is `..`."""
    return ("must not contain '..'",) if ".." in text and ".." in text.split("/") else ()


def check_relative_path(text: str) -> tuple[str, ...]:
    """Downwards from where it is."""
    return (*(("must be a relative path",) if text[:1] == "/" else ()), *check_forward_path(text))


def check_local_path(text: str) -> tuple[str, ...]:
    """Downwards, and with a name that the kubelet does not keep for itself."""
    kept = text.startswith("..") and not text.startswith("../")
    return (*check_relative_path(text), *(("must not start with '..'",) if kept else ()))


def check_absolute_path(text: str) -> tuple[str, ...]:
    return () if text[:1] == "/" else ("must be an absolute path",)


def check_http_path(text: str) -> tuple[str, ...]:
    """A path of an Ingress that is matched as it stands."""
    inside = tuple(f"must not contain '{part}'" for part in ("//", "/./", "/../", "%2f", "%2F") if part in text)
    return (
        *check_absolute_path(text),
        *inside,
        *(f"cannot end with '{end}'" for end in ("/..", "/.") if text.endswith(end)),
    )


def check_json_path(text: str) -> tuple[str, ...]:
    return () if text[0] == "." else ("must be a simple json path starting with .",)


def check_dataset_name(text: str) -> tuple[str, ...]:
    return ("must not contain '/'",) if "/" in text else ()


def check_trimmed_text(text: str) -> tuple[str, ...]:
    return () if text == text.strip() else ("must not be padded with whitespace",)


def check_iscsi_name(text: str) -> tuple[str, ...]:
    """The name of a target or of an initiator."""
    import re  # rare

    form = {
        "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\t\n\f\r ]+)",
        "eui": "eui.[A-Za-z0-9]{16}",
        "naa": "naa.[A-Za-z0-9]{32}",
    }.get(text[:3])
    if form is None:
        return ("must be valid format starting with iqn, eui, or naa",)
    return () if re.fullmatch(form, text) else ("must be valid format",)


def check_object_name(text: str) -> tuple[str, ...]:
    """The name of a whole ConfigMap or Secret, which the server takes for a prefix that can end in a dash."""
    return check_long_name(text[:-2] + "a" if text.endswith("-") and len(text) > 1 else text)


def check_driver_name(text: str) -> tuple[str, ...]:
    """The name of a driver of CSI."""
    return check_long_name(text.lower())


def check_image_of_pod(text: str) -> tuple[str, ...]:
    return () if text == text.strip() else ("must not have leading or trailing whitespace",)


def check_without_backsteps(text: str) -> tuple[str, ...]:
    return ("can not contain backsteps ('..')",) if ".." in text.split("/") else ()


FORMATS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    "k8s-short-name": lambda text: check_short_name(text, "bytes"),
    "k8s-long-name": lambda text: check_long_name(text, "bytes"),
    "k8s-label-key": check_label_key,
    "k8s-path-segment-name": check_path_segment,
}


def find_corrupt_base64(text: str) -> int | None:
    """The byte at which Go's decoder of base64 gives up; None when it reads all. Line ends count for nothing."""
    data = text.encode("utf-8", "replace")
    known = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    filled, at = 0, 0
    while at < len(data):
        byte = data[at]
        at += 1
        if byte in known:
            filled = (filled + 1) % 4
        elif byte == 61 and filled >= 2:
            return _find_after_padding(data, at, filled)
        elif byte not in b"\r\n":
            return at - 1
    return at - filled if filled else None


def _find_after_padding(data: bytes, at: int, filled: int) -> int | None:
    if filled == 2:
        at = _skip_line_ends(data, at)
        if at == len(data):
            return at
        if data[at] != 61:
            return at - 1
        at += 1
    at = _skip_line_ends(data, at)
    return at if at < len(data) else None


def _skip_line_ends(data: bytes, at: int) -> int:
    while at < len(data) and data[at] in b"\r\n":
        at += 1
    return at
