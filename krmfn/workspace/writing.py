"""What `generate --write` does to files: edits in place, a file beside each owner, the kustomization's resources.

Plans, and writes nothing. Knows files and kustomizations, no scheduling.
"""

from __future__ import annotations

import posixpath
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from operator import itemgetter
from typing import TypeAlias

from krmfn.krm import EditRefused, Item, Stream, Unreadable
from krmfn.model.showing import HIDDEN, hides_keys, is_secret, may_hold_secrets
from krmfn.model.values import group_by
from krmfn.reconcile import Addition
from krmfn.reconcile.placement import beside
from krmfn.workspace.disk import Disk
from krmfn.workspace.kustomization import add_entries, find_kustomization, remove_entries
from krmfn.workspace.manifests import LoadedFile
from krmfn.workspace.replacing import FileChange
from krmfn.workspace.trees import WriteFailed

#: A line of a file that is in none of its objects, and holds nothing of a value.
_OUTSIDE = re.compile(r"""[\s{}\[\],"'-]*+((apiVersion|kind)\W++[\w./]+|metadata|items|#.*+)?[\s{}\[\],"':-]*""")


def plan_changes(files: Sequence[LoadedFile], added: Iterable[Addition], removed: Iterable[Item]) -> list[FileChange]:
    """The files that differ, sorted by path. The items of `files` were edited in place.

    A file made for generated objects that loses its last one goes, and so does its entry in the kustomization. Raises
    WriteFailed for a kustomization that cannot be edited, and for a list that cannot lose an object.
    """
    gone = {id(item) for item in removed}
    new: dict[str, bytes | None] = {}
    streams = {file.path: file.stream for file in files}
    for stream in streams.values():
        for item in [item for item in stream.items if id(item) in gone]:
            stream.remove(item)
    made = _append(streams, added)
    for path, stream in {**streams, **made}.items():
        try:
            new[path] = stream.render()
        except EditRefused as refused:
            raise WriteFailed(f"{path}: objects cannot be removed: {refused}") from None
        # The name of a file for generated objects.
        if gone and not stream.items and posixpath.splitext(path)[0].endswith("-gang"):
            new[path] = None
    old = {file.path: file.data for file in files}
    listed = [path for path in made if path not in old]
    new |= _edit_kustomizations(listed, [path for path, data in new.items() if data is None], old)
    changes = [FileChange(path, old.get(path) or _read(path), data) for path, data in sorted(new.items())]
    return [change for change in changes if change.old != change.new]


def spell_diff(changes: Iterable[FileChange]) -> str:
    """The plan as a unified diff, as git would show it, with the values of Secrets and environments hidden."""
    parts = []
    for path, old, new in changes:
        before, after = map(_split, (old, new))
        shown_before, shown_after = _hide(before, old, path), _hide(after, new, path)
        parts.append(f"--- {'/dev/null' if old is None else f'a/{path}'}\n")
        parts.append(f"+++ {'/dev/null' if new is None else f'b/{path}'}\n")
        for group in LineMatcher(None, before, after).get_grouped_opcodes():
            first, last = group[0], group[-1]
            parts.append(f"@@ -{_spell_range(first[1], last[2])} +{_spell_range(first[3], last[4])} @@\n")
            for kind, i1, i2, j1, j2 in group:
                if kind == "equal":
                    parts += [f" {line}" for line in shown_before[i1:i2]]
                else:
                    parts += [f"-{line}" for line in shown_before[i1:i2]]
                    parts += [f"+{line}" for line in shown_after[j1:j2]]
    return "".join(part if part.endswith("\n") else f"{part}\n\\ No newline at end of file\n" for part in parts)


def spell_lines(data: bytes, path: str) -> list[str]:
    """The lines of a file as they may be shown: with the values of Secrets and environments hidden. None of a file that
    cannot be read: nobody knows what is in it."""
    try:
        return _hide(_split(data), data, path)
    except Unreadable:
        return []


def _split(data: bytes | None) -> list[str]:
    lines = (data or b"").decode("utf-8", "replace").split("\n")
    return [f"{line}\n" for line in lines[:-1]] + lines[-1:] * bool(lines[-1])


