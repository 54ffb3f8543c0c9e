"""The schemas of CustomResourceDefinitions, set aside while kustomize builds.

kustomize reads and writes them several times and changes nothing in them; they are most of what many repositories
build. A mark stands for each, and what kustomize printed gets the text back, as it was written.
"""

from __future__ import annotations

import re

_KINDS = re.compile(rb"\nkind:(.*)")
_SCHEMA = re.compile(rb"^( +)openAPIV3Schema: *\n( +)(?=\w)", re.MULTILINE)
#: What begins an anchor or an alias behind a blank, or what is no plain text at all.
_SHARED = re.compile(rb"[&*]\w")
_FOREIGN = (b"<<:", b"\t", b"\r")
#: What a patch, a replacement or a function has to spell to get at a schema.
_WORD = b"openAPIV3Schema"
#: Other ways to spell it: escapes in quotes, and other encodings.
_ESCAPES = re.compile(rb"\\[xuU\r\n]|\0")


class Aside:
    """The schemas of one build. `name` is a word that is nowhere else."""

    def __init__(self, name: str) -> None:
        """Nothing is set aside yet."""
        self._mark = f"krmfn-schema-{name}-".encode()
        self._kept: list[tuple[int, bytes]] = []

    def cut(self, data: bytes) -> bytes:
        """A file of CustomResourceDefinitions with marks for their schemas; any other file as it is."""
        pieces: list[bytes] = []
        done = 0
        for start, end, margin in _find_schemas(data) if _WORD in data else ():
            pieces += (data[done:start], b"%bdescription: %b%d\n" % (b" " * margin, self._mark, len(self._kept)))
            self._kept.append((margin, data[start:end]))
            done = end
        return b"".join((*pieces, data[done:])) if pieces else data

    def restore(self, data: bytes) -> bytes:
        """What kustomize printed, with the schemas."""
        mark = re.compile(rb"^( *)description: %b(\d+)\n" % re.escape(self._mark), re.MULTILINE)
        return mark.sub(lambda found: self._indent(int(found[2]), len(found[1])), data) if self._kept else data

    def _indent(self, number: int, margin: int) -> bytes:
        """A schema whose first line has another margin."""
        old, text = self._kept[number]
        if margin != old:
            # A comment may stand further left.
            text = re.sub(rb"^ {0,%d}(?=[^\n])" % old, b" " * margin, text, flags=re.MULTILINE)
        return text if text.endswith(b"\n") else text + b"\n"


def may_name(data: bytes) -> bool:
    """Whether a patch, a replacement or a function may get at a schema."""
    return _WORD in data or _ESCAPES.search(data) is not None


def _find_schemas(data: bytes) -> list[tuple[int, int, int]]:
    """Where the schemas of a file of CustomResourceDefinitions begin and end, and how far they are indented."""
    kinds = {kind.strip() for kind in _KINDS.findall(b"\n" + data)}
    if kinds != {b"CustomResourceDefinition"} or _may_share(data):
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


def _may_share(data: bytes) -> bool:
    """Whether the file may have parts that are named elsewhere in it."""
    return any(mark in data for mark in _FOREIGN) or any(
        data[found.start() - 1] in b" \n" for found in _SHARED.finditer(data)
    )
