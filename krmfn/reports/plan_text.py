"""An update plan for people: one block per action, the worst first; unchanged objects are only counted, unless
they mean something else in a newer release."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.krm.paths import format_path
from krmfn.krm.results import ABSENT, FileRef
from krmfn.model.showing import HIDDEN
from krmfn.plan.records import ACTIONS, Action, Change, Entry, Plan, Shift
from krmfn.reports import channels
from krmfn.reports.paint import BOLD, CYAN, FAINT, GREEN, RED, YELLOW, paint

#: Changes shown per object; the JSON has all of them.
MANY: Final = 12

TITLES: Final[Mapping[Action, str]] = {
    "refuse": "Refused by the API server",
    "replace": "Must be replaced",
    "remove": "Removed",
    "new": "New",
    "update": "Updated in place",
    "unchanged": "Unchanged",
}
_COLORS: Final[Mapping[Action, str]] = {
    "refuse": RED,
    "replace": RED,
    "remove": YELLOW,
    "new": GREEN,
    "update": CYAN,
    "unchanged": "",
}


def render(plan: Plan, *, color: bool = False) -> str:
    """The plan as text; the last line counts."""
    lines: list[str] = []
    for action in ACTIONS:
        entries = [entry for entry in plan.entries if entry.action == action and not entry.is_silent]
        if not entries:
            continue
        lines.append(paint(TITLES[action], _COLORS[action], color))
        for entry in entries:
            place = spell_place(entry.file)
            name = paint(channels.line(str(entry.ref)), BOLD, color)
            lines.append(f"  {name}{channels.line(f'  ({place})' if place else '')}")
            lines += [f"      {line}" for line in _describe(entry, color)]
        lines.append("")
    if plan.shifts:
        lines.append("In the cluster")
        for shift in plan.shifts:
            told = channels.line(f"{shift.gang}: {spell_shift(shift)}")
            lines.append(f"  {paint(told, RED if shift.harmful else '', color)}")
            lines += [channels.line(f"      {text}") for text in (shift.why, shift.way_out) if text]
        lines.append("")
    elif plan.shifts is not None:
        lines += ["In the cluster: the same gangs run as before.", ""]
    lines.append(summarize(plan))
    return "\n".join(lines) + "\n"


def summarize(plan: Plan) -> str:
    """`1 refused, 0 to be replaced, 2 removed, 0 new, 3 updated in place, 7 unchanged`."""
    words = {"refuse": "refused", "replace": "to be replaced", "remove": "removed", "update": "updated in place"}
    return ", ".join(f"{number} {words.get(action, action)}" for action, number in plan.counts.items())


def spell_shift(shift: Shift) -> str:
    """`starts before, never starts now`."""
    parts = [f"{shift.before} before"] if shift.before else ["new"]
    return ", ".join([*parts, f"{shift.after} now" if shift.after else "gone now"])


def spell_place(file: FileRef | None) -> str:
    """`base/job.yaml:3:5`, empty when it is unknown or stdin."""
    return file.spell() if file and file.path != "-" else ""


def spell_change(change: Change) -> str:
    """`spec.replicas: 3 -> 4`; what is not there is spelled `(none)`."""
    return f"{format_path(change.path)}: {spell_value(change.old)} -> {spell_value(change.new)}"


def spell_value(value: Any) -> str:
    """The value in one short line of JSON."""
    if value is ABSENT:
        return "(none)"
    if value == HIDDEN:
        return HIDDEN
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _describe(entry: Entry, color: bool) -> Iterator[str]:
    """What there is to say about an object, line by line, made harmless for a terminal."""
    line = channels.line
    for reason in entry.reasons:
        path = format_path(reason.path)
        yield line(f"{path + ': ' if path else ''}{reason.message} ") + paint(line(f"[{reason.rule}]"), FAINT, color)
    for change in entry.changes[:MANY]:
        old = paint(line(spell_value(change.old)), RED, color)
        new = paint(line(spell_value(change.new)), GREEN, color)
        yield f"{line(format_path(change.path))}: {old} -> {new}"
    if len(entry.changes) > MANY:
        yield f"... and {len(entry.changes) - MANY} more changes"
    yield from map(line, entry.consequences)
    if entry.renames:
        yield "to be renamed together:"
        for place in entry.renames:
            where = spell_place(place.file)
            yield line(f"  {place.ref} {format_path(place.path)}{f'  ({where})' if where else ''}")
