"""Reads YAML of the plainest kind line by line into nodes; gives None for everything else.

What kustomize, kpt and most people write is of that kind: ASCII, block style, plain keys, scalars on one line, literal
blocks, flow collections of plain words on one line. The nodes are those that libyaml's events give (`composing`),
several times faster and without importing a YAML library. Where a line is not of a form below, the answer is None: no
guess is ever made.
"""

from __future__ import annotations

import re

from krmfn.krm.nodes import Mapping, Node, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PLAIN = (
    r"(?:[A-Za-z0-9_./+~($^;=]|-(?=[^ \n]))"  # no indicator begins it
    r"[^ \n:#]*(?:(?::(?=[^ \n])|(?<=[^ ])#| (?=[^ #\n]))[^ \n:#]*)*"  # neither `: ` nor ` #` ends it early
)
_NAME = r"[A-Za-z_][A-Za-z0-9_./-]{0,1000}"
_VALUE = rf"""'(?:[^'\n]|'')*'|"[^"\\\n]*"|\{{[^][{{}}\n]*\}}|\[[^][{{}}\n]*\]|\|[-+]?|{_PLAIN}"""
#: Indentation, dashes, a key with or without a value, or a value alone; a comment.
_LINE = re.compile(
    rf"( *)((?:- +)*)(?:({_NAME}):(?: +({_VALUE}))?(?: +#[^\n]*)?"
    rf"|({_VALUE})(?: +#[^\n]*)?|#[^\n]*)?"
)
#: A scalar in a flow collection: its characters mean nothing there.
_WORD = r"""'[^'\n]*'(?!')|"[^"\\\n]*"|(?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))[A-Za-z0-9_./=-]*"""
_FLOW = rf"\{{(?:{_NAME}: (?:{_WORD})(?:, {_NAME}: (?:{_WORD}))*)?\}}|\[(?:(?:{_WORD})(?:, (?:{_WORD}))*)?\]"
_PAIRS = rf"(?:({_NAME}): )?({_WORD})(?:, |[\]}}])"
#: What this reader leaves to others: line breaks other than LF, tabs, controls.
_FOREIGN = re.compile(r"[^\n\x20-\x7e]")
MAX_DEPTH = 150


class Unusual(Exception):
    """The text is not of the plainest kind."""


def read_lines(text: str) -> Node | None:
    """Read a block mapping; None where the text is not of the plainest kind."""
    if not is_plain(text):
        return None
    try:
        return _Reader(text).read()
    except Unusual:
        return None


def is_plain(text: str) -> bool:
    """Whether the text has no other characters than this reader knows."""
    return text.isascii() and not _FOREIGN.search(text)


#: Column of the line, column behind the dashes, key, value (or value alone), column of the value.
_Parts = tuple[int, int, str | None, str | None, int]
#: Lines that were seen before: objects of one kind have most of them in common.
_SEEN: dict[str, _Parts] = {}


def take_apart(raw: str) -> _Parts:
    """The parts of a line without its line break."""
    line = _LINE.fullmatch(raw)
    if line is None:
        raise Unusual
    name, value, alone = line.group(3, 4, 5)
    some = value or alone or ""
    # Compiled when it is needed, which costs as much as reading a file.
    if some[:1] in ("{", "[") and len(some) > 2 and not re.fullmatch(_FLOW, some):
        raise Unusual
    if name is None and bool(line[2]) != (alone is not None):
        raise Unusual  # a dash without a value, or a value without a dash
    start = line.start(5) if value is None else line.start(4)
    parts = (line.end(1), line.end(2), name, alone if value is None else value, start)
    if len(_SEEN) < 8192:
        _SEEN[raw] = parts
    return parts


def split_flow(value: str) -> Iterator[re.Match[str]]:
    """The pairs or elements of a flow collection: group 1 is the key if any, group 2 the scalar."""
    return re.compile(_PAIRS).finditer(value, 1) if len(value) > 2 else iter(())


def _read_word(start: int, word: str) -> Scalar:
    """A scalar of a flow collection."""
    style = word[0] if word[0] in "'\"" else ""
    return Scalar(start, start + len(word), None, None, word[1:-1] if style else word, style)


