"""An object as it was meant: what a server would say next, once it can decode what stands in its way; one sentence that
says what to do about a cause, where more can be said than the server does; and answers about objects with placeholders:
what is unknown is left out of the object, and out of the answer.

Loaded only when something was found."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from krmfn.krm.editing import REMOVED, edit_copy
from krmfn.krm.errors import EditRefused
from krmfn.krm.paths import Path, dig
from krmfn.krm.results import ABSENT
from krmfn.model.findings import EditStep, Note
from krmfn.model.gotext import parse_int
from krmfn.model.placeholders import (
    has_placeholder,
    is_braced,
    is_name_placeholder,
    is_number_placeholder,
    is_placeholder,
)
from krmfn.model.rules import RULES
from krmfn.model.showing import is_secret, show
from krmfn.model.wording import find_nearest
from krmfn.releases.release import Release
from krmfn.server.mends import Mend, carry_out, find_advice, find_mend, find_type, is_whole
from krmfn.server.schema import Type
from krmfn.server.verdict import Cause, Verdict

_ALIKE = 0.85
_MOST_ROUNDS = 20


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
        if code != 400:
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
        """Take over what the notes since the last time mend, and leave out the rest; False where nothing is left."""
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
        """Whether a cause follows from what was left out, or is about a guess."""
        if _follows_from(cause, self._dropped, self.value):
            return True
        return cause.type == "Required" and path != cause.path and any(cause.path == new for new, _ in self._moved)

    def _find_word(self, cause: Cause) -> Any:
        """The value of an enumeration that was meant, or the member of a union that was left empty."""
        found, of = dig(self.value, *cause.path), find_type(self._root, cause.path)
        if isinstance(found, dict) and of and (member := next((name for name in of.union if name in found), "")):
            empty = found[member] is None and is_whole(of.fields[member].type, {})
            return {**found, member: {}} if empty else ABSENT
        if cause.type != "NotSupported" or not isinstance(found, str) or self._trace(cause.path) != cause.path:
            return ABSENT
        known = re.findall('"([^"]+)"', cause.message.partition("supported values: ")[2])
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
        if not hint or hint.startswith("Known here") or mend.meant not in hint:
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
    value = dig(value, *cause.path)
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
    if of is None or of.kind != "struct":
        return "Write a text." if of and of.kind == "string" else ""
    fields = " and ".join(f"`{name}`" for name in of.fields) if len(of.fields) <= 4 else ""
    return f"Write an object with {fields}." if fields else "Write an object."


#: Answers about what is there at all, whatever its value is.
_STRUCTURE = ("unknown-field", "duplicate-field")
#: Answers about texts where a number, a quantity or encoded data is expected.
_NO_TEXT = ("wrong-type", "bad-value")
#: What an answer about an object where a scalar is expected says, and how it ends.
_NO_OBJECT = "cannot unmarshal object into "
_SCALARS = (" of type string", " of type int32", " of type int64", " of type bool")
#: What answers say that compare an object with the one that is stored.
_CHANGES = ("immutable", "may not change", "updates to ")
_MOST = 50


def judge_known(judge: Callable[[Any], Verdict], value: Any, verdict: Verdict, old: Any) -> tuple[Verdict, Path | None]:
    """`verdict`, which `judge` gave about `value` (a change of `old`), without what it says about placeholders, and
    where the first is.

    A placeholder where a number is expected hides the rest of the object: it is left out, and the rest is judged.
    """
    whole = value
    gone: dict[Path, None] = {}  # in the order of the text
    while verdict.code == 400 and len(gone) < _MOST:
        found = [cause.path for cause in verdict.causes if cause.path and _is_placeholder(cause, value)]
        hiding = [path for path in found if isinstance(dig(value, *path[:-1]), dict)]
        if not hiding:
            break
        (*parent, _) = hiding[0]
        for key, each in dig(value, *parent).items():  # a Secret may consist of them
            if is_name_placeholder(each) or (*parent, key) in hiding:
                gone[(*parent, key)] = None
                value = edit_copy(value, (*parent, key), 0, REMOVED)
        verdict = judge(value)
    known = tuple(
        cause
        for cause in verdict.causes
        if not _follows_from(cause, gone, value)
        and not _is_unknown(cause, value, old)
        and not _is_mounted(cause, whole)
    )
    left_out = [*gone, *(cause.path for cause in verdict.causes if cause not in known)]
    return (verdict._replace(causes=known), left_out[0]) if left_out else (verdict, None)


def _follows_from(cause: Cause, gone: Collection[Path], value: Any) -> bool:
    """Whether a cause is about what is empty, missing or filled in otherwise because parts of an object are `gone`.

    The server says `resources.storage` for what is missing in `resources.requests`, and fills in a targetPort from its
    port.
    """
    if any(path[: len(cause.path)] == cause.path for path in gone):
        return True
    above = cause.path[:-1]
    if cause.type == "Required":
        return any(path[: len(above)] == above and path[-1:] == cause.path[-1:] for path in gone if above)
    return any(path[:-1] == above for path in gone) and dig(value, *cause.path) is None


def _is_mounted(cause: Cause, value: Any) -> bool:
    """Whether a cause misses a volume that is there: the server does not count one that it refuses."""
    if cause.type != "NotFound" or cause.path[-1:] != ("name",):
        return False
    volumes, name = dig(value, *cause.path[:-5], "volumes"), dig(value, *cause.path)
    return isinstance(volumes, list) and any(
        isinstance(volume, dict) and volume.get("name") == name and has_placeholder(volume) for volume in volumes
    )


def _is_unknown(cause: Cause, value: Any, old: Any) -> bool:
    if cause.path == ("sops",) and isinstance(dig(value, "sops", "mac"), str):  # gone when the object is decrypted
        return True
    if cause.rule == "unknown-field" and is_braced(dig(value, *cause.path[:-1])):
        return True
    if cause.type in ("Required", "Duplicate") or cause.rule in _STRUCTURE:  # two that are written alike are alike
        return False
    if cause.path and is_name_placeholder(cause.path[-1]):  # the key of a mapping
        return True
    found = dig(value, *cause.path)
    if old is not None and any(words in cause.message for words in _CHANGES):
        changed = list(_list_changes(found, dig(old, *cause.path)))
        return bool(changed) and all(map(has_placeholder, changed))
    # What the server itself derives, as labels of pods from a name, or the label of a namespace.
    # Of a list the server names the element that it does not know. The uid that it will give is no placeholder.
    named = cause.message.replace("<uid>", "").partition(": ")[2].partition(": ")[0]
    if cause.type in ("Invalid", "NotSupported") and is_placeholder(named):
        return True
    if cause.type == "NotSupported":
        return has_placeholder(found) if isinstance(found, dict) else is_placeholder(found)  # of a strategy
    return has_placeholder(found) or _is_placeholder(cause, value)


def _is_placeholder(cause: Cause, value: Any) -> bool:
    """Whether what is at the place of a cause is a placeholder."""
    found = dig(value, *cause.path)
    if _NO_OBJECT in cause.message and cause.message.endswith(_SCALARS):  # `{name}` is a mapping in YAML
        return is_braced(found)
    no_text = cause.rule in _NO_TEXT or "(a-z" in cause.message  # the name of a port, where its number may be
    return is_number_placeholder(found) if no_text and isinstance(found, str) else is_name_placeholder(found)


def _list_changes(new: Any, old: Any) -> Iterator[Any]:
    """The values that are other than before. What is missing may have been filled in."""
    if isinstance(new, dict) and isinstance(old, dict):
        for name, item in new.items():
            yield from _list_changes(item, old.get(name))
    elif isinstance(new, list) and isinstance(old, list) and len(new) == len(old):
        for one, other in zip(new, old, strict=True):
            yield from _list_changes(one, other)
    elif new is not None and str(new) != str(old):
        yield new
