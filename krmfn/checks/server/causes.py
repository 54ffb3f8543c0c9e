"""One refusal of the server: its type, its place, the server's text. Knows no rule."""

from __future__ import annotations

from typing import Any

from krmfn.checks.server.spell import spell
from krmfn.krm.paths import Path
from krmfn.krm.records import NamedTuple


class Cause(NamedTuple):
    """`type` is Required, Invalid, …; `message` starts with the type's text; `rule` is the id of the rule's row."""

    type: str
    path: Path
    message: str
    rule: str


def required(path: Path, rule: str, detail: str = "") -> Cause:
    return Cause("Required", path, "Required value" + (f": {detail}" if detail else ""), rule)


def forbidden(path: Path, rule: str, detail: str = "") -> Cause:
    return Cause("Forbidden", path, "Forbidden" + (f": {detail}" if detail else ""), rule)


def invalid(path: Path, rule: str, value: Any, detail: str) -> Cause:
    """`value` is a plain value; objects are passed to invalid_text() already spelled."""
    return Cause("Invalid", path, f"Invalid value: {spell(value)}: {detail}", rule)


def invalid_text(path: Path, rule: str, text: str, detail: str) -> Cause:
    return Cause("Invalid", path, f"Invalid value: {text}: {detail}", rule)


def not_supported(path: Path, rule: str, text: str, values: tuple[str, ...]) -> Cause:
    listed = ", ".join(spell(value) for value in values)
    return Cause("NotSupported", path, f"Unsupported value: {text}: supported values: {listed}", rule)


def duplicate(path: Path, rule: str, text: str) -> Cause:
    return Cause("Duplicate", path, f"Duplicate value: {text}", rule)


def too_many(path: Path, rule: str, count: int, limit: int) -> Cause:
    items = "item" if limit == 1 else "items"
    return Cause("TooMany", path, f"Too many: {count}: must have at most {limit} {items}", rule)


def too_long(path: Path, rule: str, limit: int) -> Cause:
    return Cause("TooLong", path, f"Too long: may not be more than {limit} bytes", rule)
