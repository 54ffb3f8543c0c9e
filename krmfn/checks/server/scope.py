"""What the stage judges: which objects as the server would, which by their fields alone, which not at all."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.checks.server.stage import Judge
from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.model.wording import count
from krmfn.server.schema import DEFINITION

_SHOWN = 4


def describe_scope(worlds: Iterable[tuple[Items, Settings]]) -> str:
    """`stage server: 9 objects fully validated, 3 not: unknown kinds (kyverno.io/v1 Policy)`, with what helps.

    An object that is in several worlds counts once, the file of a program not at all. Empty where all are validated.
    """
    counts = {"full": 0, "fields": 0, "unknown": 0}
    named: dict[str, dict[str, None]] = {standing: {} for standing in counts}
    seen = set()
    for items, settings in worlds:
        judge = Judge(items, settings, "apply")
        standings = {}
        for item in items:
            key = item.ref[:2]
            if key not in standings:
                standings[key] = _find_standing(judge, item)
            standing = standings[key]
            if standing == "unknown":
                from krmfn.releases.served import is_of_program

                if is_of_program(item, judge.release):
                    continue
            counts[standing] += id(item) not in seen
            seen.add(id(item))
            named[standing][" ".join(key)] = None
    if counts["full"] == len(seen):
        return ""
    parts = [f"{count(counts['full'], 'object')} fully validated"]
    if counts["fields"]:
        parts.append(f"{counts['fields']} by their fields alone ({_list(named['fields'])})")
    if counts["unknown"]:
        parts.append(f"{counts['unknown']} not: unknown kinds ({_list(named['unknown'])}; --crds adds their CRDs)")
    return f"stage server: {', '.join(parts)}"


def _find_standing(judge: Judge, item: Item) -> str:
    """How much of the item's kind is judged: "full", "fields" or "unknown"."""
    if item.kind == DEFINITION or (judge.kind(item) or judge.definition(item)) is not None:
        return "full"
    from krmfn.releases.served import find_standing
    from krmfn.server.others import find_shape

    found = find_standing(item.api_version, item.kind, judge.release)
    if found == "missing":
        return "full"
    shape = None if found == "foreign" else find_shape(item.api_version, item.kind, judge.release)
    return "fields" if shape else "unknown"


def _list(names: dict[str, None]) -> str:
    shown = list(names)[:_SHOWN]
    return ", ".join([*shown, "…"] if len(names) > _SHOWN else shown)
