"""Plans edits of a text: what to put where, so that everything else stays as it is written.

An editor plans one change; its `edits` are (offset, length, text) of the text it was given. Where an alias elsewhere
would change, too, it plans to write that out instead, and has to be asked again on the new text.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, pairwise
from typing import Any

from krmfn.krm.errors import EditRefused
from krmfn.krm.lines import Lines
from krmfn.krm.lookup import Step, Way, find_child, read_key
from krmfn.krm.nodes import Alias, Mapping, Node, Parent, Sequence, is_merge, walk, walk_places
from krmfn.krm.paths import Path, format_path
from krmfn.krm.places import begins_line, column, is_block_scalar
from krmfn.krm.splices import Edits, end_line, insert_elements, insert_entry, remove_child, replace_child
from krmfn.krm.style import Style
from krmfn.krm.writing import is_collection, write_block, write_entry, write_scalar

#: In place of a new value: what stands there is removed.
REMOVED: Any = object()


class Editor:
    """Plans one change: set(), remove(), rename(), detach() or end_line() is called once, then `edits` are read."""

    def __init__(
        self, text: str, root: Node, style: Style, used_outside: Callable[[str], bool], lines: Lines | None = None
    ) -> None:
        """`style` is that of the whole object, of which `text` may be a part. `used_outside` says whether an anchor of
        the text is used after it. `lines` are given where the text was read by lines."""
        self.text = text
        self.root = root
        self.style = style
        self.used_outside = used_outside
        self.lines = lines
        self.edits: Edits = []
        #: Whether something is taken out.
        self.removes = False
        #: Whether this is not all: another editor has to plan the rest, on the new text.
        self.again = False

    def set(self, path: Path, value: Any) -> None:
        """Plan to put `value` at `path`."""
        gap = self.lines.find_gap(path) if self.lines else None
        if gap is None:
            self._change([], self.root, path, 0, value)
            return
        depth, offset, indent = gap
        entry = write_entry(path[depth], _nest(path[depth + 1 :], value), self.style, indent)
        self.edits = [(offset, 0, " " * indent + entry + self.style.newline)]

    def remove(self, path: Path) -> None:
        """Plan to take out what stands at `path`."""
        self.removes = True
        self._change([], self.root, path, 0, REMOVED)

    def rename(self, path: Path, name: str) -> None:
        """Plan to give what stands at `path` another key."""
        way: Way = []
        node: Node = self.root
        for part in path:
            step = find_child(node, part)
            if step is None or step.merged or isinstance(step.node, Alias):
                raise EditRefused(f"{format_path(path)} has no key that can be changed")
            way.append(step)
            node = step.node
        step = way[-1]
        if step.key is None or isinstance(step.key, Alias) or find_child(step.holder, name):
            raise EditRefused(f"{format_path(path)} cannot be renamed to {name}")
        if self._unshare(way[:-1], step.holder, None):
            quoted = self.style.json or self.text[step.key.start] in "\"'"
            self.edits = [(step.key.start, step.key.end - step.key.start, write_scalar(name, quoted))]

    def detach(self, gone: Callable[[int], bool]) -> None:
        """Plan to write out all aliases of anchors in parts of the document that go."""
        for node, holder, place in walk_places(self.root):
            if isinstance(node, Alias) and node.origin is not None and gone(node.origin):
                self._write_out(node, holder, place)

    def end_line(self) -> None:
        """Plan to give the text a line break at its end, where it has none."""
        if not begins_line(self.text, len(self.text)):
            self.edits = end_line(self.text, self.root, self.style.newline)

    def _write_out(self, alias: Alias, holder: Parent | None, place: int) -> None:
        """Plan to write a value in place of an alias: of a key (`place` -1), of a child, or of the whole text."""
        if holder is not None and place >= 0:
            self.edits += replace_child(self.text, holder, place, self._read(alias), self.style)
            return
        if holder is not None:
            new = write_scalar(read_key(alias), self.style.json or holder.flow)  # its colon may stand before a quote
        else:
            new = write_block(self._read(alias), self.style, column(self.text, alias.start))
        self.edits.append((alias.start, alias.end - alias.start, new))

    def _change(self, way: Way, node: Node, path: Path, depth: int, value: Any) -> None:
        """Walk down to the place of the change. `way` are the steps to `node`, none of them an alias or merged."""
        way = way[:]
        while depth < len(path) and isinstance(node, Parent):
            part = path[depth]
            step = find_child(node, part)
            if step is None:
                if value is not REMOVED:
                    self._insert(way, node, path, depth, _nest(path[depth + 1 :], value))
                return
            if step.merged:
                self._change_merged(way, node, step, path, depth, value)
                return
            if depth == len(path) - 1 and value is REMOVED:
                self._remove(way, step, path)
                return
            way.append(step)
            node = step.node
            depth += 1
        if isinstance(node, Alias):
            self._replace(way, edit_copy(self._read(node), path, depth, value))
        elif depth == len(path):
            self._assign(way, node, path, value)
        elif self._read(node) is not None:
            raise EditRefused(f"{format_path(path[:depth])} is neither a map nor a list")
        elif value is not REMOVED:
            self._replace(way, _nest(path[depth:], value))

    def _change_merged(self, way: Way, node: Parent, step: Step, path: Path, depth: int, value: Any) -> None:
        """Plan to write out a key that comes from a merge: after the `<<` the written one wins."""
        part = path[depth]
        assert isinstance(node, Mapping)
        merged = self._read(step.node)
        if value is REMOVED and depth == len(path) - 1:
            raise EditRefused(f"{format_path(path)} comes from a merge key")
        new = edit_copy(merged, path, depth + 1, value)
        if same(new, merged):
            return
        if any(read_key(key) == part for key, _ in node.pairs if not is_merge(key)):
            raise EditRefused(f"{format_path(path[: depth + 1])} is set before a merge key that sets it too")
        self._insert(way, node, path, depth, new)

    def _assign(self, way: Way, node: Node, path: Path, value: Any) -> None:
        """Plan to replace a node, or only those of its children that differ."""
        old = self._read(node)
        if same(old, value):
            return
        if isinstance(node, Mapping) and isinstance(value, dict) and value and node.pairs:
            changed = ((key, child) for key, child in value.items() if key not in old or not same(old[key], child))
            gone = ((key, REMOVED) for key in old if key not in value)
            key, child = next(chain(changed, gone))
            self.removes = child is REMOVED
            self._change_first(way, node, (*path, key), child)
        elif isinstance(node, Sequence) and isinstance(value, list) and 0 < len(node.items) <= len(value):
            differing = (index for index, child in enumerate(old) if not same(child, value[index]))
            index = next(differing, None)
            if index is not None:
                self._change_first(way, node, (*path, index), value[index])
            elif self._unshare(way, node, None):
                self.edits = insert_elements(self.text, node, value[len(old) :], self.style)
        elif isinstance(node, Sequence) and isinstance(value, list) and value and (places := _find_missing(old, value)):
            self._remove_elements(way, node, path, places)
        else:
            self._replace(way, value)

    def _change_first(self, way: Way, node: Node, path: Path, value: Any) -> None:
        """Plan the first of several changes in a node; another editor plans the others."""
        self._change(way, node, path, len(path) - 1, value)
        self.again = True

    def _remove_elements(self, way: Way, node: Sequence, path: Path, places: list[int]) -> None:
        """Plan to take out some elements of a list: all together where each has lines of its own, else the last one."""
        self.removes = True
        edits = [edit for place in places for edit in remove_child(self.text, node, place)]
        apart = all(one[0] + one[1] <= other[0] for one, other in pairwise(edits))
        if not apart or node.flow or any(child.anchor or is_block_scalar(child) for child in walk(node)):
            self._change_first(way, node, (*path, places[-1]), REMOVED)
        elif self._unshare(way, node, None):
            self.edits = edits

    def _insert(self, way: Way, node: Parent, path: Path, depth: int, value: Any) -> None:
        part = path[depth]
        if isinstance(node, Mapping) != isinstance(part, str):
            kind = "a map" if isinstance(node, Mapping) else "a list"
            raise EditRefused(f"{format_path(path[:depth])} is {kind}")
        if isinstance(node, Sequence) and part != len(node.items):
            raise EditRefused(f"{format_path(path[:depth])} has {len(node.items)} elements")
        if not self._unshare(way, node, None):
            return
        if not node.children and way and not way[-1].holder.flow and not self.style.json:
            self.edits = self._splice(way[-1], {part: value} if isinstance(part, str) else [value])
        elif isinstance(node, Mapping):
            self.edits = insert_entry(self.text, node, str(part), value, self.style)
        else:
            self.edits = insert_elements(self.text, node, [value], self.style)

    def _replace(self, way: Way, value: Any) -> None:
        if not way:
            raise EditRefused("an object cannot be replaced as a whole")
        step = way[-1]
        if self._unshare(way[:-1], step.holder, step.node):
            self.edits = self._splice(step, value)

    def _splice(self, step: Step, value: Any) -> Edits:
        return replace_child(self.text, step.holder, step.place, value, self.style)

    def _remove(self, way: Way, step: Step, path: Path) -> None:
        holder = step.holder
        if not self._unshare(way, holder, step.node, step.key):
            return
        if isinstance(holder, Mapping):
            self._refuse_revealed(holder, path)
        if len(holder.children) > 1:
            self.edits = remove_child(self.text, holder, step.place)
            self.again = isinstance(holder, Mapping) and sum(read_key(key) == path[-1] for key, _ in holder.pairs) > 1
        elif way:
            self.edits = self._splice(way[-1], {} if isinstance(holder, Mapping) else [])
        else:
            raise EditRefused(f"the document contains nothing but {format_path(path)}")

    def _refuse_revealed(self, holder: Mapping, path: Path) -> None:
        """Raise EditRefused where a merge key sets the same key, which would be seen once this one is gone."""
        for key, child in holder.pairs:
            merged = self._read(child) if is_merge(key) else []
            if any(path[-1] in each for each in (merged if isinstance(merged, list) else [merged])):
                raise EditRefused(f"{format_path(path)} is also set by a merge key")

    def _unshare(self, way: Way, holder: Node, replaced: Node | None, key: Node | None = None) -> bool:
        """Whether a change in `holder`, which may replace a child and its key, shows nowhere else. Otherwise plan to
        write out an alias first."""
        shared = [node for node in [self.root, *(step.node for step in way), holder] if node.anchor is not None]
        region = (0, 0)
        if replaced is not None:
            going = [replaced] if key is None else [key, replaced]
            shared += [node for part in going for node in walk(part) if node.anchor is not None]
            region = (going[0].start, replaced.end)
        if not shared:
            return True
        for node, near, place in walk_places(self.root):
            if (
                isinstance(node, Alias)
                and node.origin is None
                and not region[0] <= node.start < region[1]
                and any(node.target is target for target in shared)
            ):
                self._write_out(node, near, place)
                self.again = True
                return False
        for node in shared:
            if node.anchor is not None and self.used_outside(node.anchor):
                raise EditRefused(f"the anchor '{node.anchor}' is used by another object")
        return True

    def _read(self, node: Node) -> Any:
        from krmfn.krm.values import to_value  # most edits add what is not there

        return to_value(node, self.text)


def same(one: Any, other: Any) -> bool:
    """Equality that tells true from 1 and 1 from 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(child, other[key]) for key, child in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and bool(one == other)


