"""What the stage judges: which objects as the server would, which by their fields alone, which not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krmfn.checks.server.stage import Judge
from krmfn.config import Settings
from krmfn.krm.item import Item

_SHOWN = 4


def describe_scope(worlds: Iterable[tuple[Sequence[Item], Settings]]) -> str:
    """`12 objects: 9 judged as the server would, 3 of kinds that are not known here (kyverno.io/v1 Policy)`.

    An object that is in several worlds counts once.

    Empty where all are judged as the server would.
    """
    from krmfn.checks.server.others import find_shape, find_standing

    counts = {"full": 0, "fields": 0, "unknown": 0}
    named: dict[str, dict[str, None]] = {"fields": {}, "unknown": {}}
    seen: set[int] = set()
    for items, settings in worlds:
        judge = Judge(items, settings, "apply")
        standings: dict[tuple[str, str], str] = {}
        for item in items:
            key = (item.api_version, item.kind)
            if key not in standings:
                standing = "full"
                if judge.kind(item) is None and judge.definition(item) is None:
                    found = find_standing(*key, judge.release)
                    known = found == "missing" or (found != "foreign" and find_shape(*key, judge.release) is not None)
                    standing = "unknown" if not known else "full" if found == "missing" else "fields"
                standings[key] = standing
            standing = standings[key]
            counts[standing] += id(item) not in seen
            seen.add(id(item))
            if standing != "full":
                named[standing][" ".join(key)] = None
    if counts["full"] == len(seen):
        return ""
    parts = [f"{counts['full']} judged as the server would"] if counts["full"] else []
    if counts["fields"]:
        parts.append(f"{counts['fields']} by their fields alone ({_list(named['fields'])})")
    if counts["unknown"]:
        parts.append(f"{counts['unknown']} of kinds that are not known here ({_list(named['unknown'])})")
    return f"{len(seen)} object{'s' if len(seen) > 1 else ''}: {', '.join(parts)}"


def _list(names: dict[str, None]) -> str:
    shown = list(names)[:_SHOWN]
    return ", ".join([*shown, "…"] if len(names) > _SHOWN else shown)
