"""Turns nodes into plain values by the API machinery's dialect, and lists what other readers would see otherwise.

Duplicate keys: the last one wins. Merge keys: in the order of the text, as in go-yaml v2 (a key before `<<` loses,
a key after it wins). Knows nothing about Kubernetes kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from krmfn.krm.dialect import explain_ambiguity, resolve_plain, spell_key
from krmfn.krm.errors import Unreadable
from krmfn.krm.frames import Frame
from krmfn.krm.nodes import Alias, Mapping, Node, Parent, Scalar, Sequence, follow, is_merge
from krmfn.krm.paths import Fields, Path
from krmfn.krm.places import position

#: How many nodes a text may stand for when its aliases are followed, for each of its characters, and besides.
MAX_GROWTH = 20
_FREE_NODES = 200

#: Path, code and message of a problem, and where it begins in the text.
_Found = tuple[Path, str, str, int]
_ESCAPED = "kubectl and kustomize refuse the escape `\\/`"
_REFOLDED = "kustomize adds a line break before the indented lines of this folded text, kubectl does not"
_EMPTY = "kubectl reads this empty value as null, kustomize and kpt as an empty string"


class _Builder:
    """Builds values; what an anchor stands for is built once and shared."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shared: dict[int, tuple[Any, int]] = {}
        self.count = 0
        #: Whether a mapping may have a key twice: it has fewer keys than pairs, or something is merged into it.
        self.repeats = False
        self.most = _FREE_NODES + MAX_GROWTH * len(text)

    def build(self, node: Node) -> Any:
        """Dispatch by type; a scalar without quotes is the only thing to interpret."""
        self.count += 1
        if isinstance(node, Scalar):
            if node.style and (node.tag is None or node.tag == "!"):
                return node.content
            return self.resolve(node)
        if isinstance(node, Alias):
            return self.build_shared(node)
        before = self.count
        value: Any
        if isinstance(node, Mapping):
            value = {}
            for key, child in node.pairs:
                if is_merge(key):
                    self.merge(child, value)
                    self.repeats = True
                else:
                    name = self.spell(key)
                    value[name] = self.build(child)
            self.repeats = self.repeats or len(value) < len(node.pairs)
        else:
            assert isinstance(node, Sequence)
            value = [self.build(child) for child in node.items]
        if node.anchor is not None:
            self.shared[id(node)] = (value, self.count - before)
        return value

    def build_shared(self, alias: Alias) -> Any:
        """Give the value of an anchor, counting what a walk over it would visit."""
        if self.count > self.most:
            raise self.refuse(alias, "aliases make this too large: document contains excessive aliasing")
        known = self.shared.get(id(alias.target))
        if known is None:
            try:
                return self.build(alias.target)
            except Unreadable as error:
                if alias.origin is None:
                    raise
                raise self.refuse(alias, error.message) from None  # the target has its place in another text
        value, size = known
        self.count += size
        return value

    def merge(self, node: Node, into: Fields) -> None:
        """Apply `<<`: a mapping, or a sequence of mappings of which the first wins."""
        for child in reversed(node.items) if isinstance(node, Sequence) else [node]:
            if not isinstance(follow(child), Mapping):
                raise self.refuse(node, "map merge requires map or sequence of maps as the value")
            into.update(self.build(child))

    def spell(self, key: Node) -> str:
        """Give the JSON key of a key node."""
        target = follow(key)
        if not isinstance(target, Scalar):
            raise self.refuse(key, "a key is a map or a list")
        if target.style and target.tag is None:
            return target.content
        try:
            return spell_key(target.content, target.tag)
        except Unreadable as error:
            raise self.refuse(key, error.message) from None

    def resolve(self, node: Scalar) -> str | int | float | bool | None:
        try:
            return resolve_plain(node.content, node.tag)
        except Unreadable as error:
            raise self.refuse(node, error.message) from None

    def refuse(self, node: Node, message: str) -> Unreadable:
        return Unreadable(message, *position(self.text, node.start))


def to_value(node: Node | None, text: str) -> Any:
    """Give the plain value of a node: dict, list, str, int, float, bool, None. Raises Unreadable."""
    return build(node, text)[0]


def build(node: Node | None, text: str) -> tuple[Any, bool]:
    """As to_value, and whether a mapping may have a key twice."""
    builder = _Builder(text)
    return None if node is None else builder.build(node), builder.repeats


