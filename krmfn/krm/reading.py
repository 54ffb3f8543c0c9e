"""The text of one item while it is read and edited: nodes, value and pending splices, kept in step.

Edits are collected as splices of the text that was parsed; the text is spliced and parsed again only when an edit
depends on an earlier one. The value follows by the same edit in plain data.
"""

from __future__ import annotations

from krmfn.krm.errors import EditRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krmfn.krm.blocks import Cut
    from krmfn.krm.editing import Editor
    from krmfn.krm.item import Item
    from krmfn.krm.nodes import Node
    from krmfn.krm.paths import Path
    from krmfn.krm.source import Source

_NOTHING: Any = object()
#: Trees are large; those of the items that were used last are kept.
_KEPT = 64
_recent: list[Reading] = []
#: Values are kept, and stay kept, until they take about this many bytes beyond the size of their source.
_ROOM = 32_000_000
#: How much larger a value is than its text, roughly.
_GROWTH = 6


class Reading:
    """The text of an item with its tree and value, which can be forgotten and read again."""

    __slots__ = ("_cut", "_owner", "_passing", "_root", "_source", "_text", "_value", "edits", "touched")

    def __init__(self, owner: Item, source: Source, text: str | None = None, value: Any = _NOTHING) -> None:
        """Nothing is parsed yet; `text` and `value` are given where they are not those of the source."""
        self._owner = owner
        self._source = source
        self._text = text
        self._root: Any = _NOTHING
        self._value: Any = value
        #: Where the text can be read and edited in parts.
        self._cut: Cut | None = None
        #: Whether the value is forgotten with the tree.
        self._passing = False
        self.touched = False
        self.edits: list[tuple[int, int, str]] = []

    @property
    def text(self) -> str:
        """The text without pending edits."""
        if self._text is None:
            self._text = self._owner.read_original()
        return self._text

    def replace_text(self, text: str) -> None:
        """Begin with another text, as if it had come from edits."""
        self._text = text
        self.touched = True

    def root(self) -> Node | None:
        """The tree of the text with all edits."""
        self.flush()
        return self._tree()

    def _tree(self) -> Node | None:
        """The tree of the text without pending edits."""
        if self._root is _NOTHING:
            self._hold(self._owner.parse_text(self.text))
        root: Node | None = self._root
        return root

    def adopt(self, root: Node) -> None:
        """Take over a tree of the text, and make the value of it before it is forgotten. Raises Unreadable."""
        self._hold(root)
        self.value()

    def adopt_value(self, value: Any, size: int) -> None:
        """Take over the value of a text of `size` characters."""
        self._value = value
        self._keep(size)
        if self._passing:
            self._queue()

    def _hold(self, root: Node | None) -> None:
        self._root = root
        self._queue()

    def _queue(self) -> None:
        """Be forgotten when others have been used."""
        _recent.append(self)
        if len(_recent) > _KEPT:
            _recent.pop(0).forget()

    def forget(self) -> None:
        """Drop the tree, and what can be read again."""
        self.flush()
        self._root = _NOTHING
        if not self.touched:
            self._text = None
        if self._passing:
            self._value = _NOTHING

    def value(self) -> Any:
        """The plain value of the text with all edits."""
        if self._value is _NOTHING:
            self.flush()
            self._keep(self._read_value())
        return self._value

    def _keep(self, size: int) -> None:
        """Count what the value of a text of `size` characters takes, or mark it as passing."""
        source = self._source
        self._passing = source.kept + _GROWTH * size > len(source.data) + _ROOM
        if not self._passing:
            source.kept += _GROWTH * size

    def _read_value(self) -> int:
        """Make the value of the text, in parts where the whole will hardly be needed; gives the characters read."""
        if self._root is _NOTHING and self._owner.frame.heads is not None:
            from krmfn.krm.blocks import read_in_parts

            parts = read_in_parts(self.text, self._owner.frame.pad)
            if parts is not None:
                self._value, self._cut, size = parts
                self._queue()
                return size
        from krmfn.krm.values import to_value

        self._value = to_value(self._tree(), self.text, self._owner.first_line())
        return len(self.text)

    def flush(self) -> None:
        """Splice the pending edits into the text."""
        if self.edits:
            parts: list[str] = []
            done = 0
            for offset, length, new in sorted(self.edits, key=lambda edit: edit[0]):
                parts += [self.text[done:offset], new]
                done = offset + length
            self._text = "".join(parts) + self.text[done:]
            if self._cut is not None and any(edit[0] <= self._cut.offset for edit in self.edits):
                self._cut = None
            self.edits = []
            self._root = _NOTHING

    def edit(self, path: Path, plan: Callable[[Editor], bool], repeat: Callable[[Any], Any] | None) -> None:
        """Make an edit at or below `path`. `repeat` makes the same edit in a plain value, None where the value has to
        be read again."""
        simple = True
        while True:
            editor, done = self._plan(path, plan)
            if self.edits and (not done or editor.removes or not editor.edits or _meet(self.edits, editor.edits)):
                self.flush()  # planned without regard to earlier edits: once more, on the new text
                continue
            self.edits += editor.edits
            self.touched = self.touched or bool(editor.edits)
            if editor.removes or not done:
                self.flush()
            if done:
                break
            simple = False
        if self._value is not _NOTHING:
            self._value = repeat(self._value) if repeat is not None and simple else _NOTHING

    def _plan(self, path: Path, plan: Callable[[Editor], bool]) -> tuple[Editor, bool]:
        while True:
            editor, offset = self._make_editor(path)
            try:
                done = plan(editor)
            except EditRefused:
                if not self.edits:
                    raise
                self.flush()  # an earlier edit may have made the place
            else:
                if offset:
                    editor.edits = [(start + offset, length, text) for start, length, text in editor.edits]
                return editor, done

    def _make_editor(self, path: Path) -> tuple[Editor, int]:
        """An editor of the part that holds `path`, and where that part begins."""
        from krmfn.krm.editing import Editor

        frame = self._owner.frame
        if self._cut is not None and len(path) > 1 and path[0] == "spec" and self._root is _NOTHING:
            from krmfn.krm.blocks import find_block, style_of

            text = self.text[self._cut.offset :]
            block = find_block(text)
            if block is not None:
                style = style_of(self._cut, block, frame.source.newline)
                return Editor(text, block.root, style, self._is_used), self._cut.offset
        root = self._tree()
        if root is None:
            raise EditRefused("there is no object")
        from krmfn.krm.styling import detect_style

        style = detect_style(self.text, root, frame.json, frame.source.newline)
        return Editor(self.text, root, style, self._is_used), 0

    def _is_used(self, anchor: str) -> bool:
        """Whether another object behind this one may use an anchor."""
        is_used = self._owner.frame.is_used
        return is_used is not None and is_used(anchor, self._owner.end)


def _meet(old: list[tuple[int, int, str]], new: list[tuple[int, int, str]]) -> bool:
    """Whether splices touch each other, so that the later ones have to be planned again."""
    return any(
        start <= offset + length and offset <= start + size for start, size, _ in old for offset, length, _ in new
    )
