"""An object as it was meant: what a server would say next, once it can decode what stands in its way; and one sentence
that says what to do about a cause, where more can be said than the server does.

Loaded only when something was found.
"""

from __future__ import annotations

import re
from typing import Any, Final

from krmfn.krm.errors import EditRefused
from krmfn.krm.paths import Path, dig
from krmfn.krm.results import ABSENT
from krmfn.model.findings import EditStep, Note
from krmfn.model.gotext import parse_int
from krmfn.model.rules import RULES
from krmfn.model.showing import is_secret, show
from krmfn.model.wording import find_nearest
from krmfn.releases.release import Release
from krmfn.server.mends import Mend, carry_out, find_advice, find_mend, find_type, is_whole
from krmfn.server.schema import Type
from krmfn.server.verdict import Cause

#: The status of an answer about what cannot be decoded.
_BAD_REQUEST: Final = 400
_ALIKE: Final = 0.85
_MOST_ROUNDS: Final = 20
#: How a hint begins that only lists fields.
_KNOWN: Final = "Known here"
#: Before the values that a server would take.
_SUPPORTED: Final = "supported values: "


class Meaning:
    """`value` is the object as far as it was made out, after each `advance`."""

    def __init__(self, root: Type, value: Any, release: Release) -> None:
        self.value = value
        self._root = root
        self._written = value
        self._release = release
        self._rounds = 0
        self._steps: list[tuple[EditStep, ...]] = []
        self._dropped: set[Path] = set()
        #: Where something was moved to, and where it stands in the text.
        self._moved: list[tuple[Path, Path]] = []

    def tell(self, cause: Cause, code: int) -> Note | None:
        """The note about a cause, with the steps that mend it; None for what only follows from an earlier one."""
        path = self._trace(cause.path)
        if self._follows(cause, path):
            return None
        found = dig(self._written, *path, default=ABSENT)
        hint = find_hint(self._root, self.value, cause)
        note = Note(cause.rule, path, cause.message, found, hint=hint, type=cause.type)
        if code != _BAD_REQUEST:
            return note._replace(proposed=self._find_word(cause))
        mend = find_mend(self._root, self.value, cause, self._release)
        is_hidden = mend is not None and self._hides(mend, path, found)
        if is_hidden and not isinstance(found, bool | int):  # whoever fixes the file sees no more than he has
            mend = None
        self._steps.append(mend.steps if mend else (EditStep(cause.path),))
        if mend is None:
            self._dropped.add(cause.path)
            return note
        self._moved += [(step.path, cause.path) for step in mend.steps if step.value is not ABSENT]
        self._moved += [((*step.path[:-1], step.key), cause.path) for step in mend.steps if step.key]
        if is_hidden:
            return note._replace(mend=mend.steps)
        note = note._replace(hint=self._spell_hint(hint, mend))
        if path != cause.path:  # the steps begin where those of another note end
            return note
        if len(mend.steps) == 1 and mend.steps[0].path == path and mend.steps[0].value is not ABSENT:
            return note._replace(proposed=mend.steps[0].value)
        return note._replace(mend=mend.steps)

    def advance(self) -> bool:
        """Take over what the notes since the last time mend, and leave out what they do not; False where there is
        nothing more to find out."""
        before, self._rounds = self.value, self._rounds + 1
        for steps in self._steps:
            try:
                self.value = carry_out(self.value, steps)
            except EditRefused:  # the place of another one
                continue
        self._steps = []
        return self.value != before and self._rounds < _MOST_ROUNDS

    def _trace(self, path: Path) -> Path:
        """Where in the text something stands that may have been moved."""
        for new, old in reversed(self._moved):
            if path[: len(new)] == new:
                inside = (*old, *path[len(new) :])
                return inside if dig(self._written, *inside, default=ABSENT) is not ABSENT else old
        return path

    def _hides(self, mend: Mend, path: Path, found: Any) -> bool:
        """Whether a mend would show what reports hide."""
        kind = str(self._written.get("kind"))
        shown = [(path, found), *((step.path, step.value) for step in mend.steps)]
        return any(show(kind, place, value) != value for place, value in shown)

    def _follows(self, cause: Cause, path: Path) -> bool:
        """Whether a cause is about the absence of what was left out, what the server fills in from it, or a guess."""
        if any(dropped[: len(cause.path)] == cause.path for dropped in self._dropped):
            return True
        above = cause.path[:-1]  # the server says `resources.storage` for `resources.requests.storage`
        if cause.type == "Required" and any(
            dropped[: len(above)] == above and dropped[-1:] == cause.path[-1:] for dropped in self._dropped if above
        ):
            return True
        if cause.type == "Required":
            return path != cause.path and any(cause.path == new for new, _ in self._moved)
        beside = {dropped[:-1] for dropped in self._dropped}
        return cause.path[:-1] in beside and dig(self.value, *cause.path) is None

    def _find_word(self, cause: Cause) -> Any:
        """The value of an enumeration that was meant, or the member of a union that was left empty."""
        found, of = dig(self.value, *cause.path), find_type(self._root, cause.path)
        if isinstance(found, dict) and of and (member := next((name for name in of.union if name in found), "")):
            empty = found[member] is None and is_whole(of.fields[member].type, {})
            return {**found, member: {}} if empty else ABSENT
        if cause.type != "NotSupported" or not isinstance(found, str) or self._trace(cause.path) != cause.path:
            return ABSENT
        known = re.findall('"([^"]+)"', cause.message.partition(_SUPPORTED)[2])
        inside = [  # as constants of Go are called, or cut off
            each
            for each in known
            if found.startswith(each) or found.endswith(each) or (len(found) > 3 and each.startswith(found))
        ]
        nearest = find_nearest(found, known, _ALIKE) or (inside[0] if len(inside) == 1 else "")
        return nearest if nearest and nearest != found else ABSENT

    def _spell_hint(self, hint: str, mend: Mend) -> str:
        nothing = f"Kubernetes {self._release} has nothing that means the same"
        if not mend.meant:
            return f"Remove it: {mend.dropped.strip() or nothing}."
        if not hint or hint.startswith(_KNOWN) or mend.meant not in hint:
            calls = f"Kubernetes {self._release} calls it {mend.meant}."
            hint = f"Write {mend.meant}." if mend.meant[0] in '{["' else calls
        return f"{hint} Remove {mend.dropped}: {nothing}." if mend.dropped else hint