def _spell_range(start: int, end: int) -> str:
    """Lines as a unified diff counts them: an empty range stands behind the line before it."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


def _hide(lines: list[str], data: bytes | None, path: str) -> list[str]:
    """As many lines, without the values that are to be hidden."""
    if not data or not may_hold_secrets(data):
        return lines
    items = Stream.parse(data, path).items
    starts = [0, *accumulate(map(len, lines))]
    shown = [line if _OUTSIDE.fullmatch(line) else f"{HIDDEN}\n" for line in lines]  # whose values nobody knows
    for item in items:
        start, end = item.span
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, max(end, start + 1))
        shown[first:last] = lines[first:last]
    secrets = {
        (start, end)
        for item in items
        for path, start, end, is_key in item.list_scalars()
        if (hides_keys if is_key else is_secret)(item.kind, path)
    }
    for start, end in sorted(secrets, reverse=True):
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, end) - 1
        kept = shown[first][: start - starts[first]]
        below = " " * (len(kept) - len(kept.lstrip(" -")) + 2) + HIDDEN
        rest = shown[last][end - starts[last] :] or "\n"
        hidden = [kept + HIDDEN, *[below] * (last - first)]
        shown[first : last + 1] = [*(f"{line}\n" for line in hidden[:-1]), hidden[-1] + rest]
    return shown


def _append(streams: Mapping[str, Stream], added: Iterable[Addition]) -> dict[str, Stream]:
    """Put new objects into the files beside their owners; the streams that got some, by path."""
    made: dict[str, Stream] = {}
    for value, owner in added:
        path = beside(owner.file.path)
        if path not in made:
            # A file that is there but was not among the arguments is appended to as well.
            made[path] = streams[path] if path in streams else Stream.parse(_read(path) or b"", path)
        made[path].append(Item.new(value))
    return made


def _edit_kustomizations(
    listed: Iterable[str], dropped: Iterable[str], old: dict[str, bytes]
) -> dict[str, bytes | None]:
    edited: dict[str, bytes | None] = {}
    for edit, paths in ((add_entries, listed), (remove_entries, dropped)):
        for folder, own in group_by(posixpath.dirname, paths).items():
            place = find_kustomization(folder or ".")
            if place is not None:
                place = place.removeprefix("./")
                data = edited.get(place) or old.get(place) or _read(place) or b""
                edited[place] = edit(data, place, {"resources": map(posixpath.basename, own)})
    return edited


def _read(path: str) -> bytes | None:
    return Disk(path).find(path)


#: The places of a line in two texts.
_Pair: TypeAlias = tuple[int, int]


class LineMatcher(SequenceMatcher[str]):
    """Which lines two texts have in common, in time that grows as the texts do.

    difflib alone looks through all that is left for each change that it finds. Here the lines that stand once in each
    text, such as those with a name, divide the texts first (Bram Cohen's patience diff); difflib has what is between.
    """

    a: Sequence[str]  # what SequenceMatcher compares; its type stubs lack the names
    b: Sequence[str]

    def get_matching_blocks(self) -> list[Match]:
        """The runs of lines that both texts have, in order, no two of them adjacent; an empty one ends the list."""
        pairs = []
        i = j = 0
        for x, y in [*_find_anchors(self.a, self.b), (len(self.a), len(self.b))]:
            if i < x and j < y:
                inner = SequenceMatcher(None, self.a[i:x], self.b[j:y]).get_matching_blocks()
                pairs += [(i + block.a + at, j + block.b + at) for block in inner for at in range(block.size)]
            pairs.append((x, y))
            i, j = x + 1, y + 1
        *lines, ends = pairs
        blocks: list[Match] = []
        for x, y in lines:
            a, b, size = blocks[-1] if blocks else (x, y, 0)
            if (a + size, b + size) == (x, y):
                blocks[-1:] = [Match(a, b, size + 1)]
            else:
                blocks.append(Match(x, y, 1))
        return [*blocks, Match(*ends, 0)]


def _find_anchors(before: Sequence[str], after: Sequence[str]) -> list[_Pair]:
    """The lines that stand once in each text, as many of them as have one order in both: their places in each."""
    counts = Counter(before), Counter(after)
    places = {line: y for y, line in enumerate(after) if counts[0][line] == counts[1][line] == 1}
    pairs = [(x, places[line]) for x, line in enumerate(before) if line in places]
    # The longest chain of growing places: on each pile lies the pair that ends a chain of that length first.
    tops: list[_Pair] = []
    below: dict[_Pair, _Pair] = {}
    for pair in pairs:
        pile = bisect_left(tops, pair[1], key=itemgetter(1))
        if pile:
            below[pair] = tops[pile - 1]
        tops[pile : pile + 1] = [pair]
    chain = tops[-1:]
    while chain and chain[-1] in below:
        chain.append(below[chain[-1]])
    return chain[::-1]
