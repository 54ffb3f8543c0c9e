"""An update plan as Markdown for a pull request: a table of all objects that change, and what to do about the worst."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import format_path
from krmfn.plan.records import ACTIONS, Entry, Plan
from krmfn.reports import channels
from krmfn.reports.plan_text import MANY, TITLES, spell_change, spell_place, spell_shift, summarize


def render(plan: Plan) -> str:
    """A heading, the verdict, a table, then details of what is refused or has to be replaced."""
    lines = ["## Update plan", "", _verdict(plan), "", summarize(plan), ""]
    changed = [entry for action in ACTIONS for entry in plan.entries if entry.action == action and not entry.is_silent]
    if changed:
        lines += ["| object | what happens | why, or which fields |", "|---|---|---|"]
        lines += [
            f"| {channels.code(str(entry.ref))} | {TITLES[entry.action]} | {_reason(entry)} |" for entry in changed
        ]
        lines.append("")
    if plan.shifts:
        lines += ["### In the cluster", "", "| gang | outlook | why |", "|---|---|---|"]
        for shift in plan.shifts:
            sign = "🔴 " if shift.harmful else ""
            why = " ".join(text for text in (shift.why, shift.way_out) if text)
            outlook = f"{sign}{channels.markdown(spell_shift(shift))}"
            lines.append(f"| {channels.code(shift.gang)} | {outlook} | {channels.markdown(why)} |")
        lines.append("")
    elif plan.shifts is not None:
        lines += ["In the cluster, the same gangs run as before.", ""]
    for entry in changed:
        if entry.reasons or entry.consequences:
            lines += [f"### {channels.code(str(entry.ref))}", "", *_details(entry), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _verdict(plan: Plan) -> str:
    if not plan.is_refused:
        return "Everything can be applied in place."
    return "**The API server would refuse this change.** What must be replaced needs a new name, or a deletion first."


def _reason(entry: Entry) -> str:
    if entry.reasons:
        fields = dict.fromkeys(format_path(reason.path) or reason.message for reason in entry.reasons)
        return ", ".join(channels.code(field) for field in fields)
    fields = dict.fromkeys(format_path(change.path) for change in entry.changes)
    shown = ", ".join(channels.code(field) for field in list(fields)[:4])
    return shown + (f" and {len(fields) - 4} more" if len(fields) > 4 else "")


def _details(entry: Entry) -> Iterator[str]:
    for reason in entry.reasons:
        path = format_path(reason.path)
        yield f"* {f'{channels.code(path)}: ' if path else ''}{channels.markdown(reason.message)} ({reason.rule})"
    yield from (f"* {channels.code(spell_change(change))}" for change in entry.changes[:MANY])
    if entry.consequences:
        yield ""
        yield channels.markdown(" ".join(entry.consequences))
    if entry.renames:
        yield ""
        yield "To be renamed together:"
        yield ""
        for place in entry.renames:
            where = spell_place(place.file)
            field = channels.code(format_path(place.path))
            yield f"* {channels.code(str(place.ref))} {field}{f' in {channels.code(where)}' if where else ''}"
