"""A finding at a terminal: wrapped to its width, with the line of source, and the rule as a link to its page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.krm.results import FileRef
from krmfn.krm.terminal import line
from krmfn.reports.paint import FAINT, count_columns, flow, link, paint, split
from krmfn.reports.report import RULE_PAGE, Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

#: Narrower than this, wrapped text is harder to read than text that the terminal cuts.
_LEAST: Final = 40
_INDENT: Final = "    "
#: What of a line stays visible before the place, where it is too long.
_BEFORE: Final = 20


def spell_message(screen: Screen, head: Sequence[tuple[str, str]], message: str, rule: str, more: str) -> str:
    """The words of a finding in lines. `head` is the place and the severity, as they are seen and as they are
    printed."""
    words = [*head, *split(message)]
    if rule:
        printed = paint(f"[{rule}]", FAINT, screen.color)
        words.append((f"[{rule}]", link(printed, RULE_PAGE.format(id=rule)) if screen.color else printed))
    return flow([*words, *split(more)], max(screen.width, _LEAST), _INDENT) + "\n"


def spell_hint(screen: Screen, hint: str) -> str:
    """What to do about it, indented; empty where nothing is known."""
    room = max(screen.width, _LEAST) - len(_INDENT)
    lines = flow(split(hint), room).splitlines() if hint else ()
    return "".join(f"{_INDENT}{paint(each, FAINT, screen.color)}\n" for each in lines)


def spell_source(screen: Screen, place: FileRef | None, style: str) -> str:
    """The line of a place with a caret below it; empty where it is not known."""
    if place is None or not place.line or not place.column:
        return ""
    lines = screen.read(place.path)
    if place.line > len(lines):
        return ""
    return "".join(f"{each}\n" for each in _draw(screen, lines[place.line - 1].rstrip("\r\n"), place, style))


def _draw(screen: Screen, text: str, place: FileRef, style: str) -> Iterator[str]:
    before, after = line(text[: place.column - 1]), line(text[place.column - 1 :])
    number = f"{place.line:>6}"
    room = max(screen.width, _LEAST) - len(number) - 3
    if count_columns(before) > room - _BEFORE:
        before = f"…{before[-_BEFORE:]}"
    space = room - count_columns(before)
    if count_columns(after) > space:
        kept = after[:space]
        while count_columns(kept) > space - 1:
            kept = kept[:-1]
        after = f"{kept}…"
    yield paint(f"{number} | ", FAINT, screen.color) + before + after
    yield paint(f"{'':>6} | ", FAINT, screen.color) + " " * count_columns(before) + paint("^", style, screen.color)
