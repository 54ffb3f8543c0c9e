"""Reads an ordinary command line by a command's tables, without click.

Only what cannot be misread: whole option names, values where they are due. Everything else (help, an abbreviation, a
mistake) is left to click, which knows how to explain it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krmfn.cli.options import Argument, Option


def parse(
    arguments: Argument, options: Sequence[Option], words: Sequence[str]
) -> tuple[list[str], dict[str, Any]] | None:
    """The positional words and the values by Option.key, or None where click has to look at it."""
    by_name = {name: option for option in options for name in option.names}
    values = {option.key: option.default for option in options}
    paths: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if option is None or (option.flag and equals) or (equals and not name.startswith("--")):
            return None
        if option.flag:
            values[option.key] = True
            continue
        if not equals:
            value = next(rest, "")
        if not value or value.startswith("-") or not _is_choice(option, value):
            return None
        values[option.key] = (*values[option.key], value) if option.several else value
    if len(paths) < arguments.least or (arguments.most is not None and len(paths) > arguments.most):
        return None
    if paths.count("-") > 1:
        return None
    return paths or [arguments.default] * bool(arguments.default), values


def _is_choice(option: Option, value: str) -> bool:
    words = value.split(",") if option.joined else [value]
    return not option.choices or all(word in option.choices for word in words)