def find_problems(node: Node | None, text: str, json: bool = False) -> Iterator[_Found]:
    """Yield everything that readers disagree on, in the order of the text.

    Codes: `duplicate-key`, `merged-key-set-twice`, `non-string-key`, `ambiguous-scalar`, `refused-escape`.
    """
    if node is None:
        return
    builder = _Builder(text)
    todo: list[tuple[Path, Node]] = [((), node)]
    while todo:
        path, current = todo.pop()
        if isinstance(current, Scalar):
            message = "" if current.style or current.tag else explain_ambiguity(current.content)
            if message or (message := _REFOLDED if _is_refolded(current) else ""):
                yield path, "ambiguous-scalar", message, current.start
            elif not json and _has_slash_escape(current, text):
                yield path, "refused-escape", _ESCAPED, current.start
        elif isinstance(current, Sequence):
            for index, child in enumerate(current.items):
                if _is_empty_in_flow(child, current):
                    yield (*path, index), "ambiguous-scalar", _EMPTY, child.start
            todo += [((*path, index), child) for index, child in enumerate(current.items)][::-1]
        elif isinstance(current, Mapping):
            yield from _find_key_problems(path, current, builder, json)
            todo += _list_children(path, current, builder)[::-1]


def _is_refolded(node: Scalar) -> bool:
    """Whether a text in folded style has a line that is indented more than the one before."""
    lines = [line for line in node.content.split("\n") if line] if node.style == ">" else []
    blank = " \t\x85\u2028\u2029"
    return any(line[0] in blank and before[0] not in blank for before, line in pairwise(lines))


def _is_empty_in_flow(node: Node, holder: Parent) -> bool:
    return holder.flow and isinstance(node, Scalar) and not (node.style or node.content or node.tag)


def _has_slash_escape(node: Scalar, text: str) -> bool:
    source = text[node.start : node.end] if node.style == '"' and "/" in node.content else ""
    return "\\/" in source and "\\/" in source.replace("\\\\", "")


def _list_children(path: Path, mapping: Mapping, builder: _Builder) -> list[tuple[Path, Node]]:
    return [((*path, "<<" if is_merge(key) else builder.spell(key)), child) for key, child in mapping.pairs]


def _is_no_string(key: Scalar) -> bool:
    try:
        return not isinstance(resolve_plain(key.content, key.tag), str)
    except Unreadable:
        return True  # infinite, which a key may be


def _find_key_problems(path: Path, mapping: Mapping, builder: _Builder, json: bool) -> Iterator[_Found]:
    seen: set[str] = set()
    for key, child in mapping.pairs:
        if is_merge(key):
            merged_value: Fields = {}
            builder.merge(child, merged_value)
            for name in merged_value:
                if name in seen:
                    message = (
                        f'key "{name}" is set before the merge: kubectl takes the merged value, kustomize the other'
                    )
                    yield (*path, name), "merged-key-set-twice", message, key.start
            continue
        name = builder.spell(key)
        target = follow(key)
        if name in seen:
            yield (*path, name), "duplicate-key", f'key "{name}" already set in map', key.start
        seen.add(name)
        if isinstance(target, Scalar) and not target.style:
            word = target.content
            if _is_no_string(target):
                message = f'the key `{word}` is not a string: kubectl reads "{name}", other readers may refuse it'
                yield (*path, name), "non-string-key", message, key.start
            elif message := explain_ambiguity(word):
                yield (*path, name), "ambiguous-scalar", message, key.start
        elif isinstance(key, Scalar) and not json and _has_slash_escape(key, builder.text):
            yield (*path, name), "refused-escape", _ESCAPED, key.start
        if _is_empty_in_flow(child, mapping):
            yield (*path, name), "ambiguous-scalar", _EMPTY, child.start


class Problem(NamedTuple):
    """Something that readers of the item disagree on: a duplicate key, an ambiguous scalar, a key that is no string.

    `code` is `duplicate-key`, `merged-key-set-twice`, `non-string-key`, `ambiguous-scalar` or `refused-escape`; of a
    whole document (the path is empty) `yaml-directive`, `content-after-marker` or `content-after-end`. `line` and
    `column` count from 1 in the source.
    """

    path: Path
    code: str
    message: str
    line: int
    column: int


def list_problems(root: Node | None, text: str, frame: Frame, start: int) -> tuple[Problem, ...]:
    """The problems of an object's document and of its text, which begins at a byte, in the order of the text."""
    source, first = frame.source, frame.source.count(start) - frame.pad
    found = [Problem((), code, message, line, 1) for code, message, line in frame.remarks]
    found += [
        Problem(path, code, message, *source.place(first + offset))
        for path, code, message, offset in find_problems(root, text, frame.json)
    ]
    return tuple(found)
