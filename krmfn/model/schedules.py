"""Cron schedules and time zones, as Kubernetes reads them (robfig/cron v3, Go's time zones).

Source: github.com/robfig/cron/v3 (ParseStandard), which pkg/util/parsers of Kubernetes calls, and the zones of Go's
time/tzdata, which kube-apiserver carries. The tests replay recorded answers.
"""

from __future__ import annotations

import re
from functools import cache

from krmfn.model.gotext import BadNumber, read_duration, read_int
from krmfn.releases import schemastore

#: Blanks of Go's unicode.IsSpace; Python's own splitting knows four more.
_BLANKS = "\t\n\v\f\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_MONTHS = {"jan": 1, "feb": 2, "mar": 3, "apr": 4, "may": 5, "jun": 6, "jul": 7, "aug": 8, "sep": 9, "oct": 10}
_MONTHS |= {"nov": 11, "dec": 12}
_DAYS = {"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}
#: Lowest and highest value of a field, and the names of values: minute, hour, day of month, month, day of week.
_BOUNDS: tuple[tuple[int, int, dict[str, int]], ...] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)
_NAMED = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


class BadSchedule(ValueError):
    """The text is not a schedule; the message is what the API server says."""


def check_schedule(text: str) -> None:
    """Raises BadSchedule for what is no schedule of a CronJob."""
    if not text:
        raise BadSchedule("empty spec string")
    if text.startswith(("TZ=", "CRON_TZ=")):
        zone, blank, rest = text.partition(" ")
        if not blank:
            raise BadSchedule("invalid schedule format: runtime error: slice bounds out of range [:-1]")
        zone = zone.partition("=")[2]
        if problem := check_zone(zone):
            raise BadSchedule(f"provided bad location {zone}: {problem}")
        text = re.sub(f"^[{_BLANKS}]+|[{_BLANKS}]+$", "", rest)
    if text.startswith("@every "):
        try:
            read_duration(text.removeprefix("@every "))
        except BadNumber as mistake:
            raise BadSchedule(f"failed to parse duration {text}: {mistake}") from None
        return
    if text.startswith("@"):
        if text not in _NAMED:
            raise BadSchedule(f"unrecognized descriptor: {text}")
        return
    words = [word for word in re.split(f"[{_BLANKS}]+", text) if word]
    if len(words) != len(_BOUNDS):
        raise BadSchedule(f"expected exactly 5 fields, found {len(words)}: [{' '.join(words)}]")
    for word, bounds in zip(words, _BOUNDS, strict=True):
        for part in filter(None, word.split(",")):
            _check_range(part, *bounds)


def _check_range(text: str, low: int, high: int, names: dict[str, int]) -> None:
    ends, *steps = text.split("/")
    first, *others = ends.split("-")
    if first in ("*", "?"):
        start, end = low, high
    else:
        start = end = _read_value(first, names)
        if len(others) > 1:
            raise BadSchedule(f"too many hyphens: {text}")
        if others:
            end = _read_value(others[0], names)
    if len(steps) > 1:
        raise BadSchedule(f"too many slashes: {text}")
    step = 1
    if steps:
        step = _read_value(steps[0], {})
        end = end if others else high
    if start < low:
        raise BadSchedule(f"beginning of range ({start}) below minimum ({low}): {text}")
    if end > high:
        raise BadSchedule(f"end of range ({end}) above maximum ({high}): {text}")
    if start > end:
        raise BadSchedule(f"beginning of range ({start}) beyond end of range ({end}): {text}")
    if step == 0:
        raise BadSchedule(f"step of range should be a positive number: {text}")


def _read_value(text: str, names: dict[str, int]) -> int:
    if text.lower() in names:
        return names[text.lower()]
    try:
        number = read_int(text)
    except BadNumber as mistake:
        raise BadSchedule(f"failed to parse int from {text}: {mistake}") from None
    if number < 0:
        raise BadSchedule(f"negative number ({number}) not allowed: {text}")
    return number


def check_zone(name: str) -> str:
    """What Go says against the name of a time zone, empty when it knows the zone."""
    if name in ("", "UTC", "Local"):
        return ""
    if ".." in name or name[0] in "/\\":
        return "time: invalid location name"
    # Debian's files, which images of servers have, are there three times.
    known = name.removeprefix("posix/").removeprefix("right/") in _list_zones()
    return "" if known else f"unknown time zone {name}"


@cache
def _list_zones() -> frozenset[str]:
    return frozenset(schemastore.read_text("kubernetes/timezones.txt").split())
