"""An item: one Kubernetes object as a span of source text, parsed only when asked.

Reading keeps the text; edits are splices of it. Knows nothing about particular kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from krmfn.krm.composing import compose
from krmfn.krm.dialect import NULLS
from krmfn.krm.editing import Editor
from krmfn.krm.errors import EditRefused
from krmfn.krm.json_reading import compose_json
from krmfn.krm.lookup import find_place, find_steps
from krmfn.krm.nodes import Alias, Node, Scalar, follow
from krmfn.krm.paths import Path
from krmfn.krm.places import content_start
from krmfn.krm.results import FileRef, ResourceRef
from krmfn.krm.source import Source
from krmfn.krm.values import find_problems, position, to_value
from krmfn.krm.writing import is_collection, write_block

_PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
_IDENTITY: tuple[Path, ...] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")


class Problem:
    """Something that readers of the item disagree on: a duplicate key, an ambiguous scalar, a key that is no string.

    `code` is `duplicate-key`, `merged-key-set-twice`, `non-string-key`, `ambiguous-scalar` or `refused-escape`; of a
    whole document (the path is empty) `yaml-directive`, `content-after-marker` or `content-after-end`. `line` and
    `column` count from 1 in the source.
    """

    __slots__ = ("code", "column", "line", "message", "path")

    def __init__(self, path: Path, code: str, message: str, line: int, column: int) -> None:
        """A plain record."""
        self.path = path
        self.code = code
        self.message = message
        self.line = line
        self.column = column

    def __repr__(self) -> str:
        """For people who debug."""
        return f"Problem({self.path!r}, {self.code!r}, {self.message!r}, {self.line}, {self.column})"


class Item:
    """One object. Values are read by the API machinery's dialect; text that is not edited stays byte for byte.

    Numbers: in YAML a float without a fraction is an int, as Go's JSON prints it (`1.0` and `1e3` are 1 and 1000). In
    JSON the spelling decides (`1.0` is a float); `scalar()` gives the spelling itself. Every reading method may raise
    Unreadable, because the text is parsed when the first of them is called.
    """

    __slots__ = (
        "_edits",
        "_find_anchor",
        "_json",
        "_pad",
        "_ref",
        "_root",
        "_text",
        "_value",
        "end",
        "index",
        "is_new",
        "outside_users",
        "remarks",
        "source",
        "start",
        "touched",
    )

    def __init__(
        self,
        source: Source,
        start: int,
        end: int,
        *,
        pad: int = 0,
        index: int = 0,
        json: bool = False,
        find_anchor: Callable[[str, int], Node | None] | None = None,
    ) -> None:
        """The object between two bytes of `source`; for readers of streams, others use `Item.new`.

        `pad` is the column of the first character in a block sequence, `index` the document's number in the file.
        """
        self.source = source
        self.start = start
        self.end = end
        self.index = index
        self.is_new = False
        #: Whether an anchor is used behind the item; set by the reader of the stream.
        self.outside_users: Callable[[str, int], bool] | None = None
        #: Whether an edit was made.
        self.touched = False
        #: What is odd about the item's document: (code, message, line).
        self.remarks: tuple[tuple[str, str, int], ...] = ()
        self._pad = pad
        self._json = json
        self._find_anchor = find_anchor
        self._text: str | None = None
        self._root: Node | None = None
        self._value: Any = None
        self._ref: ResourceRef | None = None
        self._edits: list[tuple[int, int, str]] = []

    @classmethod
    def new(cls, value: Mapping[str, Any], file: FileRef | None = None) -> Item:
        """An object that did not exist, written in block form; `file` says where it belongs."""
        source = Source((write_block(value) + "\n").encode(), file.path if file else "")
        item = cls(source, 0, len(source.data), index=file.index if file else 0)
        item.is_new = True
        return item

    # --- reading ---------------------------------------------------------------------------------------------------

    @property
    def ref(self) -> ResourceRef:
        """apiVersion, kind, name and namespace; parts that are missing or no scalars are empty."""
        if self._ref is None:
            parts = [self._word(path) for path in _IDENTITY]
            self._ref = ResourceRef(*parts)
        return self._ref

    @property
    def kind(self) -> str:
        """The kind, empty when there is none."""
        return self.ref.kind

    @property
    def api_version(self) -> str:
        """The apiVersion, empty when there is none."""
        return self.ref.api_version

    @property
    def name(self) -> str:
        """metadata.name, empty when there is none."""
        return self.ref.name

    @property
    def namespace(self) -> str:
        """metadata.namespace, empty when there is none."""
        return self.ref.namespace

    @property
    def labels(self) -> Mapping[str, str]:
        """metadata.labels; values that are no strings are given as they are spelled."""
        return self._words(("metadata", "labels"))

    @property
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations; values that are no strings are given as they are spelled."""
        return self._words(("metadata", "annotations"))

    @property
    def value(self) -> Mapping[str, Any]:
        """The object as plain dict, list, str, int, float, bool and None, edits applied. Never change it."""
        if self._value is None:
            root = self._read()
            value = to_value(root, self._current(), self._first_line())
            self._value = value if isinstance(value, dict) else {}
        value = self._value
        assert isinstance(value, dict)
        return value

    def get(self, path: Path, default: Any = None) -> Any:
        """The value at `path`, or `default` where the path leads nowhere."""
        value: Any = self.value
        for part in path:
            if isinstance(part, int):
                if not isinstance(value, list) or not 0 <= part < len(value):
                    return default
                value = value[part]
            else:
                if not isinstance(value, dict) or part not in value:
                    return default
                value = value[part]
        return value

    def scalar(self, path: Path) -> Scalar | None:
        """The scalar at `path` with its spelling (`source`, anchor and tag left out) and style; None for others."""
        root = self._read()
        steps = find_steps(root, path) if root else []
        if root is None or len(steps) != len(path):
            return None
        node = follow(steps[-1].node if steps else root)
        if not isinstance(node, Scalar):
            return None
        if any(isinstance(step.node, Alias) and step.node.outside for step in steps):
            node.source = node.content  # its text is that of another object
        elif not node.source:
            text = self._current()
            node.source = text[content_start(text, node) : node.end]
        return node

    @property
    def file(self) -> FileRef:
        """The file and the document's number in it, without line and column.

        A file's items are in that file; items of a ResourceList on stdin are where their path annotations say.
        """
        if self.source.path or self.is_new:
            return FileRef(self.source.path, self.index)
        annotations = self.annotations
        path = next((annotations[key] for key in _PATHS if key in annotations), "")
        index = next((annotations[key] for key in _INDICES if key in annotations), "")
        return FileRef(path, int(index) if index.isdigit() else 0 if path else self.index)

    def locate(self, path: Path) -> FileRef:
        """Where `path` stands in the text as it was read.

        Scalars and flow collections: the first character of the value. Block collections: their key or dash. A path
        that does not exist: its nearest parent that does. Line and column are 0 where the file is known by
        annotation only: its lines are not those of stdin.
        """
        file = self.file
        if self.is_new or (not self.source.path and file.path):
            return file
        text = self._original()
        root = self._compose(text) if self.touched else self._read()
        if root is None:
            return file
        offset = find_place(root, path)
        first_line = self._first_line()
        column = offset - text.rfind("\n", 0, offset)
        line = first_line + text.count("\n", 0, offset)
        if line == first_line and not self._pad:
            column += self.source.column(self.start)
        return FileRef(file.path, file.index, line, column)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What readers disagree on, in the order of the text."""
        text = self._current()
        first_line = self._first_line()
        found = [Problem((), code, message, line, 1) for code, message, line in self.remarks]
        found += [
            Problem(path, code, message, *position(text, offset, first_line))
            for path, code, message, offset in find_problems(self._read(), text, self._json)
        ]
        return tuple(found)

    # --- editing ---------------------------------------------------------------------------------------------------

    def set(self, path: Path, value: Any) -> None:
        """Put `value` at `path`, creating parents: text that need not change stays. Raises EditRefused.

        Parts of a value that are equal stay as they are written. An index equal to a list's length appends.
        """
        if not path and not is_collection(value):
            raise EditRefused("an object cannot be replaced by a scalar")
        self._edit(lambda editor: editor.set(path, value))

    def remove(self, path: Path) -> None:
        """Take out what stands at `path`; nothing happens when there is nothing. Raises EditRefused."""
        if not path:
            raise EditRefused("an object is removed from its list, not from itself")
        self._edit(lambda editor: editor.remove(path))

    def _edit(self, make: Callable[[Editor], bool]) -> None:
        """Repeat until the editor needs no more preparation (aliases are written out one at a time)."""
        while True:
            root = self._read()
            text = self._current()
            if root is None:
                raise EditRefused("there is no object")
            editor = Editor(text, root, self._json, self.source.newline, self._is_used_outside)
            done = make(editor)
            self._edits = editor.edits
            if self._edits:
                self.touched = True
                self._flush()
            if done:
                return

    def _is_used_outside(self, anchor: str) -> bool:
        return self.outside_users is not None and self.outside_users(anchor, self.end)

    def _flush(self) -> None:
        text = self._current()
        self._edits.sort(key=lambda edit: edit[0])
        parts: list[str] = []
        done = 0
        for offset, length, new in self._edits:
            parts += [text[done:offset], new]
            done = offset + length
        self._text = "".join(parts) + text[done:]
        self._edits = []
        self._root = self._value = self._ref = None

    # --- text ------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The source text with edits, indented as it stands in its file; the first line without indentation."""
        return self._current()[self._pad :]

    @property
    def changed(self) -> bool:
        """Whether the text differs from what was read."""
        return self.touched and self._text != self._original()

    def _original(self) -> str:
        return " " * self._pad + self.source.text(self.start, self.end)

    def _current(self) -> str:
        if self._text is None:
            self._text = self._original()
        return self._text

    def _first_line(self) -> int:
        return self.source.line(self.start)

    def _read(self) -> Node | None:
        if self._root is None:
            self._root = self._compose(self._current())
        return self._root

    def _compose(self, text: str) -> Node | None:
        if self._json:
            return compose_json(text, 0, self._first_line())[0]
        find_anchor = self._find_anchor
        start = self.start
        return compose(text, (lambda name: find_anchor(name, start)) if find_anchor else None, self._first_line())

    def _word(self, path: Path) -> str:
        scalar = self.scalar(path)
        return scalar.content if scalar and (scalar.style or scalar.content not in NULLS) else ""

    def _words(self, path: Path) -> Mapping[str, str]:
        values = self.get(path)
        if not isinstance(values, dict):
            return {}
        return {key: value if isinstance(value, str) else self._word((*path, key)) for key, value in values.items()}
