"""What the stage judges: which objects as the server would, which by their fields alone, which not at all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krmfn.checks.server.stage import Judge
from krmfn.model.wording import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.krm.item import Item

_SHOWN = 4


def describe_scope(worlds: Iterable[tuple[Sequence[Item], Settings]]) -> str:
    """`stage server did not check 3 objects of a kind without definition (kyverno.io/v1 Policy)`.

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
    parts = []
    if counts["fields"]:
        parts.append(f"checked only the fields of {count(counts['fields'], 'object')} ({_list(named['fields'])})")
    if counts["unknown"]:
        objects = count(counts["unknown"], "object")
        kinds = "a kind" if len(named["unknown"]) == 1 else "kinds"
        parts.append(f"did not check {objects} of {kinds} without definition ({_list(named['unknown'])})")
    return f"stage server {' and '.join(parts)}" if parts else ""


def _list(names: dict[str, None]) -> str:
    shown = list(names)[:_SHOWN]
    return ", ".join([*shown, "…"] if len(names) > _SHOWN else shown)
