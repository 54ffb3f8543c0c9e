"""Scalars of several lines, of the plainest kind: literal blocks, texts in single quotes, plain texts that go on.

Each function gives the node, or None where the text is of another kind. `start` is where the scalar begins; its lines
are indented more than `column`, that of the collection that it is in.
"""

from __future__ import annotations

import re

from krmfn.krm.nodes import Scalar

#: A further line of a plain scalar.
_REST = r" ++(?!#)((?:[^ \n:#]|:(?=[^ \n])|(?<=[^ ])#| ++(?=[^#\n]))+) *+(?=\n|\Z)"
#: A text in single quotes, on any number of lines; nothing follows it on its last line.
_TEXT = r"'((?:[^']|'')*)'(?= *(?:\n|\Z))"


def read_on(text: str, start: int, end: int, position: int, column: int) -> Scalar | None:
    """A plain scalar whose first line ends at `end`, and which goes on in the line at `position`."""
    if text[start] in "'\"" or text[end:position].strip(" \n"):  # a comment ends it
        return None
    pieces = [text[start:end]]
    rest = re.compile(_REST)
    while (found := rest.match(text, position)) and found.start(1) - position > column:
        breaks = text.count("\n", end, position)
        pieces += (" " if breaks == 1 else "\n" * (breaks - 1), found[1])
        end = found.end(1)
        position = found.end() + 1
        while text.startswith("\n", position):
            position += 1
    if len(pieces) == 1:
        return None
    return Scalar(start, end, None, None, "".join(pieces), "")


def read_quoted(text: str, start: int, column: int) -> Scalar | None:
    """A text in single quotes that ends on a further line."""
    found = re.compile(_TEXT).match(text, start)
    if found is None:
        return None
    pieces: list[str] = []
    first, *lines = found[1].split("\n")
    breaks = 0
    for number, each in enumerate(lines, 1):
        bare = each.lstrip(" ")
        breaks += 1
        if bare or number == len(lines):
            if len(each) - len(bare) <= column:
                return None
            pieces += (" " if breaks == 1 else "\n" * (breaks - 1), bare if number == len(lines) else bare.rstrip(" "))
            breaks = 0
    content = first.rstrip(" ") + "".join(pieces)
    return Scalar(start, found.end(), None, None, content.replace("''", "'"), "'")


def read_literal(text: str, start: int, mark: str, position: int, column: int) -> Scalar | None:
    """A literal block of a sign (`|`, `|-`, `|+`) whose lines begin at `position`: those that are indented as the first
    one, and empty ones. The node ends where the next line begins."""
    size = len(text)
    body = position
    while text[body : body + 1] == " ":
        body += 1
    indent = body - position
    if text[body : body + 1] in ("", "\n") or indent <= column:
        return None
    margin = " " * indent
    lines: list[str] = []
    last = 0
    while position < size:
        stop = text.find("\n", position)
        if stop == position:
            lines.append("")
        elif not text.startswith(margin, position):
            if not text[position : stop if stop >= 0 else size].strip():
                return None
            break
        else:
            found = text[position + indent : stop if stop >= 0 else size]
            if stop < 0 or not found.strip():
                return None
            lines.append(found)
            last = len(lines)
        position = stop + 1
    content = "\n".join(lines[:last])
    if mark != "|-":
        content += "\n" * (1 + (len(lines) - last if mark == "|+" else 0))
    return Scalar(start, position, None, None, content, "|")
