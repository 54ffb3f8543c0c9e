"""A plan as results, for the report formats that know nothing of plans (SARIF, JUnit, annotations)."""

from __future__ import annotations

from krmfn.krm.paths import format_path
from krmfn.krm.results import Result
from krmfn.plan.records import Entry, Plan

_DONE = {"remove": "is removed", "new": "is new", "update": "is updated in place", "unchanged": "is unchanged"}


def to_results(plan: Plan) -> tuple[Result, ...]:
    """An error for every reason of what is refused or must be replaced, an info for everything else that changes."""
    return tuple(result for entry in plan.entries if not entry.is_silent for result in _explain(entry))


def _explain(entry: Entry) -> list[Result]:
    hint = " ".join(entry.consequences)
    if not entry.reasons:
        done = _DONE.get(entry.action, entry.action)
        tags = {"rule": f"plan-{entry.action}", "stage": "server", **({"hint": hint} if hint else {})}
        return [Result(done, "info", entry.ref, file=entry.file, tags=tags)]
    results = []
    for reason in entry.reasons:
        tags = {"rule": reason.rule, "stage": "server", "type": reason.type, **({"hint": hint} if hint else {})}
        path = format_path(reason.path)
        results.append(Result(reason.message, "error", entry.ref, path, file=entry.file, tags=tags))
    return results
