"""Where in an object a place of a text is, also while it cannot be read: by the indentation of its lines."""

from __future__ import annotations

import re
from typing import NamedTuple

_KEY = re.compile(
    r"""^(?P<indent>[ ]*)(?P<dashes>(?:-[ ]+)*)(?P<quote>["']?)(?P<key>[^\s"'#:-][^"'#:]*+)(?P=quote)[ ]*:"""
)
_EMPTY = re.compile(r"^\s*(#.*)?$")


class Context(NamedTuple):
    """A place in an object. `path` are the keys that lead to the line's own, which is `key`, empty where none is
    written; `value` is what stands behind it. `on_key`: the cursor is on the key, or where one would be."""

    api_version: str
    kind: str
    path: tuple[str, ...]
    key: str
    value: str
    on_key: bool

    @property
    def whole(self) -> tuple[str, ...]:
        """The keys that lead to the value of the line."""
        return (*self.path, self.key) if self.key else self.path


def find_context(text: str, line: int, column: int) -> Context:
    """The place at a line and column, counted from 0, of a YAML text in block style."""
    lines = re.split(r"\r\n|\r|\n", text)
    marks = [number for number, each in enumerate(lines) if each.startswith("---")]
    start = max((number + 1 for number in marks if number < line), default=0)
    end = min((number for number in marks if number >= max(line, start)), default=len(lines))
    here = lines[line] if line < len(lines) else ""
    found = _KEY.match(here)
    key = found["key"].strip() if found else ""
    value = here[found.end() :].split(" #")[0].strip(" \"'") if found else ""
    depth = len(found["indent"]) + len(found["dashes"]) if found else _find_depth(here, column)
    path = []
    for number in range(line - 1, start - 1, -1):
        above = _KEY.match(lines[number])
        if above is None or _EMPTY.match(lines[number]):
            continue
        indent = len(above["indent"]) + len(above["dashes"])
        if indent < depth:
            path.append(above["key"].strip())
            depth = indent
        if indent == depth and above["dashes"]:  # the list's own key may be as deep as its dashes
            depth = len(above["indent"]) + 1
    document = lines[start:end]
    return Context(
        _find_head(document, "apiVersion"),
        _find_head(document, "kind"),
        tuple(reversed(path)),
        key,
        value,
        found is None or column <= found.end() - 1,
    )


def _find_depth(line: str, column: int) -> int:
    """How deep the key is that is begun on a line, or would be where the cursor is."""
    begun = re.match(r"[ ]*(?:-[ ]+)*", line)
    return len(begun[0]) if begun and line.strip() else column


def _find_head(lines: list[str], key: str) -> str:
    found = (line.removeprefix(f"{key}:").split("#")[0].strip(" \"'") for line in lines if line.startswith(f"{key}:"))
    return next(found, "")
