"""Whole numbers, times, durations and quoted text, as Go's standard library reads and prints them, with its words.

Source: strconv (Atoi, Quote) and time (Parse with the layout RFC 3339, ParseDuration), which Kubernetes uses; the tests
replay recorded answers. Quantities are in krmfn.model.quantity.
"""

from __future__ import annotations

import re

_UNITS = {"ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_LAYOUT = "2006-01-02T15:04:05Z07:00"
#: Name, how the layout writes it, least, most, and what is in front of it. How many days a month has is asked later.
_PARTS = (
    ("year", "2006", 0, 9999, ""), ("month", "01", 1, 12, "-"), ("day", "02", 0, 99, "-"),
    ("hour", "15", 0, 23, "T"), ("minute", "04", 0, 59, ":"), ("second", "05", 0, 59, ":"),
)  # fmt: skip
_SHORT = {
    '"': '\\"', "\\": "\\\\", "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v"
}  # fmt: skip


class BadNumber(ValueError):
    """The text is not a number or a duration; the message is Go's."""


class BadTime(ValueError):
    """The text is not a time; the message is Go's."""


def parse_int(text: object) -> int | None:
    """A whole number of 64 bits in a text, such as an annotation, as strconv.Atoi reads it; None for anything else.

    >>> parse_int("12"), parse_int("-1"), parse_int("--1"), parse_int("²"), parse_int(" 1"), parse_int("9" * 30)
    (12, -1, None, None, None, None)
    """
    if not isinstance(text, str):
        return None
    number = read_digits(_strip_sign(text))
    if number is None:
        return None
    number = -number if text[0] == "-" else number
    return number if -(2**63) <= number < 2**63 else None


def _strip_sign(text: str) -> str:
    return text[1:] if text[:1] in ("+", "-") else text


def _leading_digits(text: str) -> str:
    return re.split("[^0-9]", text, maxsplit=1)[0]


def clamp_int(text: str) -> int:
    """What strconv.Atoi returns also beside an error: of a number that 64 bits cannot hold the nearest one, of
    anything else 0.

    >>> clamp_int("12"), clamp_int("--1"), clamp_int("9" * 5000) == 2**63 - 1, clamp_int("-" + "9" * 30) == -(2**63)
    (12, 0, True, True)
    """
    number = parse_int(text)
    if number is None:
        digits = _strip_sign(text)
        number = 2**63 - 1 if digits.isascii() and digits.isdigit() else 0
        return -number - 1 if number and text[0] == "-" else number
    return number


def read_digits(text: str, most: int = 19) -> int | None:
    """A number of at most so many digits, zeros in front of it not counted; None for anything else.

    Python refuses to read some thousand digits, zeros too, and Go does not.

    >>> read_digits("0" * 5000 + "12"), read_digits("12", most=1), read_digits("-1"), read_digits("٣"), read_digits("")
    (12, None, None, None, None)
    """
    size = text.lstrip("0")
    return int(size or "0") if text.isascii() and text.isdigit() and len(size) <= most else None


def read_int(text: str) -> int:
    """As parse_int. Raises BadNumber."""
    number = parse_int(text)
    if number is None:
        bare = _strip_sign(text)
        digits = _leading_digits(bare)
        # Go reads from the left: a number that is too large is told before a character that does not belong there.
        leading = digits.lstrip("0")
        large = len(leading) > 20 or int(leading or "0") >= 2**64
        wrong = "value out of range" if large or (bare and digits == bare) else "invalid syntax"
        raise BadNumber(f"strconv.Atoi: parsing {quote(text)}: {wrong}")
    return number


def read_duration(text: str) -> int:
    """Nanoseconds of a duration such as `1h30m`, as time.ParseDuration reads it. Raises BadNumber."""
    invalid = BadNumber(f"time: invalid duration {quote_ascii(text)}")
    rest = _strip_sign(text)
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        found = re.match(r"([0-9]*)(?:\.([0-9]*))?", rest)
        whole, fraction = found.groups("") if found else ("", "")
        part = read_digits(whole or "0")
        if not (whole or fraction) or part is None or part > 2**63:
            raise invalid
        rest = rest[found.end() :] if found else rest
        unit = re.split("[.0-9]", rest, maxsplit=1)[0]
        rest = rest[len(unit) :]
        if not unit:
            raise BadNumber(f"time: missing unit in duration {quote_ascii(text)}")
        if unit not in _UNITS:
            raise BadNumber(f"time: unknown unit {quote_ascii(unit)} in duration {quote_ascii(text)}")
        if part > 2**63 // _UNITS[unit]:
            raise invalid
        part *= _UNITS[unit]
        if fraction:
            digits = _fitting(fraction)
            # What is beyond all floats is infinite, as in Go: nothing is left of a fraction with so many zeros.
            part += int(float(digits) * (float(_UNITS[unit]) / float(f"1e{len(digits)}")))
        total += part
        if part > 2**63 or total > 2**63:
            raise invalid
    if text[0] == "-":
        return -total
    if total == 2**63:
        raise invalid
    return total


def _fitting(fraction: str) -> str:
    """The leading digits of a fraction that fit into 63 bits; Go drops the rest."""
    zeros = len(fraction) - len(fraction.lstrip("0"))
    size = 19 if int(fraction[zeros : zeros + 19] or "0") <= 2**63 else 18
    return fraction[: zeros + size]


def read_time(text: str, micro: bool = False) -> str:
    """The instant in UTC to the second, or to the microsecond, as the server writes it back. Raises BadTime."""
    parts, rest = [], text
    for name, element, least, most, prefix in _PARTS:
        rest = _skip(text, rest, prefix)
        part, rest = _number(text, rest, element)
        if not least <= part <= most:
            raise _out_of_range(text, name)
        parts.append(part)
    fraction = ""
    if micro:
        fraction, rest = _microseconds(text, rest)
    else:
        rest = re.sub("^[.,][0-9]+", "", rest)
    offset, rest = _zone(text, rest)
    if rest:
        raise BadTime(f"parsing time {quote_ascii(text)}: extra text: {quote_ascii(rest)}")
    year, month, day, hour, minute, second = parts
    from datetime import datetime, timedelta  # numbers and texts are wanted at every start, times are not

    cycles = year // 400 - 5  # the calendar repeats itself, and Python knows no year 0
    try:
        moment = datetime(year - 400 * cycles, month, day, hour, minute) - timedelta(minutes=offset)
    except ValueError:
        raise _out_of_range(text, "day") from None
    year = moment.year + 400 * cycles
    return f"{'-' * (year < 0)}{abs(year):04d}-{moment:%m-%dT%H:%M}:{second:02d}{fraction}Z"


def read_microtime(text: str) -> str:
    """As read_time, with the microseconds, which must be written as six digits. Raises BadTime."""
    try:
        return read_time(text, micro=True)
    except BadTime as wrong:
        micro = _LAYOUT.replace("Z", ".000000Z")
        raise BadTime(str(wrong).replace(f'" as "{_LAYOUT}": ', f'" as "{micro}": ', 1)) from None


def _microseconds(text: str, rest: str) -> tuple[str, str]:
    digits = rest[1:7]
    number = read_digits(_strip_sign(digits))  # Go reads a sign here
    if rest[:1] not in (".", ",") or len(digits) < 6 or number is None:
        raise _cannot(text, rest, ".000000")
    if number and digits[0] == "-":
        raise _out_of_range(text, "fractional second")
    return f".{number:06d}", rest[7:]


def _zone(text: str, rest: str) -> tuple[int, str]:
    if rest[:1] == "Z":
        return 0, rest[1:]
    octets = rest.encode("utf-8", "surrogatepass").decode("latin-1")  # Go counts bytes
    hours, minutes = octets[1:3], octets[4:6]
    if len(octets) < 6 or octets[3] != ":" or not all(map(_digit, hours)):
        raise _cannot(text, rest, "Z07:00")
    if all(map(_digit, minutes)) and int(minutes) > 60:
        raise _out_of_range(text, "time zone offset minute")
    if int(hours) > 24:
        raise _out_of_range(text, "time zone offset hour")
    if rest[0] not in "+-" or not all(map(_digit, minutes)):
        raise _cannot(text, rest, "Z07:00")
    return (int(hours) * 60 + int(minutes)) * (-1 if rest[0] == "-" else 1), rest[6:]


def _digit(character: str) -> bool:
    return "0" <= character <= "9"


def _number(text: str, rest: str, element: str) -> tuple[int, str]:
    digits = _leading_digits(rest[: len(element)])
    if len(digits) < (1 if element == "15" else len(element)):  # Go reads an hour of one digit, too
        raise _cannot(text, rest, element)
    return int(digits), rest[len(digits) :]


def _skip(text: str, rest: str, prefix: str) -> str:
    if not rest.startswith(prefix):
        raise _cannot(text, rest, prefix)
    return rest[len(prefix) :]


def _cannot(text: str, rest: str, element: str) -> BadTime:
    text, layout, rest, element = map(quote_ascii, (text, _LAYOUT, rest, element))
    return BadTime(f"parsing time {text} as {layout}: cannot parse {rest} as {element}")


def _out_of_range(text: str, what: str) -> BadTime:
    return BadTime(f"parsing time {quote_ascii(text)}: {what} out of range")


def quote(text: str) -> str:
    """strconv.Quote: printable characters stay, the rest is escaped."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for character in text:
        short = _SHORT.get(character)
        if short:
            out.append(short)
        elif character.isprintable() and (character == " " or not character.isspace()):
            out.append(character)
        elif 0xD800 <= ord(character) < 0xE000:
            out.append("\ufffd")  # Go reads half a surrogate pair so
        else:
            code = ord(character)
            if code < 0x80:
                out.append(f"\\x{code:02x}")
            else:
                out.append(f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return '"' + "".join(out) + '"'


def quote_ascii(text: str) -> str:
    """The quoting of the time package: what is not printable ASCII is written as bytes."""
    out = ""
    for character in text:
        if character in '"\\':
            out += "\\" + character
        elif " " <= character < "\x80":
            out += character
        else:
            out += "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    return f'"{out}"'
