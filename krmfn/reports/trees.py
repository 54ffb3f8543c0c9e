"""Trees of groups as text, a picture, Mermaid, DOT or JSON. Knows the branches, not where they come from.

The picture (SVG, or in an HTML page of its own) has a card for each group and a dot for each pod, no scripts, fonts or
anything from elsewhere, for light and dark pages. What it shows is in its description, too. Measures are pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from krmfn.model.values import Fields
from krmfn.reports import channels
from krmfn.reports.channels import Lines, markup, open_page
from krmfn.reports.paint import BOLD, CYAN, FAINT, RED, YELLOW, paint
from krmfn.survey.forest import Branch

FORMATS = ("text", "mermaid", "dot", "svg", "html", "json")


class Forest(NamedTuple):
    """The trees of a world, and the names of objects that are in none of them. `world` is empty for an only one."""

    world: str
    trees: Sequence[Branch]
    loose: Sequence[str]


def render_forests(forests: Sequence[Forest], form: str, *, color: bool = False) -> str:
    """Spell the trees of all worlds in one of FORMATS. `color` matters to text alone."""
    trees = [tree for forest in forests for tree in forest.trees]
    match form:
        case "mermaid":
            return _render_mermaid(trees)
        case "dot":
            return _render_dot(trees)
        case "svg" | "html":
            picture = _render_picture(forests)
            head = open_page("Trees of groups", "trees.css")
            return picture if form == "svg" else f"{head}\n{picture}</body></html>\n"
        case "json":
            document = {
                "trees": [
                    _to_json(tree) | ({"world": forest.world} if forest.world else {})
                    for forest in forests
                    for tree in forest.trees
                ],
                "withoutGroup": [name for forest in forests for name in forest.loose],
            }
            return channels.json(document)
    return "\n".join(text for forest in forests if (text := _render_text(forest, len(forests) > 1, color)))


def _render_text(forest: Forest, one_of_several: bool, color: bool) -> str:
    lines: list[str] = []
    for tree in forest.trees:
        lines += [_line(tree, color), *_draw(tree, "", color)]
    if forest.loose:
        lines.append(paint("without a group, scheduled pod by pod:", YELLOW, color))
        lines += [f"   {channels.line(name)}" for name in forest.loose]
    if lines and one_of_several:
        title = paint(channels.line(forest.world or "other files"), CYAN, color)
        lines = [f"{title}:", *(f"  {line}" for line in lines)]
    return "".join(f"{line}\n" for line in lines)


def _draw(tree: Branch, indent: str, color: bool) -> Lines:
    waiting = [(child, indent, child is tree.children[-1]) for child in reversed(tree.children)]
    while waiting:
        branch, indent, last = waiting.pop()
        yield paint(indent + ("└─ " if last else "├─ "), FAINT, color) + _line(branch, color)
        indent += "   " if last else "│  "
        waiting += ((child, indent, child is branch.children[-1]) for child in reversed(branch.children))


def _line(branch: Branch, color: bool) -> str:
    name, words = channels.line(branch.name), channels.line(f": {branch.words}") if branch.words else ""
    if branch.facts.get("neverStarts"):
        return paint(name + words, RED, color)
    return paint(name, BOLD if branch.shape != "pods" else "", color) + words


def _render_mermaid(trees: Sequence[Branch]) -> str:
    shapes = {"workload": ("[[", "]]"), "composite": ("{{", "}}"), "group": ("(", ")"), "pods": ("[", "]")}
    lines = ["flowchart TD"]
    for number, branch, parent in _number(trees):
        opening, closing = shapes[branch.shape]
        text = channels.mermaid(branch.name) + (f"<br/>{channels.mermaid(branch.words)}" if branch.words else "")
        lines.append(f'  n{number}{opening}"{text}"{closing}')
        if parent is not None:
            lines.append(f"  n{parent} --> n{number}")
    return "\n".join(lines) + "\n"


def _render_dot(trees: Sequence[Branch]) -> str:
    shapes = {"workload": "folder", "composite": "hexagon", "group": "ellipse", "pods": "box"}
    lines = ["digraph groups {", "  node [fontname=sans];"]
    for number, branch, parent in _number(trees):
        text = "\\n".join(channels.dot(part) for part in (branch.name, branch.words) if part)
        lines.append(f'  n{number} [shape={shapes[branch.shape]}, label="{text}"];')
        if parent is not None:
            lines.append(f"  n{parent} -> n{number};")
    return "\n".join([*lines, "}"]) + "\n"


def _number(trees: Sequence[Branch]) -> Iterator[tuple[int, Branch, int | None]]:
    """Every branch with a number of its own and that of its parent."""
    found: list[tuple[Branch, int | None]] = [(tree, None) for tree in trees]
    for number, (branch, parent) in enumerate(found):  # which grows on the way
        yield number, branch, parent
        found += [(child, number) for child in branch.children]


def _to_json(branch: Branch) -> Fields:
    document: Fields = {"shape": branch.shape, "name": branch.name, "words": branch.words, **branch.facts}
    if branch.children:
        document["below"] = [_to_json(child) for child in branch.children]
    return document


_WIDTH = 960
_EDGE, _STEP, _CARD, _GAP = 20, 30, 46, 10
#: The width of a letter in the widest usual font, and as many pods of a card as are drawn.
_LETTER = 8
_MOST_PODS = 24


def _render_picture(forests: Sequence[Forest]) -> str:
    """Of each world its name, unless it is the only one, its trees, and what is in no group."""
    parts: list[str] = []
    told: list[str] = []
    top = _EDGE
    for name, trees, loose in forests:
        if name and len(forests) > 1:
            parts.append(_write(_EDGE, top + 14, name, "b"))
            top += 30
        for tree in trees:
            for row, level, above in _list_rows(tree):
                parts += _draw_card(row, level, top, above)
                told.append(f"{row.name}: {row.words}." if row.words else f"{row.name}.")
                top += _CARD + _GAP
        for each in ["without a group, scheduled pod by pod:", *loose] if loose else ():
            parts.append(_write(_EDGE, top + 14, each, "loose"))
            told.append(each)
            top += 24
        top += _GAP
    return channels.draw(_WIDTH, top, "Trees of groups", " ".join(told), "trees-picture.css", parts)


def _list_rows(tree: Branch) -> Iterator[tuple[Branch, int, int]]:
    """Every branch from the top, with its level and how many rows are between it and its parent."""
    waiting: list[tuple[Branch, int, int]] = [(tree, 0, -1)]
    number = 0
    while waiting:
        branch, level, parent = waiting.pop()
        yield branch, level, number - parent - 1 if parent >= 0 else -1
        waiting += [(child, level + 1, number) for child in reversed(branch.children)]
        number += 1


def _draw_card(branch: Branch, level: int, top: int, above: int) -> Lines:
    """A card, with the way from its parent, so many rows above."""
    left = _EDGE + level * _STEP
    if above >= 0:
        start = top - above * (_CARD + _GAP) - _GAP
        yield f'<path class="way" d="M{left - _STEP + 14} {start}V{top + _CARD // 2}H{left}"/>'
    color = "never" if branch.facts.get("neverStarts") else branch.shape
    yield f'<rect class="card" x="{left}" y="{top}" width="{_WIDTH - _EDGE - left}" height="{_CARD}" rx="7"/>'
    yield f'<rect class="{color}" x="{left}" y="{top}" width="5" height="{_CARD}" rx="2"/>'
    yield _write(left + 16, top + 19, branch.name, "b")
    pods = branch.facts.get("pods")
    drawn = min(pods, _MOST_PODS) if branch.shape == "pods" and isinstance(pods, int) else 0
    yield from (f'<circle class="pods" cx="{left + 22 + 14 * each}" cy="{top + 34}" r="5"/>' for each in range(drawn))
    yield _write(left + 16 + 14 * drawn + 6 * bool(drawn), top + 38, branch.words, "d")


def _write(left: int, top: int, words: str, kind: str) -> str:
    """A line of text, cut at the edge; all of it is its tooltip."""
    room = max((_WIDTH - _EDGE - left) // _LETTER, 8)
    shown = words if len(words) <= room else words[: room - 1] + "…"
    return f'<text class="{kind}" x="{left}" y="{top}">{markup(shown)}<title>{markup(words)}</title></text>'
