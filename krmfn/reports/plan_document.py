"""An update plan as one document: `{"entries": [...], "summary": {"refuse": 0, …}, "refused": false}`, as JSON."""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import format_path
from krmfn.krm.results import ABSENT, FileRef, ResourceRef
from krmfn.plan.records import Change, Entry, Plan, Shift
from krmfn.reports import channels


def render(plan: Plan) -> str:
    """The document as indented JSON."""
    return channels.json(to_document(plan))


def to_document(plan: Plan) -> dict[str, Any]:
    """The plan as plain values; keys without a value are left out."""
    document: dict[str, Any] = {
        "entries": [_spell_entry(entry) for entry in plan.entries],
        "summary": dict(plan.counts),
        "refused": plan.is_refused,
    }
    if plan.shifts is not None:
        document["cluster"] = [_spell_shift(shift) for shift in plan.shifts]
    return document


def _spell_shift(shift: Shift) -> dict[str, Any]:
    document: dict[str, Any] = {
        "gang": shift.gang,
        "before": shift.before or None,
        "after": shift.after or None,
        "harmful": shift.harmful,
    }
    document |= {"why": shift.why} if shift.why else {}
    return document | ({"change": shift.way_out} if shift.way_out else {})


def _spell_entry(entry: Entry) -> dict[str, Any]:
    document: dict[str, Any] = {"action": entry.action, "resourceRef": _spell_ref(entry.ref)}
    document |= {"file": _spell_file(entry.file)} if entry.file and entry.file.path else {}
    if entry.changes:
        document["changes"] = [_spell_change(change) for change in entry.changes]
    if entry.reasons:
        document["reasons"] = [
            {"path": format_path(reason.path), "rule": reason.rule, "type": reason.type, "message": reason.message}
            for reason in entry.reasons
        ]
    if entry.consequences:
        document["consequences"] = list(entry.consequences)
    if entry.renames:
        document["renames"] = [
            {"resourceRef": _spell_ref(place.ref), "path": format_path(place.path)}
            | ({"file": _spell_file(place.file)} if place.file and place.file.path else {})
            for place in entry.renames
        ]
    return document


def _spell_change(change: Change) -> dict[str, Any]:
    document: dict[str, Any] = {"path": format_path(change.path)}
    document |= {} if change.old is ABSENT else {"old": change.old}
    document |= {} if change.new is ABSENT else {"new": change.new}
    return document


def _spell_ref(ref: ResourceRef) -> dict[str, str]:
    document = {"apiVersion": ref.api_version, "kind": ref.kind, "name": ref.name}
    return {**document, "namespace": ref.namespace} if ref.namespace else document


def _spell_file(file: FileRef) -> dict[str, Any]:
    document: dict[str, Any] = {"path": file.path, "index": file.index}
    return {**document, "line": file.line, "column": file.column} if file.line else document
