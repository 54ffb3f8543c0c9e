"""Asks a server the questions of recorded files once more and says where its answers differ now.

This proves that the recorder asks as the files were recorded, and shows what a new patch release changes.
"""

from __future__ import annotations

import json
from typing import Any

from conformance.record import Case, Recorder
from conformance.storage import Record


def read_case(record: Record) -> Case:
    """The request of a record."""
    update = record.get("update", {})
    return Case(
        record["category"],
        record["kind"],
        record["operation"],
        record["object"] if "object" in record else read_raw(record["raw"]),
        record.get("raw"),
        record.get("old"),
        update.get("carry", "none"),
        update.get("resourceVersion", True),
        "apply" in record,
    )


def read_raw(text: str) -> Any:
    """The value of an exact body; only its address is taken from it, which is the first one for what is no JSON."""
    try:
        return json.loads(text)
    except ValueError:
        return {}


def differ(was: Record, now: Record | None) -> dict[str, tuple[Any, Any]]:
    """What differs between two records of one request; the order of causes is not contractual."""
    if now is None:
        return {"old": ("taken", "refused")}
    found: dict[str, tuple[Any, Any]] = {}
    for part in ("verdict", "apply", "threeWay", "result", "update", "returnedStatus"):
        one, other = comparable(was.get(part)), comparable(now.get(part))
        if part in was and one != other:
            found[part] = (was.get(part), now.get(part))
    return found


def comparable(part: Any) -> Any:
    if isinstance(part, dict) and "causes" in part:
        causes = sorted(map(str, part["causes"]))
        return {name: content for name, content in part.items() if name not in ("causes", "message")} | {
            "causes": causes
        }
    return part


def ask_again(recorder: Recorder, record: Record) -> dict[str, tuple[Any, Any]]:
    """The differences between a record and today's answer; empty when there are none."""
    return differ(record, recorder.record(record["id"], read_case(record)))
