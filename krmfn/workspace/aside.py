"""The schemas of CustomResourceDefinitions, set aside while kustomize builds.

kustomize reads and writes them several times and changes nothing in them; they are most of what many repositories
build. A mark replaces each, and whoever reads what kustomize printed gets the schema back: as text, or as the value
that all overlays share.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from krmfn.krm import Item
from krmfn.krm.stream import split_documents

_KINDS = re.compile(rb"\nkind:(.*)")
_SCHEMA = re.compile(rb"^( +)openAPIV3Schema: *\n( +)(?=\w)", re.MULTILINE)
#: The name of an anchor or an alias, behind its sign.
_NAME = rb"([^\s,\[\]{}:]+)"
_ANCHOR, _ALIAS = re.compile(b"&" + _NAME), re.compile(rb"\*" + _NAME)
_BEFORE = b" \t\r\n[{,:"
_FOREIGN = (b"<<:", b"\t", b"\r")
#: What a patch, a replacement or a function has to spell to get at a schema.
_WORD = b"openAPIV3Schema"
#: Other ways to spell it: escapes in quotes, and other encodings.
_ESCAPES = re.compile(rb"\\[xuU\r\n]|\0")


class Aside:
    """The schemas of all builds of a pass. `name` is a word that is nowhere else. A mark depends on it and on the
    schema alone."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._mark = f"krmfn-schema-{name}-"
        self._kept: dict[str, tuple[int, bytes]] = {}
        self._values: dict[str, Mapping[str, Any]] = {}
        self._cut: dict[str, bytes] = {}

    def cut(self, data: bytes, path: str) -> bytes:
        """The file at a path, with marks in place of the schemas of CustomResourceDefinitions; the same bytes where it
        has none. A file is looked through once."""
        if path not in self._cut:
            self._cut[path] = self._cut_all(data) if _WORD in data else b""
        return self._cut[path] or data

    def _cut_all(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        done = 0
        for start, end, margin in _find_schemas(data):
            key = f"x{hashlib.sha256(data[start:end]).hexdigest()[:32]}"
            mark = f"{' ' * margin}description: {self._mark}{key}\n"
            pieces += (data[done:start], mark.encode())
            self._kept[key] = (margin, data[start:end])
            done = end
        return b"".join((*pieces, data[done:])) if pieces else b""

    def fill(self, item: Item) -> None:
        """Gives a definition that kustomize printed the values of its schemas. Its text keeps the marks. Raises
        Unreadable."""
        if self._kept and item.may_hold(self._mark.encode()):
            item.adopt_value(self._fill(item.value))

    def _fill(self, value: Any) -> Any:
        if isinstance(value, dict):
            mark = value.get("description") if len(value) == 1 else None
            if isinstance(mark, str) and mark.startswith(self._mark):
                if mark not in self._values:
                    self._values[mark] = Item.parse(self._kept[mark.removeprefix(self._mark)][1]).value
                return self._values[mark]
            return {key: self._fill(each) for key, each in value.items()}
        return [self._fill(each) for each in value] if isinstance(value, list) else value

    def restore(self, data: bytes) -> bytes:
        """What kustomize printed, with the texts of the schemas."""
        mark = re.compile(rb"^( *)description: %b(\w+)\n" % re.escape(self._mark.encode()), re.MULTILINE)
        return mark.sub(lambda found: self._indent(found[2].decode(), len(found[1])), data) if self._kept else data

    def _indent(self, key: str, margin: int) -> bytes:
        """A schema whose first line has another margin."""
        old, text = self._kept[key]
        if margin != old:
            # A comment may stand further left.
            text = re.sub(rb"^ {0,%d}(?=[^\n])" % old, b" " * margin, text, flags=re.MULTILINE)
        return text if text.endswith(b"\n") else text + b"\n"


def may_name(data: bytes) -> bool:
    """Whether a patch, a replacement or a function may get at a schema."""
    return _WORD in data or _ESCAPES.search(data) is not None


def shares(data: bytes) -> bool:
    """Whether a text may have parts that are used elsewhere in it: a name that an anchor and an alias have.

    >>> shares(b"a: &x 1\\nb: *x"), shares(b"a: &x 1\\nb: not *x* or 2*x")
    (True, False)
    >>> shares(b"a: &x 1\\nb: this & that, *more*"), shares(b"a: b&x\\nb: *x")
    (False, False)
    """
    return b"&" in data and b"*" in data and not _list_names(_ANCHOR, data).isdisjoint(_list_names(_ALIAS, data))


def _list_names(sign: re.Pattern[bytes], data: bytes) -> set[bytes]:
    return {found[1] for found in sign.finditer(data) if not found.start() or data[found.start() - 1] in _BEFORE}


def _find_schemas(data: bytes) -> list[tuple[int, int, int]]:
    """Where the schemas of the CustomResourceDefinitions of a file begin and end, and how far they are indented."""
    places = []
    for _, begin, stop in split_documents(data, 0):
        text = data[begin:stop]
        if _WORD in text and {kind.strip() for kind in _KINDS.findall(b"\n" + text)} == {b"CustomResourceDefinition"}:
            places += [(begin + start, begin + end, margin) for start, end, margin in _find_in_document(text)]
    return places


def _find_in_document(data: bytes) -> list[tuple[int, int, int]]:
    if shares(data) or any(mark in data for mark in _FOREIGN):
        return []
    places = []
    done = 0
    while found := _SCHEMA.search(data, done):
        start, margin = found.start(2), len(found[2])
        if margin <= len(found[1]):
            return []
        # It goes on to the next line that is indented no more than its key, comments aside.
        ends = re.compile(rb"^ {0,%d}[^ \n#]" % len(found[1]), re.MULTILINE).search(data, start)
        done = ends.start() if ends else len(data)
        places.append((start, done, margin))
    return places