def find_hint(root: Type, value: Any, cause: Cause) -> str:
    """The hint for a cause, empty when there is nothing to add."""
    if cause.rule == "unknown-field":
        return _nearest_name(root, cause.path)
    if cause.rule == "wrong-type" and isinstance(value, dict):
        spelling = _other_spelling(value, cause, is_secret(str(value.get("kind")), cause.path))
        return spelling or _describe(find_type(root, cause.path))
    return RULES[cause.rule].hint


def _nearest_name(root: Type, path: Path) -> str:
    """The field of that place which the unknown name resembles, or where a field of that name is."""
    wrong, parent = path[-1], find_type(root, path[:-1])
    if parent is None or parent.kind != "struct" or not isinstance(wrong, str):
        return ""
    if advice := find_advice(parent, wrong):
        return advice
    names = list(parent.fields)
    for name in names:
        if name.lower() == wrong.lower():
            return f"Field names are case-sensitive: did you mean `{name}`?"
    from difflib import get_close_matches

    close = get_close_matches(wrong, names, 1, 0.6)
    if close:
        return f"Did you mean `{close[0]}`?"
    if names:
        return f"Known here: {', '.join(f'`{name}`' for name in names[:12])}."
    return "This object has no fields: leave it empty (`{}`)."


def _other_spelling(value: Any, cause: Cause, secret: bool) -> str:
    for part in cause.path:
        try:
            value = value[part]
        except (TypeError, KeyError, IndexError):
            return ""
    if isinstance(value, bool | int) and cause.message.endswith(" of type string"):
        return "Write it in quotes." if secret else f'Write it in quotes: "{str(value).lower()}".'
    if secret:
        return ""
    if isinstance(value, float) and value == int(value):
        return f"Write it as an integer: {int(value)}."
    if parse_int(value) is not None:
        return f"Write the number without quotes: {value}."
    return ""


def _describe(of: Type | None) -> str:
    """What a field takes, where something else stands there."""
    if of is None or of.kind not in ("struct", "string"):
        return ""
    fields = " and ".join(f"`{name}`" for name in of.fields if len(of.fields) <= 4) if of.kind == "struct" else ""
    return f"Write an object{' with ' if fields else ''}{fields}." if of.kind == "struct" else "Write a text."
