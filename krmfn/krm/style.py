"""How a text is written, so that an edit looks like its neighbours: found out here, followed by `writing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from krmfn.krm.nodes import Mapping, Node, Parent, Scalar, Sequence
from krmfn.krm.places import column, entry_start, first_dash, line_start


class Style:
    """How the neighbours are written.

    `step`: columns per level; `wide`: dashes stand one step to the right of their parent's key (or a function that
    finds out); `json`: keys and strings in double quotes, in flow form; `comma`, `colon`: separators of flow
    collections; `indented`: JSON with a line for every child.
    """

    __slots__ = ("_wide", "colon", "comma", "indented", "json", "newline", "step")

    def __init__(
        self,
        step: int = 2,
        wide: bool | Callable[[], bool] = False,
        json: bool = False,
        newline: str = "\n",
        comma: str = ", ",
        colon: str = ": ",
    ) -> None:
        """The defaults are what kustomize writes and kpt prefers."""
        self.step = step
        self._wide = wide
        self.json = json
        self.newline = newline
        self.comma = comma
        self.colon = colon
        self.indented = False

    @property
    def wide(self) -> bool:
        """Whether dashes are indented. Few edits ask: the first dash may be deep in a text."""
        if callable(self._wide):
            self._wide = self._wide()
        return self._wide


def detect_style(text: str, root: Node, json: bool, newline: str) -> Style:
    """The style of a whole text: indentation step and dashes of blocks, separators of JSON."""
    if json:
        style = Style(json=True, newline=newline)
        _detect_json(text, root, style)
        return style
    return Style(_find_step(text, root), lambda: _is_wide(text, root), newline=newline)


def _find_step(text: str, root: Node) -> int:
    for key, child in _list_blocks(root):
        if isinstance(child, Mapping) and child.pairs:
            return max(1, column(text, entry_start(text, child.pairs[0][0])) - column(text, entry_start(text, key)))
    return 2


def _is_wide(text: str, root: Node) -> bool:
    """Whether the first block sequence that is a value is indented more than its key."""
    for key, child in _list_blocks(root):
        if isinstance(child, Sequence):
            return column(text, first_dash(text, child)) > column(text, entry_start(text, key))
    return False


def _list_blocks(root: Node) -> Iterator[tuple[Node, Parent]]:
    """The block collections that are values of block mappings, with their keys, those of a mapping before what is in
    them: few nodes have to be made for the first."""
    if isinstance(root, Mapping) and not root.flow:
        for key, child in root.pairs:
            if isinstance(child, Parent) and not child.flow:
                yield key, child
        for key, child in root.pairs:
            yield from _list_blocks(key)
            yield from _list_blocks(child)
    elif isinstance(root, Sequence):
        for child in root.items:
            yield from _list_blocks(child)


def _detect_json(text: str, root: Node, style: Style) -> None:
    """Separators from the first pair, the step from the first key where keys are on lines of their own."""
    if not isinstance(root, Mapping) or not root.pairs:
        return
    comma, style.colon = _find_separators(text, root)
    if is_multiline(text, root):
        style.step = max(1, column(text, root.pairs[0][0].start) - column(text, root.end - 1))
        style.indented = True
    else:
        style.comma = comma


def _find_separators(text: str, node: Mapping) -> tuple[str, str]:
    """What is behind the first value and the first key of a flow mapping: a comma and a colon, each with a blank or
    without. Where there is one value alone, the comma is as the colon."""
    key, child = node.pairs[0]
    colon = ": " if text[key.end : child.start].endswith(" ") else ":"
    behind = text[child.end : node.pairs[1][0].start] if len(node.pairs) > 1 else colon
    return ", " if behind.endswith(" ") else ",", colon


def flow_style(text: str, node: Parent, style: Style) -> Style:
    """The style of one flow collection inside YAML: strings in double quotes where its neighbours have them."""
    if style.json or not isinstance(node, Mapping):
        return style
    if any(isinstance(key, Scalar) and key.style == '"' for key, _ in node.pairs):
        return Style(style.step, style.wide, True, style.newline, *_find_separators(text, node))
    return style


def is_multiline(text: str, node: Parent) -> bool:
    """Whether a flow collection has its children on lines of their own."""
    if not node.children:
        return False
    last = node.pairs[-1][0] if isinstance(node, Mapping) else node.items[-1]
    start = line_start(text, last.start)
    return start > node.start and not text[start : last.start].strip()
