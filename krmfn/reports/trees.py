"""Trees of groups as text, a picture, Mermaid, DOT or JSON. Knows the branches, not where they come from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.reports import channels
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
            from krmfn.reports import tree_svg

            worlds = [(forest.world if len(forests) > 1 else "", forest.trees, forest.loose) for forest in forests]
            return tree_svg.render(worlds) if form == "svg" else tree_svg.render_page(worlds)
        case "json":
            document = {
                "trees": [_to_json(tree) | _name(forest) for forest in forests for tree in forest.trees],
                "withoutGroup": [name for forest in forests for name in forest.loose],
            }
            return channels.json(document)
    return "\n".join(text for forest in forests if (text := _render_text(forest, len(forests) > 1, color)))


def _name(forest: Forest) -> dict[str, str]:
    return {"world": forest.world} if forest.world else {}


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


def _draw(tree: Branch, indent: str, color: bool) -> Iterator[str]:
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


def _to_json(branch: Branch) -> dict[str, Any]:
    document: dict[str, Any] = {"shape": branch.shape, "name": branch.name, "words": branch.words, **branch.facts}
    if branch.children:
        document["below"] = [_to_json(child) for child in branch.children]
    return document
