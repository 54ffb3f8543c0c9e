"""Times the way Go reads them: RFC 3339 with Go's leniency and Go's error texts.

Source: Go's `time.Parse` with the layout RFC3339, which the API machinery's Time and MicroTime use.
"""

from __future__ import annotations

_LAYOUT = "2006-01-02T15:04:05Z07:00"
_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class BadTime(ValueError):
    """The text is no time; the message is Go's."""


def parse_time(text: str) -> str:
    """The instant in UTC to the second, as the server writes it back. Raises BadTime."""
    rest = text
    year, rest = _number(text, rest, "2006", 4, 4)
    rest = _skip(text, rest, "-")
    month, rest = _number(text, rest, "01", 2, 2)
    if not 1 <= month <= 12:
        raise _out_of_range(text, "month")
    rest = _skip(text, rest, "-")
    day, rest = _number(text, rest, "02", 2, 2)
    rest = _skip(text, rest, "T")
    hour, rest = _number(text, rest, "15", 1, 2)
    if hour > 23:
        raise _out_of_range(text, "hour")
    rest = _skip(text, rest, ":")
    minute, rest = _number(text, rest, "04", 2, 2)
    if minute > 59:
        raise _out_of_range(text, "minute")
    rest = _skip(text, rest, ":")
    second, rest = _number(text, rest, "05", 2, 2)
    if second > 59:
        raise _out_of_range(text, "second")
    if len(rest) >= 2 and rest[0] in ".," and _digit(rest[1]):
        end = 2
        while end < len(rest) and _digit(rest[end]):
            end += 1
        rest = rest[end:]
    offset, rest = _zone(text, rest)
    if rest:
        raise BadTime(f"parsing time {_quote(text)}: extra text: {_quote(rest)}")
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= day <= _DAYS[month - 1] + (1 if leap and month == 2 else 0):
        raise _out_of_range(text, "day")
    return _shift(year, month, day, hour, minute, second, offset)


def _zone(text: str, rest: str) -> tuple[int, str]:
    if rest[:1] == "Z":
        return 0, rest[1:]
    digits = rest[1:3] + rest[4:6]
    if len(rest) < 6 or rest[3] != ":" or not all(map(_digit, digits)) or rest[0] not in "+-":
        raise _cannot(text, rest, "Z07:00")
    hours, minutes = int(rest[1:3]), int(rest[4:6])
    if hours > 24:
        raise _out_of_range(text, "time zone offset hour")
    if minutes > 60:
        raise _out_of_range(text, "time zone offset minute")
    return (hours * 60 + minutes) * (-1 if rest[0] == "-" else 1), rest[6:]


def _shift(year: int, month: int, day: int, hour: int, minute: int, second: int, offset: int) -> str:
    total = hour * 60 + minute - offset
    days, total = divmod(total, 1440)
    for _ in range(abs(days)):
        day += 1 if days > 0 else -1
        leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if day > _DAYS[month - 1] + (1 if leap and month == 2 else 0):
            day, month = 1, month + 1
            if month > 12:
                month, year = 1, year + 1
        elif day < 1:
            month -= 1
            if month < 1:
                month, year = 12, year - 1
            leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
            day = _DAYS[month - 1] + (1 if leap and month == 2 else 0)
    return f"{year:04d}-{month:02d}-{day:02d}T{total // 60:02d}:{total % 60:02d}:{second:02d}Z"


def _digit(character: str) -> bool:
    return "0" <= character <= "9"


def _number(text: str, rest: str, element: str, least: int, most: int) -> tuple[int, str]:
    end = 0
    while end < most and end < len(rest) and _digit(rest[end]):
        end += 1
    if end < least:
        raise _cannot(text, rest, element)
    return int(rest[:end]), rest[end:]


def _skip(text: str, rest: str, prefix: str) -> str:
    if not rest.startswith(prefix):
        raise _cannot(text, rest, prefix)
    return rest[len(prefix) :]


def _cannot(text: str, rest: str, element: str) -> BadTime:
    return BadTime(
        f"parsing time {_quote(text)} as {_quote(_LAYOUT)}: cannot parse {_quote(rest)} as {_quote(element)}"
    )


def _out_of_range(text: str, what: str) -> BadTime:
    return BadTime(f"parsing time {_quote(text)}: {what} out of range")


def _quote(text: str) -> str:
    """Go's quoting of the time package: bytes outside printable ASCII are \\x escapes."""
    out = ""
    for character in text:
        if character in '"\\':
            out += "\\" + character
        elif " " <= character < "\x7f":
            out += character
        else:
            out += "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))
    return f'"{out}"'
