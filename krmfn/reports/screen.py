"""A finding at a terminal: wrapped to its width, with the line of source, and the rule, which may be a link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krmfn.krm.results import FileRef
from krmfn.krm.terminal import line
from krmfn.reports.paint import FAINT, count_columns, flow, link, paint, split
from krmfn.reports.report import Screen, find_page

#: Narrower than this, wrapped text is harder to read than text that the terminal cuts.
_LEAST = 40
_INDENT = "    "
#: What of a line stays visible before the place, where it is too long.
_BEFORE = 20


def spell_message(screen: Screen, head: Sequence[tuple[str, str]], message: str, rule: str, more: str) -> str:
    """The words of a finding in lines. `head` is the place and the severity, as they look and as they are printed."""
    words = [*head, *split(message)]
    if rule:
        printed = paint(f"[{rule}]", FAINT, screen.color)
        page = find_page(rule) if screen.color else ""
        words.append((f"[{rule}]", link(printed, page) if page else printed))
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
    number = f"{place.line:>6}"
    room = max(screen.width, _LEAST) - len(number) - 3
    # A line may be as long as its file: of it there is only what may be seen.
    here, most = place.column - 1, 4 * room
    before, after = line(text[max(0, here - most) : here]), line(text[here : here + most])
    if here > most or count_columns(before) > room - _BEFORE:
        before = f"…{_cut(before[::-1], _BEFORE)[::-1]}"
    space = room - count_columns(before)
    if here + most < len(text) or count_columns(after) > space:
        after = f"{_cut(after, space - 1)}…"
    yield paint(f"{number} | ", FAINT, screen.color) + before + after
    yield paint(f"{'':>6} | ", FAINT, screen.color) + " " * count_columns(before) + paint("^", style, screen.color)


def _cut(text: str, columns: int) -> str:
    """The beginning of a text, as far as it fits."""
    kept = text[:columns]  # there is more only where characters have no width of their own
    while count_columns(kept) > columns:
        kept = kept[:-1]
    return kept
