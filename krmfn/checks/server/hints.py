"""One sentence that says what to do about a cause, where more can be said than the server does.

Loaded only when something was found.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int
from krmfn.model.rules import RULES
from krmfn.model.showing import is_secret
from krmfn.server.mends import find_advice, find_type
from krmfn.server.schema import Type
from krmfn.server.verdict import Cause


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
