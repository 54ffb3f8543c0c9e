"""What a YAML scalar means to the Kubernetes API machinery, and where other readers see something else.

Source: go.yaml.in/yaml/v2 `resolve.go` and sigs.k8s.io/yaml `convertToJSONableObject`, which kubectl and the API
server use. Knows scalars only: no nodes, no positions.
"""

from __future__ import annotations

import re
from functools import lru_cache

from krmfn.krm.errors import Unreadable
from krmfn.krm.nodes import NUMBER_TAG

Plain = str | int | float | bool | None

_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"], True),
    **dict.fromkeys(["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"], False),
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
}
#: Words that every reader agrees on.
_AGREED = frozenset(["", "~", "null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"])
_ENDLESS = frozenset(
    [*(sign + dot for sign in ("", "+", "-") for dot in (".inf", ".Inf", ".INF")), ".nan", ".NaN", ".NAN"]
)
_DIGITS = frozenset("0123456789")
#: What a number of any base ends with.
_LAST_DIGITS = frozenset("0123456789abcdefABCDEF._")
_HINTS = _DIGITS | frozenset("+-.yYnNtTfFoO~")
_INT64 = 1 << 63
_INFINITE = float("inf")


def resolve_plain(text: str, tag: str | None = None) -> Plain:
    """Give the JSON value of a plain scalar; `tag` is an explicit one (`!!int`), in its long form.

    Floats that Go prints as integers in JSON come back as int: `1e3` is 1000. Raises Unreadable where Go refuses.

    >>> [resolve_plain(text) for text in ("yes", "0o17", "1e3", "12:30", "08", "2020-01-02", "~")]
    [True, 15, 1000, '12:30', 8, '2020-01-02', None]
    """
    if tag is not None:
        return _resolve_tagged(text, tag)
    if not text:
        return None
    first = text[0]
    if first not in _HINTS:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text in _ENDLESS:
        raise Unreadable(f"{text} cannot be written as JSON")
    if first in _DIGITS or first in "+-":
        number = parse_number(text)
        return text if number is None else number
    if first == ".":
        plain = re.sub("(?<=[0-9])_(?=[0-9])", "", text)  # others stay, and spoil the number
        number = _parse_float(plain) if _is_float(plain) else None
        return text if number is None else number
    return text


def _resolve_tagged(text: str, tag: str) -> Plain:
    if tag == NUMBER_TAG:
        return _read_json_number(text)
    kind = tag.removeprefix(_TAG)
    if kind == tag or kind in {"str", "timestamp"}:
        return text
    if kind == "binary":
        from base64 import b64decode

        try:
            decoded = b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
        except ValueError:
            raise Unreadable("!!binary value contains invalid base64 data") from None
        return replace_surrogates(decoded.decode("utf-8", "surrogateescape"))
    if kind not in {"bool", "int", "float", "null"}:
        return text
    value = resolve_plain(text)
    found = "null" if value is None else type(value).__name__
    if found == "int" and _parse_int(text.replace("_", "")) is None:
        found = "float"  # Go's kind is that of the spelling
    if found != kind and not (kind == "float" and found == "int" and isinstance(value, int) and value < _INT64):
        # Without the text, which may be a password.
        raise Unreadable(f"cannot decode a !!{found} as a !!{kind}")
    return _parse_float(str(value)) if found == "int" and kind == "float" else value


def replace_surrogates(text: str) -> str:
    """What Go makes of parts that are no characters: each becomes U+FFFD."""
    return text if text.isascii() else "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in text)


def _read_json_number(text: str) -> int | float:
    if text.lstrip("-").isdigit() and len(text) < 30 and -_INT64 <= int(text) < 2 * _INT64:
        return int(text)
    number = float(text)
    if abs(number) == _INFINITE:
        raise Unreadable(f"the number {text[:20]} is too large")
    return number


def parse_number(text: str) -> int | float | None:
    """Read `text` as Go reads a number: base prefixes, underscores, leading-zero octals; None if it is not one."""
    if text[-1:] not in _LAST_DIGITS:  # quantities, versions, dates of the day: most words that begin like a number
        return None
    plain = text.replace("_", "")
    number = _parse_int(plain)
    if number is not None:
        return number
    return _parse_float(plain) if _is_float(plain) else None


def _parse_int(text: str) -> int | None:
    if text.startswith(("0b-", "0b+")):  # what follows `0b` is read by ParseInt, which takes a sign
        text = text[2] + "0b" + text[3:]
    is_signed = text[:1] in ("+", "-")
    digits = text[1:] if is_signed else text
    base = 10
    if digits[:1] == "0" and len(digits) > 1:
        base = {"x": 16, "o": 8, "b": 2}.get(digits[1].lower(), 8)
        digits = digits[1:] if base == 8 and digits[1] not in "oO" else digits[2:]
        if digits[:1] == "0" and digits[1:2].lower() == {16: "x", 8: "o", 2: "b"}[base]:
            return None  # int() would skip a second prefix
    if not digits.isascii() or not digits.isalnum():
        return None
    if len(digits) > 70:  # beyond 64 bits in every base; int() would take long
        return None
    try:
        number = int(digits, base) * (-1 if text[0] == "-" else 1)
    except ValueError:
        return None
    # ParseUint takes no sign, so only an unsigned text reaches the upper half of 64 bits.
    return number if -_INT64 <= number < (_INT64 if is_signed else 2 * _INT64) else None


