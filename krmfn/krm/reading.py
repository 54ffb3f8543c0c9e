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

    from krmfn.krm.editing import Editor
    from krmfn.krm.nodes import Node

_NOTHING: Any = object()
#: Trees are large; those of the items that were used last are kept.
_KEPT = 64
_recent: list[Reading] = []


class Reading:
    """A text with its tree. `parse` reads it, `first_line` is its number in the file."""

    __slots__ = ("_parse", "_root", "_value", "edits", "first_line", "text", "touched")

    def __init__(
        self, text: str, parse: Callable[[str], Node | None], first_line: Callable[[], int], value: Any = _NOTHING
    ) -> None:
        """Nothing is parsed yet; `value` is that of the text where it is known."""
        self.text = text
        self.touched = False
        self.edits: list[tuple[int, int, str]] = []
        self.first_line = first_line
        self._parse = parse
        self._root: Any = _NOTHING
        self._value: Any = value

    def root(self) -> Node | None:
        """The tree of the text with all edits."""
        self.flush()
        return self._tree()

    def _tree(self) -> Node | None:
        """The tree of the text without pending edits."""
        if self._root is _NOTHING:
            self._root = self._parse(self.text)
            _recent.append(self)
            if len(_recent) > _KEPT:
                _recent.pop(0).forget()
        root: Node | None = self._root
        return root

    def forget(self) -> None:
        """Drop the tree."""
        self.flush()
        self._root = _NOTHING

    def value(self) -> Any:
        """The plain value of the text with all edits."""
        if self._value is _NOTHING:
            from krmfn.krm.values import to_value

            self.flush()
            self._value = to_value(self._tree(), self.text, self.first_line())
        return self._value

    def flush(self) -> None:
        """Splice the pending edits into the text."""
        if self.edits:
            parts: list[str] = []
            done = 0
            for offset, length, new in sorted(self.edits, key=lambda edit: edit[0]):
                parts += [self.text[done:offset], new]
                done = offset + length
            self.text = "".join(parts) + self.text[done:]
            self.edits = []
            self._root = _NOTHING

    def edit(
        self,
        plan: Callable[[Editor], bool],
        json: bool,
        newline: str,
        is_used: Callable[[str], bool],
        repeat: Callable[[Any], Any] | None,
    ) -> None:
        """Make an edit. `repeat` makes the same edit in a plain value, None where the value has to be read again."""
        simple = True
        while True:
            editor, done = self._plan(plan, json, newline, is_used)
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

    def _plan(
        self, plan: Callable[[Editor], bool], json: bool, newline: str, is_used: Callable[[str], bool]
    ) -> tuple[Editor, bool]:
        from krmfn.krm.editing import Editor

        while True:
            root = self._tree()
            if root is None:
                raise EditRefused("there is no object")
            editor = Editor(self.text, root, json, newline, is_used)
            try:
                return editor, plan(editor)
            except EditRefused:
                if not self.edits:
                    raise
                self.flush()  # an earlier edit may have made the place


def _meet(old: list[tuple[int, int, str]], new: list[tuple[int, int, str]]) -> bool:
    """Whether splices touch each other, so that the later ones have to be planned again."""
    return any(
        start <= offset + length and offset <= start + size for start, size, _ in old for offset, length, _ in new
    )
