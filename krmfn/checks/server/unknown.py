"""Answers about objects with placeholders: what is unknown is left out of the object, and out of the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from krmfn.krm.paths import Path, dig
from krmfn.model.placeholders import (
    has_placeholder,
    is_braced,
    is_name_placeholder,
    is_number_placeholder,
    is_placeholder,
)
from krmfn.server.verdict import Cause, Verdict

#: Answers about what is there at all, whatever its value is.
_STRUCTURE: Final = ("unknown-field", "duplicate-field")
#: Answers about texts where a number, a quantity or encoded data is expected.
_NO_TEXT: Final = ("wrong-type", "bad-value")
#: What an answer about an object where a scalar is expected says, and how it ends.
_NO_OBJECT: Final = "cannot unmarshal object into "
_SCALARS: Final = (" of type string", " of type int32", " of type int64", " of type bool")
#: What answers say that compare an object with the one that is stored.
_CHANGES: Final = ("immutable", "may not change", "updates to ")
_MOST: Final = 50


def judge_known(
    judge: Callable[[Any], Verdict], value: Any, verdict: Verdict, old: Any = None
) -> tuple[Verdict, Path | None]:
    """`verdict`, which `judge` gave about `value` (a change of `old`), without what it says about placeholders, and
    where the first is.

    A placeholder where a number is expected hides the rest of the object: it is left out, and the rest is judged.
    """
    whole = value
    gone: dict[Path, None] = {}  # in the order of the text
    while len(gone) < _MOST:
        found = [cause.path for cause in verdict.causes if cause.path and _is_placeholder(cause, value)]
        hiding = [path for path in found if verdict.code == 400 and isinstance(dig(value, *path[:-1]), dict)]
        if not hiding:
            break
        (*parent, _) = hiding[0]
        for key, each in dig(value, *parent).items():  # a Secret may consist of them
            if is_name_placeholder(each) or (*parent, key) in hiding:
                gone[(*parent, key)] = None
                value = _drop(value, (*parent, key))
        verdict = judge(value)
    emptied = {path[:end] for path in gone for end in range(len(path) + 1)}
    beside = {path[:-1] for path in gone}
    known = tuple(
        cause
        for cause in verdict.causes
        if cause.path not in emptied
        and not _is_left_out(cause, gone)
        and not _is_derived(cause, value, beside)
        and not _is_unknown(cause, value, old)
        and not _is_mounted(cause, whole)
    )
    left_out = [*gone, *(cause.path for cause in verdict.causes if cause not in known)]
    return (verdict._replace(causes=known), left_out[0]) if left_out else (verdict, None)


def _is_left_out(cause: Cause, gone: Collection[Path]) -> bool:
    """Whether a cause misses what was left out below its place: the server says `resources.storage` for `requests`."""
    above = cause.path[:-1]
    return cause.type == "Required" and any(
        path[: len(above)] == above and path[-1:] == cause.path[-1:] for path in gone if above
    )


def _is_derived(cause: Cause, value: Any, beside: set[Path]) -> bool:
    """Whether a cause is about what the server fills in from what was left out, as a targetPort from its port."""
    return cause.type != "Required" and cause.path[:-1] in beside and dig(value, *cause.path) is None


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


def _drop(value: Any, path: Sequence[str | int]) -> Any:
    """The value without what is at `path`, whose parents are there."""
    first, rest = path[0], path[1:]
    if isinstance(value, dict):
        if not rest:
            return {key: each for key, each in value.items() if key != first}
        return {key: _drop(each, rest) if key == first else each for key, each in value.items()}
    return [_drop(each, rest) if index == first else each for index, each in enumerate(value)]
