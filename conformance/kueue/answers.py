"""What Kueue decided about a job: read from its Workload, in the words of records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Value = dict[str, Any]


def read_answer(workload: Mapping[str, Any]) -> Value:
    """The decision that stands: `admitted`, `reserved` (quota is), `active`; by pod set `flavors`, `counts` and
    `domains` (values of the levels, number of pods); `preempted` and `evictions` how often and why; `conditions`
    (status, reason), `checks` (state) and the `message` that says why it is not admitted."""
    status = workload.get("status", {})
    conditions = {each["type"]: each for each in status.get("conditions", ())}
    assigned = status.get("admission", {}).get("podSetAssignments", ())
    stats = status.get("schedulingStats", {}).get("evictions", ())
    answer: Value = {
        "admitted": _holds(conditions, "Admitted"),
        "reserved": _holds(conditions, "QuotaReserved"),
        "active": workload["spec"].get("active", True),
        "flavors": {each["name"]: each.get("flavors", {}) for each in assigned},
        "counts": {each["name"]: each.get("count", 0) for each in assigned},
        "domains": {
            each["name"]: expand(each["topologyAssignment"]) for each in assigned if each.get("topologyAssignment")
        },
        "preempted": any(each["reason"] == "Preempted" for each in stats),
        "evictions": {each["reason"]: each["count"] for each in stats},
        "conditions": {name: [each["status"], each["reason"]] for name, each in sorted(conditions.items())},
        "checks": {each["name"]: each["state"] for each in status.get("admissionChecks", ())},
        "message": _find_message(conditions),
    }
    return answer


def _holds(conditions: Mapping[str, Any], name: str) -> bool:
    return name in conditions and conditions[name]["status"] == "True"


def _find_message(conditions: Mapping[str, Any]) -> str:
    """Why it is not admitted; empty when it is."""
    if _holds(conditions, "Admitted"):
        return ""
    for name in ("QuotaReserved", "Admitted"):
        if name in conditions and not _holds(conditions, name):
            return str(conditions[name]["message"])
    return ""


def expand(assignment: Mapping[str, Any]) -> list[list[Any]]:
    """The domains of a topology assignment: each a list of the values of its levels and the number of pods in it."""
    domains = []
    for part in assignment.get("slices", ()):
        for number in range(part["domainCount"]):
            values = [_pick_value(level, number) for level in part["valuesPerLevel"]]
            counts = part["podCounts"]
            domains.append([values, counts.get("universal") or counts["individual"][number]])
    return domains


def _pick_value(level: Mapping[str, Any], number: int) -> str:
    if "universal" in level:
        return str(level["universal"])
    each = level["individual"]
    return f"{each.get('prefix', '')}{each['roots'][number]}{each.get('suffix', '')}"


def read_answers(workloads: Iterable[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]) -> dict[str, Value]:
    """By namespace/kind/name of each job: its answer, or that Kueue has no Workload of it."""
    owned = {}
    for workload in sorted(workloads, key=lambda each: str(each["metadata"]["creationTimestamp"])):
        for owner in workload["metadata"].get("ownerReferences", ()):
            owned[owner["kind"], owner["name"]] = workload
    answers = {}
    for job in jobs:
        kind, name, space = job["kind"], job["metadata"]["name"], job["metadata"]["namespace"]
        found = owned.get((kind, name))
        answers[f"{space}/{kind}/{name}"] = read_answer(found) if found else {"admitted": False, "managed": False}
    return answers
