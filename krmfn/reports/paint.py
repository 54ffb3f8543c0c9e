"""Text at a terminal: its colours, its links, its width. The one place that writes escape sequences.

The function prints its findings with this module, so it imports nothing that costs start-up time.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.terminal import line

RED = "1;31"
GREEN = "1;32"
YELLOW = "1;33"
CYAN = "1;36"
BOLD = "1"
FAINT = "2"


def paint(text: str, style: str, color: bool = True) -> str:
    """The text in a style, unless there are no colours. The text has been escaped before.

    >>> paint("a", RED)
    '\\x1b[1;31ma\\x1b[0m'
    """
    return f"\x1b[{style}m{text}\x1b[0m" if color and style and text else text


def link(text: str, address: str) -> str:
    """The text as a link (OSC 8). Terminals that know none print the text alone. Both have been escaped before."""
    return f"\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\"


def count_columns(text: str) -> int:
    """How many columns a terminal needs for text that has been escaped.

    >>> count_columns("a漢"), count_columns("e\\u0301\\u200d")
    (3, 1)
    """
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    return sum(
        0 if category(char) in ("Mn", "Me", "Cf") else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def flow(words: Iterable[tuple[str, str]], width: int, indent: str = "") -> str:
    """Words in lines of at most `width` columns, where they fit; `indent` begins every line but the first. Of each word
    there is what is seen of it, and what is printed."""
    rows: list[list[str]] = [[]]
    used = 0
    for seen, printed in words:
        columns = count_columns(seen)
        if rows[-1] and used + 1 + columns > width:
            rows.append([])
            used = len(indent)
        used += columns + bool(rows[-1])
        rows[-1].append(printed)
    return f"\n{indent}".join(map(" ".join, rows))


def split(text: str) -> list[tuple[str, str]]:
    """The words of a text for flow(), made harmless one by one, because each may come to begin a line."""
    words = [line(word) for word in line(text).split(" ")]
    return [(word, word) for word in words if word]


def paint_diff(text: str, color: bool) -> str:
    """A unified difference that has been escaped, with what goes in red and what comes in green."""
    if not color:
        return text
    styles = {"-": RED, "+": GREEN, "@": CYAN}
    lines = text.splitlines(keepends=True)
    painted = (
        paint(each.rstrip("\n"), BOLD if each.startswith(("--- ", "+++ ")) else styles.get(each[:1], ""))
        + "\n" * each.endswith("\n")
        for each in lines
    )
    return "".join(painted)
