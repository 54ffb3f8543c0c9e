"""Update plans for people (text: one block per action, the worst first), for pull requests (Markdown), and as JSON.

Knows the formats, not how a plan is made.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from posixpath import commonprefix
from typing import Any

from krmfn.krm.paths import format_path
from krmfn.krm.results import ABSENT, FileRef, Result
from krmfn.model.showing import HIDDEN
from krmfn.model.values import Fields
from krmfn.model.wording import list_first
from krmfn.plan.records import ACTIONS, Action, Change, Entry, Plan, Shift
from krmfn.reports import channels
from krmfn.reports.channels import Lines
from krmfn.reports.outlook_view import Outlooks, spell_places, spell_preempted
from krmfn.reports.paint import BOLD, CYAN, FAINT, GREEN, RED, YELLOW, paint

FORMATS = ("text", "json", "markdown")
#: Changes shown per object; the JSON has all of them.
_MANY = 12
#: Characters of a value.
_SHORT = 60

_TITLES: Mapping[Action, str] = {
    "refuse": "Refused by the API server",
    "replace": "Must be replaced",
    "remove": "Removed",
    "new": "New",
    "update": "Updated in place",
    "unchanged": "Unchanged",
}
_COLORS: Mapping[Action, str] = {
    "refuse": RED,
    "replace": RED,
    "remove": YELLOW,
    "new": GREEN,
    "update": CYAN,
    "unchanged": "",
}


def render_plan(plan: Plan, form: str = "text", *, color: bool = False, pictures: Sequence[Outlooks] = ()) -> str:
    """Spell `plan` in one of FORMATS. `color` matters to text alone; `pictures` are what would become of the gangs of
    each world, before and after."""
    match form:
        case "json":
            return channels.json(_to_document(plan, pictures))
        case "markdown":
            return _render_markdown(plan, pictures)
    return _render_text(plan, color)


def _render_text(plan: Plan, color: bool) -> str:
    """The plan as text; the last line counts."""
    lines: list[str] = []
    folded = _fold(plan)
    for action in ACTIONS:
        entries = [(entry, worlds) for entry, worlds in folded if entry.action == action]
        if not entries:
            continue
        lines.append(paint(_TITLES[action], _COLORS[action], color))
        for entry, worlds in entries:
            place = ", ".join(part for part in (_spell_place(entry.file), worlds) if part)
            name = paint(channels.line(str(entry.ref)), BOLD, color)
            lines.append(f"  {name}{channels.line(f'  ({place})' if place else '')}")
            lines += [f"      {line}" for line in _describe(entry, color)]
        lines.append("")
    if plan.shifts or plan.preempted:
        lines.append("In the cluster")
        for shift in plan.shifts or ():
            told = channels.line(f"{shift.gang}: {_tell_shift(shift)}")
            lines.append(f"  {paint(told, RED if shift.harmful else '', color)}")
            lines += [channels.line(f"      {text}") for text in (shift.why, shift.way_out) if text]
        lines += [channels.line(f"  {spell_preempted(plan.preempted)}")] if plan.preempted else []
        lines.append("")
    elif plan.shifts is not None:
        lines += ["In the cluster: the same gangs run as before.", ""]
    lines.append(_summarize(plan))
    return "\n".join(lines) + "\n"


def _fold(plan: Plan) -> list[tuple[Entry, str]]:
    """What there is to say, with the worlds where an object is in several: what is the same in some of them is one."""
    entries = [entry for entry in plan.entries if not entry.is_silent]
    several = Counter(entry.ref for entry in entries)
    folded: dict[str, tuple[Entry, list[str]]] = {}
    for entry in entries:
        _, worlds = folded.setdefault(repr(entry._replace(world="")), (entry, []))
        worlds += [entry.world] if entry.world and several[entry.ref] > 1 else []
    return [(entry, f"in {', '.join(worlds)}" if worlds else "") for entry, worlds in folded.values()]


def _summarize(plan: Plan) -> str:
    """`1 refused, 0 to be replaced, 2 removed, 0 new, 3 updated in place, 7 unchanged`."""
    words = {"refuse": "refused", "replace": "to be replaced", "remove": "removed", "update": "updated in place"}
    return ", ".join(f"{number} {words.get(action, action)}" for action, number in plan.counts.items())


def _tell_shift(shift: Shift) -> str:
    """`starts before, never starts now`; `starts, and moves from rack a ×2 to rack b ×2`."""
    origin, target = (_spell_where(shift.key, each) for each in (shift.origin, shift.target))
    if shift.before == shift.after:
        return f"{shift.after}, {f'and moves from {origin} to {target}' if origin and target else 'as before'}"
    word = "in" if shift.key else "on"
    parts = [f"{shift.before} before{f' {word} {origin}' if origin else ''}"] if shift.before else ["new"]
    now = f"{shift.after} now{f' {word} {target}' if target else ''}"
    return ", ".join([*parts, now if shift.after else "gone now"])


def _spell_where(key: str, pods: Mapping[str, int]) -> str:
    """`rack a ×2, b`; empty where no pod has a node."""
    noun = key.rpartition("/")[2] or "node"
    return f"{noun} {spell_places([*pods.items()], noun + 's')}" if pods else ""


def _spell_place(file: FileRef | None) -> str:
    """`base/job.yaml:3:5`, empty when it is unknown or stdin."""
    return file.spell() if file and file.path != "-" else ""


def _spell_values(change: Change) -> Sequence[str]:
    """The old and the new value, each in one short line of JSON; long ones are cut to where they begin to differ."""
    texts = [_spell_value(change.old), _spell_value(change.new)]
    same = len(commonprefix(texts))
    start = same - _SHORT // 3 if same > _SHORT - 4 else 0
    return [_shorten(("..." if start else "") + text[start:]) for text in texts]


def _spell_value(value: Any) -> str:
    if value is ABSENT:
        return "(none)"
    return HIDDEN if value == HIDDEN else json.dumps(value, ensure_ascii=False, default=str)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def _describe(entry: Entry, color: bool) -> Lines:
    """What there is to say about an object, line by line, made harmless for a terminal."""
    line = channels.line
    for reason in entry.reasons:
        path = format_path(reason.path)
        yield line(f"{path + ': ' if path else ''}{reason.message} ") + paint(line(f"[{reason.rule}]"), FAINT, color)
    for change in entry.changes[:_MANY]:
        old, new = _spell_values(change)
        yield f"{line(format_path(change.path))}: {paint(line(old), RED, color)} -> {paint(line(new), GREEN, color)}"
    if len(entry.changes) > _MANY:
        yield f"... and {len(entry.changes) - _MANY} more changes"
    yield from map(line, entry.consequences)
    if entry.renames:
        yield "to be renamed together:"
        for place in entry.renames:
            where = _spell_place(place.file)
            yield line(f"  {place.ref} {format_path(place.path)}{f'  ({where})' if where else ''}")


def _render_markdown(plan: Plan, pictures: Sequence[Outlooks]) -> str:
    """A heading, the verdict, a table, then details of what is refused or has to be replaced."""
    verdict = "Everything can be applied in place."
    if plan.is_refused:
        verdict = (
            "**The API server would refuse this change.** What must be replaced needs a new name, or a deletion first."
        )
    lines = ["## Update plan", "", verdict, "", _summarize(plan), ""]
    named = [(entry, _name(entry, worlds)) for entry, worlds in _fold(plan)]
    changed = [(entry, name) for action in ACTIONS for entry, name in named if entry.action == action]
    if changed:
        lines += ["| object | what happens | why, or which fields |", "|---|---|---|"]
        lines += [f"| {name} | {_TITLES[entry.action]} | {_reason(entry)} |" for entry, name in changed]
        lines.append("")
    if plan.shifts is not None:
        lines += [*_write_cluster(plan, pictures), ""]
    for entry, name in changed:
        if entry.reasons or entry.consequences:
            lines += [f"### {name}", "", *_details(entry), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _write_cluster(plan: Plan, pictures: Sequence[Outlooks]) -> Lines:
    """What becomes of the gangs: a table, who makes room, and the nodes before and after."""
    from krmfn.reports.outlooks import draw_change

    if not plan.shifts and not plan.preempted:
        yield "In the cluster, the same gangs run as before."
        return
    yield from ("### In the cluster", "")
    if plan.shifts:
        yield from ("| gang | outlook | why |", "|---|---|---|")
    for shift in plan.shifts or ():
        why = ". ".join(text.rstrip(".") for text in (shift.why, shift.way_out) if text)
        outlook = f"{'🔴 ' if shift.harmful else ''}{channels.markdown(_tell_shift(shift))}"
        yield f"| {channels.code(shift.gang)} | {outlook} | {channels.markdown(why)} |"
    if plan.preempted:
        yield from ("", f"🔴 {channels.markdown(spell_preempted(plan.preempted))}")
    for before, after in pictures:
        yield from draw_change(before, after)


def _name(entry: Entry, worlds: str) -> str:
    return channels.code(str(entry.ref)) + (f" {channels.markdown(worlds)}" if worlds else "")


def _reason(entry: Entry) -> str:
    if entry.reasons:
        fields = dict.fromkeys(format_path(reason.path) or reason.message for reason in entry.reasons)
        return ", ".join(map(channels.code, fields))
    fields = dict.fromkeys(format_path(change.path) for change in entry.changes)
    return list_first(map(channels.code, fields), 4)


def _details(entry: Entry) -> Lines:
    for reason in entry.reasons:
        path = format_path(reason.path)
        yield f"* {f'{channels.code(path)}: ' if path else ''}{channels.markdown(reason.message)} ({reason.rule})"
    for change in entry.changes[:_MANY]:  # `spec.replicas: 3 -> 4`
        yield f"* {channels.code(f'{format_path(change.path)}: ' + ' -> '.join(_spell_values(change)))}"
    if entry.consequences:
        yield ""
        yield channels.markdown(" ".join(entry.consequences))
    if entry.renames:
        yield ""
        yield "To be renamed together:"
        yield ""
        for place in entry.renames:
            where = _spell_place(place.file)
            field = channels.code(format_path(place.path))
            yield f"* {channels.code(str(place.ref))} {field}{f' in {channels.code(where)}' if where else ''}"


def _to_document(plan: Plan, pictures: Sequence[Outlooks]) -> Fields:
    """The plan as plain values; keys without a value are left out."""
    document: Fields = {
        "entries": [_spell_entry(entry) for entry in plan.entries],
        "summary": dict(plan.counts),
        "refused": plan.is_refused,
    }
    if plan.shifts is not None:
        from krmfn.reports.outlooks import spell_outlook

        document["cluster"] = [_spell_shift(shift) for shift in plan.shifts]
        document["preempted"] = list(plan.preempted)
        document["outlooks"] = [
            {"before": before and spell_outlook(before), "after": spell_outlook(after)} for before, after in pictures
        ]
    return document


def _spell_shift(shift: Shift) -> Fields:
    document: Fields = {
        "gang": shift.gang,
        "before": shift.before or None,
        "after": shift.after or None,
        "harmful": shift.harmful,
    }
    told = {"key": shift.key, "from": dict(shift.origin), "to": dict(shift.target), "why": shift.why}
    told["change"] = shift.way_out
    return document | {key: entry for key, entry in told.items() if entry}


def _spell_entry(entry: Entry) -> Fields:
    document: Fields = {
        "action": entry.action,
        "resourceRef": entry.ref.to_json(),
        **_locate(entry.file),
        "world": entry.world,
        "changes": [
            {"path": format_path(path)} | {key: each for key, each in values.items() if each is not ABSENT}
            for path, values in ((change.path, {"old": change.old, "new": change.new}) for change in entry.changes)
        ],
        "reasons": [
            {"path": format_path(reason.path), "rule": reason.rule, "type": reason.type, "message": reason.message}
            for reason in entry.reasons
        ],
        "consequences": list(entry.consequences),
        "renames": [
            {"resourceRef": place.ref.to_json(), "path": format_path(place.path), **_locate(place.file)}
            for place in entry.renames
        ],
    }
    return {key: value for key, value in document.items() if value}


def _locate(file: FileRef | None) -> Fields:
    return {"file": file.to_json()} if file and file.path else {}


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
