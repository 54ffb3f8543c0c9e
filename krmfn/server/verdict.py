"""What the server answers to one request, and each thing that it refuses: its type, its place, the server's text.

Knows no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.showing import cut
from krmfn.model.values import Fields, Names
from krmfn.server.spell import spell, spell_path
from krmfn.server.strategy import RANDOM, STORED_UID

_NOTHING: Fields = {}
#: A server's text of one field is longer only where somebody wants it to be; many such texts would fill the memory.
_MOST_CHARACTERS = 40_000
_OF_NOTHING = ("Invalid value: null", 'Invalid value: "":', "Invalid value: {…}")


#: The rule of what is wrong by no other.
RULE = "invalid-value"


class Cause(NamedTuple):
    """`type` is Required, Invalid, …; `message` starts with the type's text; `rule` is the id of the rule's row."""

    type: str
    path: Path
    message: str
    rule: str


#: What a rule says of an object, as it finds it; and where what is said is gathered.
Causes: TypeAlias = "Iterator[Cause]"
Out: TypeAlias = "list[Cause]"

#: How a change is sent.
Mode: TypeAlias = 'Literal["apply", "server-side-apply", "replace"]'


def _limit(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else cut(text, _MOST_CHARACTERS)


def required(path: Path, detail: str = "", rule: str = "required") -> Cause:
    return Cause("Required", path, "Required value" + (f": {detail}" if detail else ""), rule)


def forbidden(path: Path, detail: str = "", rule: str = RULE) -> Cause:
    return Cause("Forbidden", path, "Forbidden" + (f": {detail}" if detail else ""), rule)


def invalid(path: Path, value: Any, detail: str, rule: str = RULE) -> Cause:
    """`value` is a plain value; objects are passed to invalid_text() already spelled."""
    return Cause("Invalid", path, _limit(f"Invalid value: {spell(value)}: {detail}"), rule)


def refuse_text(path: Path, text: Any, messages: Collection[str], rule: str = RULE) -> Collection[Cause]:
    """A text that is wrong in each of these ways."""
    return [invalid(path, text, message, rule) for message in messages] if messages else ()


def invalid_text(path: Path, text: str, detail: str, rule: str = RULE) -> Cause:
    return Cause("Invalid", path, _limit(f"Invalid value: {text}" + (f": {detail}" if detail else "")), rule)


def not_supported(path: Path, text: str, values: Collection[str], rule: str = "enum") -> Cause:
    left, listed = _MOST_CHARACTERS, []
    for value in values:
        listed.append(spell(value))
        left -= len(listed[-1])
        if left < 0:
            listed.append(f"… ({len(values)} values)")
            break
    return Cause(
        "NotSupported", path, _limit(f"Unsupported value: {text}: supported values: {', '.join(listed)}"), rule
    )


def find_repeated(values: Iterable[Any]) -> set[int]:
    """The places of values that a list has before.

    >>> find_repeated(["a", "b", "a", "a"])
    {2, 3}
    """
    seen: dict[Any, int] = {}
    return {index for index, value in enumerate(values) if seen.setdefault(value, index) != index}


def duplicate(path: Path, text: str, rule: str = "unique-key") -> Cause:
    return Cause("Duplicate", path, _limit(f"Duplicate value: {text}"), rule)


def not_found(path: Path, text: str, detail: str = "") -> Cause:
    return Cause("NotFound", path, f"Not found: {text}" + (f": {detail}" if detail else ""), RULE)


def too_many(path: Path, count: int, limit: int) -> Cause:
    items = "item" if limit == 1 else "items"
    return Cause("TooMany", path, f"Too many: {count}: must have at most {limit} {items}", "max-items")


def too_long(path: Path, limit: int, unit: str = "bytes", rule: str = RULE) -> Cause:
    return Cause("TooLong", path, f"Too long: may not be more than {limit} {unit}", rule)


#: Rules that any field may break.
_GENERAL = frozenset((RULE, "required", "enum", "minimum", "unique-key", "max-items"))


def note_rule(out: Out, start: int, rule: str) -> None:
    """The causes from `start` on are of a rule, but for those that are of a narrower one."""
    if start < len(out):
        out[start:] = [cause._replace(rule=rule) if cause.rule in _GENERAL else cause for cause in out[start:]]


def of_rule(rule: str, causes: Iterable[Cause]) -> Out:
    """The causes, of a rule where they are of no narrower one."""
    out = list(causes)
    note_rule(out, 0, rule)
    return out


class Verdict(NamedTuple):
    """The answer. `code` is the HTTP status; accepted means below 300.

    `causes` are the refusals by field (for 400 the decoder's problems, for 403 the plugin's one); `message` is the
    server's whole text. `dropped` are paths that were sent and are silently removed, because a gate is off. `stored` is
    the object as the server holds it afterwards, in normal form (see decode): what `write_object` turns into JSON.
    """

    code: int
    message: str = ""
    causes: tuple[Cause, ...] = ()
    dropped: tuple[tuple[Path, str], ...] = ()
    warnings: Names = ()
    stored: Fields = _NOTHING

    @property
    def accepted(self) -> bool:
        """Whether the object would be stored."""
        return self.code < 300


def refused_by(causes: tuple[Cause, ...]) -> Verdict:
    """The refusal of a kind for which the whole text of the answer is not known here; accepted without causes."""
    if not causes:
        return Verdict(201)
    return Verdict(400 if any(cause.type == "Decode" for cause in causes) else 422, causes=causes)


def refuse(kind: str, group: str, name: str, causes: Out, generated: str = "") -> Verdict:
    """The 422 of validation. The uid is the server's secret: it is shown as `<uid>`.

    Of a `generated` name only the part is shown that is known, which is what the manifest says.
    """
    if generated:
        known = generated.removesuffix(RANDOM)
        name = known
        causes = [cause._replace(message=cause.message.replace(generated, known)) for cause in causes]
    if any(STORED_UID in cause.message for cause in causes):
        causes = [cause._replace(message=cause.message.replace(STORED_UID, "<uid>")) for cause in causes]
    texts = list(dict.fromkeys(f"{spell_path(cause.path)}: {cause.message}" for cause in causes))
    body = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    return Verdict(422, f'{qualified} "{name}" is invalid: {body}', tuple(causes))


def refuse_whole(code: int, type: str, path: Path, text: str, rule: str) -> Verdict:
    """What ends a request before its fields are looked at: one cause, whose text is the whole answer."""
    return Verdict(code, text, (Cause(type, path, text, rule),))


def guard(answer: Callable[..., Verdict], *arguments: Any) -> Verdict:
    """The answer, or a refusal where the object is nested deeper than Python can follow: no real one is."""
    try:
        return answer(*arguments)
    except RecursionError:
        return refuse_whole(400, "Decode", (), "the object is nested too deeply", "bad-value")


def join_reasons(causes: Iterable[Cause], value: Any) -> Out:
    """The causes, one for each mistake: what the server says several times about one text in `value`, or again about
    what it has filled in from that text, is one."""
    joined: dict[tuple[Any, ...], Cause] = {}
    for number, cause in enumerate(causes):
        start, is_text, reason = cause.message.partition('": ')
        if cause.type != "Invalid" or not is_text:
            joined[(number,)] = cause
        elif (key := (cause.path, cause.rule, start)) in joined:
            joined[key] = joined[key]._replace(message=f"{joined[key].message}; {reason}")
        else:
            joined[key] = cause
    # Nothing is filled in from a null or an empty text: two fields that are wrong in the same words are two mistakes.
    written = {
        cause.message
        for cause in joined.values()
        if cause.path and not cause.message.startswith(_OF_NOTHING) and dig(value, *cause.path) is not None
    }
    return [
        cause
        for cause in joined.values()
        if cause.type != "Invalid" or cause.message not in written or dig(value, *cause.path) is not None
    ]
