"""The text of one item while it is read and edited: tree, value and pending splices, kept in step.

Edits are collected as splices of the text that was parsed; the text is spliced and parsed again only when an edit
depends on an earlier one: meets it, or is above or below it. The value is read again when it is asked for. An edit is
made as a whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.paths import Path
from krmfn.krm.style import detect_style

if TYPE_CHECKING:
    from krmfn.krm.editing import Editor
    from krmfn.krm.frames import Frame
    from krmfn.krm.lines import Lines
    from krmfn.krm.nodes import Node
    from krmfn.krm.splices import Edits
    from krmfn.krm.style import Style

    class Owner(Protocol):
        """The item whose text this is: where it stands, and how a text that stands there is read."""

        frame: Frame
        start: int
        end: int

        def compose(self, text: str) -> Node | None: ...

    #: Everything that an edit changes.
    State = tuple[Any, ...]
    #: Plans an edit of a text.
    Plan = Callable[[Editor], None]

_NOTHING: Any = object()


class Reading:
    """The text of an item with its tree and value, which can be forgotten and read again."""

    __slots__ = (
        "_edits",
        "_lines",
        "_owner",
        "_paths",
        "_root",
        "_style",
        "_text",
        "_value",
        "_write",
        "repeats",
        "touched",
    )

    def __init__(self, owner: Owner, write: Callable[[], str], value: Any = _NOTHING) -> None:
        """Nothing is parsed yet. `write` gives the text when it is needed; `value` is given where it is known: from
        the reader of a stream, or because the object is new."""
        self._owner = owner
        self._lines: Lines | None = None
        self._write = write
        self._text: str | None = None
        self._root: Any = _NOTHING
        self._value: Any = value
        self._edits: Edits = []
        #: The paths of these, and (false) all that are above them.
        self._paths: dict[Path, bool] = {}
        #: That of the first text: what was asked between edits must not change how the next one is written.
        self._style: Style | None = None
        #: Whether a mapping of the value may have a key twice in the text. What reads lines gives no such value.
        self.repeats = False
        self.touched = False

    @property
    def _parsed(self) -> str:
        """The text that tree and splices belong to."""
        if self._text is None:
            self._text = self._write()
        return self._text

    @property
    def text(self) -> str:
        """The text with all edits."""
        self._flush()
        return self._parsed

    def _flush(self) -> None:
        if self._edits:
            parts: list[str] = []
            done = 0
            for offset, length, new in self._edits:
                parts += [self._parsed[done:offset], new]
                done = offset + length
            self._replace("".join(parts) + self._parsed[done:])

    def _replace(self, text: str) -> None:
        self._text = text
        self._edits = []
        self._paths = {}
        self._root = _NOTHING
        self._lines = None

    def replace_text(self, text: str) -> None:
        """Begin with another text, as if it had come from edits."""
        self._replace(text)
        self._value = _NOTHING
        self._style = None
        self.touched = True

    def root(self) -> Node | None:
        """The tree of the text with all edits."""
        return self._tree(self.text)

    def _tree(self, text: str) -> Node | None:
        if self._root is _NOTHING:
            lines = self._read_lines(text)
            self._root = lines.make_root() if lines else self._owner.compose(text)
        root: Node | None = self._root
        return root

    def _read_lines(self, text: str) -> Lines | None:
        """The text read by lines; None where it is not of the plainest kind."""
        if self._lines is None and self._root is _NOTHING and not self._owner.frame.json:
            from krmfn.krm.lines import read_lines

            self._lines = read_lines(text)
            if self._lines and self._value is _NOTHING:
                self._value, self.repeats = self._lines.value, False
        return self._lines

    def value(self) -> Any:
        """The plain value of the text with all edits."""
        if self._value is _NOTHING:
            self._read_lines(self.text)
            if self._value is _NOTHING:
                root = self.root()
                from krmfn.krm.values import build

                try:
                    self._value, self.repeats = build(root, self._parsed)
                except Unreadable as error:
                    self._owner.frame.source.refuse(error, self._owner.start, self._owner.frame.pad)
        return self._value

    def adopt(self, root: Node) -> None:
        """Take over a tree of the text, and keep the value of it. Raises Unreadable."""
        self._root = root
        self.value()
        self._root = _NOTHING

    def forget(self) -> None:
        """Drop what can be read again; the value of a new object stays, until its text is written."""
        if self._text is None:
            return
        self._replace(self.text)
        self._value = _NOTHING

    def save(self) -> State:
        """What `restore` needs to take back all edits from now on."""
        edits = self._edits[:], self._paths.copy()
        return self._text, self._root, self._value, self.repeats, *edits, self.touched

    def restore(self, state: State) -> None:
        """Be as at `save`."""
        self._text, self._root, self._value, self.repeats, self._edits, self._paths, self.touched = state
        self._lines = None  # they are those of another text, perhaps

    def edit(self, path: Path, plan: Plan) -> None:
        """Make an edit at `path`. Raises EditRefused and Unreadable; nothing is changed then."""
        state = self.save()
        try:
            self._edit(path, plan)
        except BaseException:
            self.restore(state)
            raise

    def _edit(self, path: Path, plan: Plan) -> None:
        above = [path[:end] for end in range(len(path))]
        if path in self._paths or any(map(self._paths.get, above)):
            self._flush()
        while True:
            editor = self._plan(plan)
            is_apart = editor.edits and not _meet(self._edits, editor.edits)
            if self._edits and (editor.again or editor.removes or not is_apart):
                self._flush()  # planned without regard to earlier edits: once more, on the new text
                continue
            self._edits = sorted([*self._edits, *editor.edits], key=lambda edit: edit[0])  # those at one place in order
            self._paths |= {**dict.fromkeys(above, False), path: True}
            if editor.edits:
                self.touched = True
                self._value = _NOTHING
            if editor.removes or editor.again:
                self._flush()
            if not editor.again:
                return

    def _plan(self, plan: Plan) -> Editor:
        while True:
            editor = self._make_editor()
            try:
                plan(editor)
                return editor
            except EditRefused:
                if not self._edits:
                    raise
                self._flush()  # an earlier edit may have made the place

    def _make_editor(self) -> Editor:
        from krmfn.krm.editing import Editor

        frame = self._owner.frame
        root = self._tree(self._parsed)
        if root is None:
            raise EditRefused("there is no object")
        if self._style is None:
            self._style = detect_style(self._parsed, root, frame.json, frame.source.newline)
        anchors, end = frame.anchors, self._owner.end
        used_outside = (lambda name: anchors.is_used(name, end)) if anchors else lambda name: False
        return Editor(self._parsed, root, self._style, used_outside, self._lines)


def _meet(old: Edits, new: Edits) -> bool:
    """Whether splices touch each other, so that the later ones have to be planned again."""
    return any(
        start <= offset + length and offset <= start + size for offset, length, _ in new for start, size, _ in old
    )