class _Reader:
    """A stack of open collections with their columns, and the key that waits for its value."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.columns: list[int] = []
        self.nodes: list[Mapping | Sequence] = []
        #: The key whose value has not been seen, and the offset behind its colon.
        self.key: Scalar | None = None
        self.after = 0
        self.root: Node | None = None

    def read(self) -> Node:
        text = self.text
        size = len(text)
        columns, nodes = self.columns, self.nodes
        position = 0
        while position < size:
            stop = text.find("\n", position)
            if stop < 0:
                stop = size
            raw = text[position:stop]
            parts = _SEEN.get(raw) or take_apart(raw)
            column, content, name, value, offset = parts
            behind = stop + 1
            if name is None:
                if value is not None:
                    self.open_elements(position + column, position + content, position)
                    behind = self.read_value(position + offset, value, behind)
                position = behind
                continue
            start = position + content
            if content != column:
                self.open_elements(position + column, start, position)
                self.push(Mapping(start, start, None, None, False), content)
            elif self.key is not None or not columns or columns[-1] != column or type(nodes[-1]) is not Mapping:
                self.open_key(start, column)
            end = start + len(name)
            key = Scalar(start, end, None, None, name, "")
            if value is None:
                self.key = key
                self.after = end + 1
            elif value[0] in "'\"{[|":
                self.key = key
                behind = self.read_value(position + offset, value, behind)
            else:
                top = nodes[-1]
                assert isinstance(top, Mapping)
                start = position + offset
                top.end = end = start + len(value)
                top.pairs.append((key, Scalar(start, end, None, None, value, "")))
            position = behind
        return self.finish()

    def open_elements(self, start: int, end: int, line: int) -> int:
        """Open the elements whose dashes stand from `start` to `end`; gives the column behind them."""
        text = self.text
        self.close(start - line, dash=True)
        first = True
        while start < end:
            column = start - line
            top = self.nodes[-1] if self.nodes else None
            if not (first and isinstance(top, Sequence) and self.columns[-1] == column and self.key is None):
                if first and (not isinstance(top, Mapping) or self.key is None or self.columns[-1] > column):
                    raise Unusual
                self.push(Sequence(start, start, None, None, False), column)
            first = False
            start += 1
            while text[start : start + 1] == " ":
                start += 1
        return end - line

    def open_key(self, start: int, column: int) -> None:
        """Find or open the mapping for a key in `column` that begins a line."""
        self.close(column, dash=False)
        top = self.nodes[-1] if self.nodes else None
        if not (isinstance(top, Mapping) and self.columns[-1] == column):
            if top is not None and (not isinstance(top, Mapping) or self.key is None or self.columns[-1] >= column):
                raise Unusual
            self.push(Mapping(start, start, None, None, False), column)
        elif self.key is not None:
            self.put(Scalar(self.after, self.after, None, None, "", ""))

    def close(self, column: int, dash: bool) -> None:
        """Close what is indented more than `column`, and a sequence there when a key follows."""
        columns, nodes = self.columns, self.nodes
        while columns and (
            columns[-1] > column or (columns[-1] == column and not dash and type(nodes[-1]) is Sequence)
        ):
            if self.key is not None:
                self.put(Scalar(self.after, self.after, None, None, "", ""))
            columns.pop()
            closed = nodes.pop()
            if nodes:
                nodes[-1].end = closed.end

    def push(self, node: Mapping | Sequence, column: int) -> None:
        if len(self.nodes) > MAX_DEPTH:
            raise Unusual
        if self.nodes:
            self.put(node)
        elif self.root is None:
            self.root = node
        else:
            raise Unusual
        self.nodes.append(node)
        self.columns.append(column)

    def put(self, node: Node) -> None:
        """Put a node into the collection that is open."""
        top = self.nodes[-1]
        top.end = node.end
        if type(top) is Sequence:
            top.items.append(node)
        elif self.key is not None:
            assert isinstance(top, Mapping)
            top.pairs.append((self.key, node))
            self.key = None
        else:
            raise Unusual

    def read_value(self, start: int, value: str, position: int) -> int:
        """Put the value that begins at `start`; gives the offset of the next line."""
        first = value[0]
        end = start + len(value)
        if first == "'":
            self.put(Scalar(start, end, None, None, value[1:-1].replace("''", "'"), "'"))
        elif first == '"':
            self.put(Scalar(start, end, None, None, value[1:-1], '"'))
        elif first == "{":
            mapping = Mapping(start, end, None, None, True)
            for pair in split_flow(value):
                key = Scalar(start + pair.start(1), start + pair.end(1), None, None, pair[1], "")
                mapping.pairs.append((key, _read_word(start + pair.start(2), pair[2])))
            self.put(mapping)
        elif first == "[":
            sequence = Sequence(start, end, None, None, True)
            for pair in split_flow(value):
                sequence.items.append(_read_word(start + pair.start(2), pair[2]))
            self.put(sequence)
        elif first == "|":
            return self.read_literal(start, value[1:], position)
        else:
            self.put(Scalar(start, end, None, None, value, ""))
        return position

    def read_literal(self, start: int, mark: str, position: int) -> int:
        """Put a literal block; its lines are those indented as the first one, and empty ones."""
        text = self.text
        size = len(text)
        body = position
        while text[body : body + 1] == " ":
            body += 1
        indent = body - position
        if text[body : body + 1] in ("", "\n") or indent <= (self.columns[-1] if self.columns else 0):
            raise Unusual
        margin = " " * indent
        lines: list[str] = []
        last = 0
        while position < size:
            stop = text.find("\n", position)
            if stop == position:
                lines.append("")
            elif not text.startswith(margin, position):
                if not text[position : stop if stop >= 0 else size].strip():
                    raise Unusual
                break
            else:
                line = text[position + indent : stop if stop >= 0 else size]
                if stop < 0 or not line.strip():
                    raise Unusual
                lines.append(line)
                last = len(lines)
            position = stop + 1
        content = "\n".join(lines[:last])
        if mark != "-":
            content += "\n" * (1 + (len(lines) - last if mark == "+" else 0))
        self.put(Scalar(start, position, None, None, content, "|"))
        return position

    def finish(self) -> Node:
        self.close(-1, dash=False)
        if self.root is None:
            raise Unusual
        return self.root