def _find_missing(old: list[Any], new: list[Any]) -> list[int]:
    """The indexes of the elements of `old` that `new` lacks; empty where more than that differs."""
    gone: list[int] = []
    for place, child in enumerate(old):
        kept = place - len(gone)
        if kept == len(new) or not same(child, new[kept]):
            gone.append(place)
    return gone if len(old) - len(gone) == len(new) else []


def _nest(path: Path, value: Any) -> Any:
    """A value within the parents of a path, which do not exist yet. Raises EditRefused."""
    for part in reversed(path):
        if isinstance(part, int) and part != 0:
            raise EditRefused("a new list begins with element 0")
        value = {part: value} if isinstance(part, str) else [value]
    return value


def edit_copy(value: Any, path: Path, depth: int, new: Any) -> Any:
    """`value` with `new` (or without it: REMOVED) at `path[depth:]`, in plain data. Only the collections on the way are
    copied. Raises EditRefused."""
    if depth == len(path):
        return new
    part = path[depth]
    if value is None:
        return _nest(path[depth:], new) if new is not REMOVED else None
    if not is_collection(value):
        raise EditRefused(f"{format_path(path[:depth])} is neither a map nor a list")
    is_map = isinstance(part, str) and isinstance(value, dict)
    if not is_map and not (isinstance(part, int) and isinstance(value, list) and 0 <= part <= len(value)):
        raise EditRefused(f"{format_path(path[: depth + 1])} does not exist")
    copied = value.copy()
    if part in (value if is_map else range(len(value))):
        if new is REMOVED and depth == len(path) - 1:
            del copied[part]
        else:
            copied[part] = edit_copy(value[part], path, depth + 1, new)
    elif new is not REMOVED and is_map:
        copied[part] = _nest(path[depth + 1 :], new)
    elif new is not REMOVED:
        copied.append(_nest(path[depth + 1 :], new))
    return copied
