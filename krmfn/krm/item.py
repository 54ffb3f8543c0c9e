"""An item: one Kubernetes object as a span of source text, parsed only when asked.

Reading keeps the text; edits are splices of it. Knows nothing about particular kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.frames import Frame
from krmfn.krm.lookup import find_place, find_scalar, list_scalars
from krmfn.krm.nodes import Node, Scalar
from krmfn.krm.paths import Fields, Path, Texts, dig
from krmfn.krm.places import begins_line
from krmfn.krm.reading import Reading
from krmfn.krm.results import FileRef, ResourceRef
from krmfn.krm.source import STAND_INS, Source

if TYPE_CHECKING:
    from krmfn.krm.editing import Editor
    from krmfn.krm.values import Problem

#: The fields of an object that say who it is.
HEAD = ("apiVersion", "kind", "metadata")
#: Where orchestrators say which file an object came from. Source: KRM Functions Specification, annotations; kyaml sends
#: both spellings, older senders only the short one.
PATHS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path")
INDICES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")
_IDENTITY: tuple[Path, ...] = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


class Item:
    """One object. Values are read by the API machinery's dialect; text that is not edited stays byte for byte.

    Numbers: in YAML a float without a fraction is an int, as Go's JSON prints it (`1.0` and `1e3` are 1 and 1000). In
    JSON the spelling decides (`1.0` is a float); `scalar()` gives the spelling itself. Every reading method may raise
    Unreadable, because the text is parsed when the first of them is called.
    """

    __slots__ = ("_fields", "_reading", "_ref", "_twin", "end", "frame", "start")

    def __init__(self, frame: Frame, start: int, end: int) -> None:
        """The object between two bytes of the frame's source; for readers of streams, others use `new`."""
        self.frame = frame
        self.start = start
        self.end = end
        self._fields: dict[str, Texts] | None = None
        self._reading: Reading | None = None
        self._ref: ResourceRef | None = None
        #: The item as it was read, for the places of what was edited since.
        self._twin: Item | None = None

    @classmethod
    def new(cls, value: Mapping[str, Any], file: FileRef | None = None) -> Item:
        """An object that did not exist, written in block form; `file` says where it belongs.

        Raises ValueError for what no manifest can say, such as a date, or a value that holds itself.
        """
        from krmfn.krm.writing import to_plain

        return cls.hold(to_plain(value), file)

    @classmethod
    def hold(cls, value: Fields, file: FileRef | None = None) -> Item:
        """As `new`, of plain data that nobody changes: it is not copied."""
        from krmfn.krm.writing import write_block

        source = Source(b"", file.path if file else "")
        item = cls(Frame(source, index=file.index if file else 0, new=True), 0, 0)
        item._reading = Reading(item, lambda: write_block(value) + "\n", value)
        item._reading.touched = True
        return item

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> Item:
        """The only object of a YAML document, of a file `path`. Raises Unreadable when it is read."""
        source = Source(data, path)
        return cls(Frame(source), source.begin, len(data))

    def __copy__(self) -> Item:
        """An item with the same text, edits included, that is edited on its own."""
        other = Item(self.frame, self.start, self.end)
        if self._reading is not None and self._reading.touched:
            other._read().replace_text(" " * self.frame.pad + self.text)
        return other

    @property
    def ref(self) -> ResourceRef:
        """apiVersion, kind, name and namespace; parts that are missing or no scalars are empty."""
        if self._ref is None:
            value = self.value
            names = (dig(value, "metadata", "name"), dig(value, "metadata", "namespace"))
            self._ref = ResourceRef(*map(self._word, _IDENTITY, (value.get("apiVersion"), value.get("kind"), *names)))
        return self._ref

    @property
    def group(self) -> str:
        """The API group, empty for the core group."""
        return self.ref.group

    @property
    def group_kind(self) -> tuple[str, str]:
        """The API group and the kind, by which tables of kinds are asked."""
        return self.ref.group_kind

    @property
    def key(self) -> tuple[str, str]:
        """What objects of a kind are told apart by: the namespace that an applier uses, and the name."""
        return self.ref.key

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
    def space(self) -> str:
        """The namespace that an applier uses: `default` where metadata names none."""
        return self.ref.space

    @property
    def labels(self) -> Texts:
        """metadata.labels; values that are no strings are given as they are spelled."""
        return self._words("labels")

    @property
    def annotations(self) -> Texts:
        """metadata.annotations; values that are no strings are given as they are spelled."""
        return self._words("annotations")

    @property
    def value(self) -> Mapping[str, Any]:
        """The object as plain dict, list, str, int, float, bool and None, edits applied. Never change it."""
        value = (self._reading or self._read()).value()
        return value if isinstance(value, dict) else {}

    def get(self, path: Path, default: Any = None) -> Any:
        """The value at `path`, or `default` where the path leads nowhere."""
        return dig(self.value, *path, default=default)

    def scalar(self, path: Path) -> Scalar | None:
        """The scalar at `path` with its spelling (`source`, anchor and tag left out) and style; None for others."""
        reading = self._read()
        root = reading.root()
        return find_scalar(root, path, reading.text) if root else None

    @property
    def span(self) -> tuple[int, int]:
        """Where the text begins and ends in the source, in characters."""
        return self.source.count(self.start), self.source.count(self.end)

    def list_scalars(self) -> Iterator[tuple[Path, int, int, bool]]:
        """Every scalar of the text as it was read: its path, where it begins and ends, in characters of the source, and
        whether it is a key; the path is that of its mapping then. What an alias stands for is given at both its paths;
        null is left out."""
        root = Item(self.frame, self.start, self.end)._read().root()
        shift = self.span[0] - self.frame.pad
        for path, node, is_key in list_scalars(root) if root else ():
            if not isinstance(node, Scalar) or node.style or node.content not in ("", "~", "null"):
                yield path, shift + node.start, shift + node.end, is_key

    @property
    def file(self) -> FileRef:
        """The file and the document's number in it, without line and column.

        A file's items are in that file; items of a ResourceList on stdin are where their path annotations say.
        """
        frame = self.frame
        if frame.source.path or frame.new:
            return FileRef(frame.source.path, frame.index)
        return _read_address(self.annotations, frame.index)

    def locate(self, path: Path) -> FileRef:
        """Where `path` stands in the text as it was read.

        Scalars and flow collections: the first character of the value. Block collections: their key; in a list, the
        first character behind the dash. A path that does not exist: its nearest parent that does. Line and column are 0
        for items of stdin: their lines there are not those of the file that they came from.
        """
        frame = self.frame
        if frame.new or not frame.source.path:
            return self.file
        if self._reading and self._reading.touched:
            if self._twin is None:
                self._twin = Item(frame, self.start, self.end)
            return self._twin.locate(path)
        root = self._read().root()
        if root is None:
            return self.file
        character = frame.source.count(self.start) - frame.pad + find_place(root, path)
        return FileRef(frame.source.path, frame.index, *frame.source.place(character))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What readers disagree on, in the order of the text."""
        from krmfn.krm.values import list_problems

        reading = self._read()
        return list_problems(reading.root(), reading.text, self.frame, self.start)

    @property
    def may_repeat(self) -> bool:
        """False where surely no mapping of the text has a key twice."""
        reading = self._read()
        reading.value()
        return reading.repeats

    def may_hold(self, *words: bytes) -> bool:
        """False where none of `words` is a part of the item's keys and strings: most items need not be read for that.

        Escapes (backslashes), and aliases for what stands elsewhere (`*`) leave it open.
        """
        if self.touched:
            return any(sign.decode() in self.text for sign in (*words, *STAND_INS))
        source = self.frame.source
        signs = source.list_signs(words)
        return bool(signs) and any(source.data.find(sign, self.start, self.end) >= 0 for sign in signs)

    @property
    def is_new(self) -> bool:
        """Whether the object was made by `new`."""
        return self.frame.new

    @property
    def source(self) -> Source:
        """The bytes that the item was cut from."""
        return self.frame.source

    def set(self, path: Path, value: Any) -> None:
        """Put `value` at `path`, creating parents: text that need not change stays.

        Parts of a value that are equal stay as they are written. An index equal to a list's length appends. Raises
        EditRefused, and ValueError as `new` does.
        """
        from krmfn.krm.writing import check_key, is_collection, to_plain

        if not path and not is_collection(value):
            raise EditRefused("an object cannot be replaced by a scalar")
        plain = to_plain(value, self.frame.json, len(path))
        for part in path:
            if not isinstance(part, int):
                check_key(part)
        self._edit(lambda editor: editor.set(path, plain), path)

    def remove(self, path: Path) -> None:
        """Take out what stands at `path`; nothing happens when there is nothing. Raises EditRefused."""
        if not path:
            raise EditRefused("an object is removed from its list, not from itself")
        self._edit(lambda editor: editor.remove(path), path)

    def rename(self, path: Path, name: str) -> None:
        """Give what stands at `path` another key in its mapping, at the same place. Raises EditRefused."""
        self._edit(lambda editor: editor.rename(path, name), path[:-1])

    def detach(self, gone: Callable[[int], bool]) -> None:
        """Write out what comes from anchors in other parts of the document, which begin at a byte, where `gone` says
        that they go. Raises EditRefused."""
        self._edit(lambda editor: editor.detach(gone), ())

    def end_line(self) -> Item:
        """The item with a line break at its end: a copy where it has none. No value changes by that."""
        if begins_line(self.text, len(self.text)):
            return self
        other = self.__copy__()
        other._edit(lambda editor: editor.end_line(), ())
        return other

    def atomically(self, work: Callable[[], None]) -> None:
        """Do `work`, which edits the item; where it raises, the item is as it was before."""
        reading = self._read()
        state = reading.save()
        try:
            work()
        except BaseException:
            reading.restore(state)
            self._reading = reading
            self._ref = self._fields = None
            raise

    def _edit(self, plan: Callable[[Editor], None], path: Path) -> None:
        if not isinstance(path, tuple):
            raise TypeError(f"a path is a tuple such as ('spec', 'replicas'), not {path!r}")
        self._read().edit(path, plan)
        if not path or path[0] in HEAD:
            self._ref = self._fields = None

    @property
    def text(self) -> str:
        """The source text with edits, indented as it stands in its file; the first line without indentation."""
        return self._read().text[self.frame.pad :]

    @property
    def touched(self) -> bool:
        """Whether an edit was made, even if later ones took it back."""
        return self._reading is not None and self._reading.touched

    @property
    def changed(self) -> bool:
        """Whether the text differs from what was read."""
        return self.touched and self.text != self.read_original()[self.frame.pad :]

    def read_original(self) -> str:
        """The text as it was read, with the indentation of its first line."""
        return " " * self.frame.pad + self.frame.source.text(self.start, self.end)

    def release(self) -> None:
        """Forget what was read of the text, for the sake of memory. Edits stay; it is read again when asked."""
        self._twin = None
        if self._reading is not None:
            if self._reading.touched:
                self._reading.forget()
            else:
                self._reading = None

    def _read(self) -> Reading:
        if self._reading is None:
            self._reading = Reading(self, self.read_original)
        return self._reading

    def adopt(self, root: Node) -> None:
        """Take over the nodes of the text, which the reader of a stream has made. Raises Unreadable."""
        self._read().adopt(root)

    def adopt_value(self, value: Fields) -> None:
        """Take over the value of the text, which the reader of a stream has made. The text is cut out, and its lines
        are read, once more where somebody asks for a place: to keep both takes half of the memory of a run."""
        self._reading = Reading(self, self.read_original, value)

    def compose(self, text: str) -> Node | None:
        """The tree of a text of any kind that stands where this object does. Raises Unreadable."""
        frame, anchors = self.frame, self.frame.anchors
        outer: Unreadable | None = None

        def find_anchor(name: str) -> tuple[Node, int] | None:
            nonlocal outer
            try:
                return anchors.find(name, self.start) if anchors else None
            except Unreadable as error:
                outer = error
                raise

        try:
            if frame.json:
                from krmfn.krm.json_reading import compose_json

                return compose_json(text)[0]
            from krmfn.krm.composing import compose

            return compose(text, find_anchor)
        except Unreadable as error:
            if error is outer:
                raise  # it is about another part of the document, and names its place
            frame.source.refuse(error, self.start, frame.pad)

    def _word(self, path: Path, value: Any) -> str:
        """The scalar at a path as it is spelled, empty for null and where there is none."""
        if value is None or isinstance(value, str):
            return value or ""
        scalar = self.scalar(path)
        return scalar.content if scalar else ""

    def _words(self, field: str) -> Texts:
        if self._fields is None:
            self._fields = {}
        if field not in self._fields:
            values = self.get(("metadata", field))
            self._fields[field] = {
                key: self._word(("metadata", field, key), value)
                for key, value in (values.items() if isinstance(values, dict) else ())
            }
        return self._fields[field]


Items: TypeAlias = Sequence[Item]


def list_identified(items: Iterable[Item]) -> Iterator[Item]:
    """The items that say what they are. Of the others it does not matter here whether they can be read."""
    for item in items:
        try:
            _ = item.ref
        except Unreadable:
            continue
        yield item


def list_holding(items: Iterable[Item], *words: bytes) -> list[Item]:
    """The items that may hold one of the words (see `Item.may_hold`), in their order.

    A text is searched once for each word, however many items are cut from it: most hold none.
    """
    holding = []
    source: Source | None = None
    last = 0
    #: Where each sign stands next, from the start of the last item on.
    places: dict[bytes, int] = {}
    for item in items:
        start = item.start
        if item.frame.source is not source or start < last:
            source = item.frame.source
            places = dict.fromkeys(source.list_signs(words), -1)
        last = start
        holds = item._reading is not None and item._reading.touched and item.may_hold(*words)
        for sign in places:
            if places[sign] < start:
                found = source.data.find(sign, start)
                places[sign] = found if found >= 0 else len(source.data)
            holds = holds or places[sign] + len(sign) <= item.end
        if holds:
            holding.append(item)
    return holding


def _read_address(annotations: Texts, index: int) -> FileRef:
    """The file that the annotations name; an empty path and `index` where they name none."""
    path = next((annotations[key] for key in PATHS if key in annotations), "")
    if not path:
        return FileRef("", index)
    number = next((annotations[key] for key in INDICES if key in annotations), "")
    return FileRef(path, int(number) if number.isdecimal() and len(number) < 10 else 0)