def _is_float(text: str) -> bool:
    return re.fullmatch(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", text) is not None


def _parse_float(text: str) -> int | float | None:
    number = float(text)
    if abs(number) == _INFINITE:
        return None  # ParseFloat reports a range error, so the text stays a string
    # encoding/json prints integral floats below 1e21 without a point, and the API machinery reads those as int64.
    if number.is_integer() and abs(number) < 2 * _INT64:
        whole = _round_like_go(number)
        if -_INT64 <= whole < _INT64:
            return whole
    return number


def _round_like_go(number: float) -> int:
    """The shortest digits that give the float, filled up with zeros."""
    mantissa, mark, exponent = repr(number).partition("e")
    if not mark:
        return int(number)
    whole, _, fraction = mantissa.partition(".")
    return int(whole + fraction + "0" * (int(exponent) - len(fraction)))


@lru_cache(4096)  # objects have few keys
def spell_key(text: str, tag: str | None = None) -> str:
    """Spell a plain key as sigs.k8s.io/yaml does in JSON; a null key raises Unreadable.

    >>> [spell_key(text) for text in ("on", "8080", "0x10", "1.50", "1e7")]
    ['true', '8080', '16', '1.5', '1e+07']
    """
    if text in _ENDLESS and tag is None:
        return text.lower().removeprefix("+")
    value = resolve_plain(text, tag)
    if isinstance(value, str):
        return value
    if value is None:
        raise Unreadable("a key is null")
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = text.replace("_", "")
    if isinstance(value, float) or (_parse_int(plain) is None and _is_float(plain)):
        return _spell_float_key(float(plain))
    if value >= _INT64:
        raise Unreadable(f"the key {text} is beyond 64 bits with a sign")
    return str(value)


def _spell_float_key(number: float) -> str:
    """Format as Go's `strconv.FormatFloat(number, 'g', -1, 32)`: the shortest text that gives the same float32."""
    import struct

    try:
        single = struct.pack("<f", number)
    except OverflowError:
        return ".inf" if number > 0 else "-.inf"
    number = struct.unpack("<f", single)[0]
    if number == 0:
        return "-0" if str(number)[0] == "-" else "0"
    text = next(text for digits in range(9) if struct.pack("<f", float(text := f"{number:.{digits}e}")) == single)
    if -4 <= int(text.partition("e")[2]) < 6:
        return repr(float(text)).removesuffix(".0")
    return text


def explain_ambiguity(text: str) -> str:
    """Say how readers disagree on a plain scalar; empty when they agree.

    Readers: the API machinery (kubectl, the API server), kyaml (kustomize, kpt) and Python's YAML libraries.

    >>> explain_ambiguity("yes")
    'kubectl reads `yes` as true, kustomize and kpt as the string "yes"'
    """
    if not text or text[0] not in _HINTS or text in _AGREED:
        return ""
    if text in _WORDS:
        word = "true" if _WORDS[text] else "false"
        return f'kubectl reads `{text}` as {word}, kustomize and kpt as the string "{text}"'
    if text[0] not in _DIGITS and text[0] not in "+-.":
        return ""
    return _explain_digits(text)


def _explain_digits(text: str) -> str:
    if re.match(r"[0-9]{4}-[0-9]+-[0-9]", text):
        return f"kustomize rewrites the date `{text}` as a timestamp, kubectl reads it as a string"
    if re.fullmatch(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?", text):  # such as a time of day: `12:30:45`, `1:5.`
        return f"kubectl and kustomize read `{text}` as a string, YAML 1.1 readers as a number in base 60"
    number = parse_number(text)
    if number is None:
        plain = text.replace("_", "")  # the newer reader takes a sign behind `0o`, too
        octal = _parse_int(f"{plain[2]}0o{plain[3:]}") if plain.startswith(("0o-", "0o+")) else None
        return "" if octal is None else f'kubectl reads `{text}` as the string "{text}", kustomize and kpt as {octal}'
    digits = text.lstrip("+-")
    if "_" in text:
        return f"readers of YAML 1.2 see a string in `{text}`, Kubernetes {number}"
    if len(digits) > 1 and digits[0] == "0" and digits[1] not in ".eE":
        return f"Kubernetes reads `{text}` as {number}, other readers as another number or as a string"
    if ("e" in text.lower() or "." in text) and not _is_old_float(digits, text != digits):
        return f"Kubernetes reads `{text}` as {number}, readers of YAML 1.1 as a string"
    return ""


def _is_old_float(digits: str, signed: bool) -> bool:
    """Whether YAML 1.1 knows a float in what Go reads as one: with a point, and with a sign in the exponent."""
    mantissa, mark, exponent = digits.lower().partition("e")
    return "." in mantissa and not (signed and mantissa[0] == ".") and (not mark or exponent[0] in "+-")
