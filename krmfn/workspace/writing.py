"""What `generate --write` does to files: edits in place, a file beside each owner, the kustomization's resources.

Plans, and writes nothing. Knows files and kustomizations, no scheduling.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from krmfn.krm import Item, Stream
from krmfn.reconcile.placement import beside
from krmfn.workspace.disk import Disk
from krmfn.workspace.manifests import Manifest
from krmfn.workspace.replacing import Change

if TYPE_CHECKING:
    from krmfn.reconcile import Addition


def plan_changes(files: Sequence[Manifest], added: Iterable[Addition], removed: Iterable[Item]) -> list[Change]:
    """The files that differ, sorted by path. The items of `files` were edited in place.

    A file made for generated objects that loses its last one goes, and so does its entry in the kustomization. Raises
    NotPossible for a kustomization that cannot be edited.
    """
    gone = {id(item) for item in removed}
    new: dict[str, bytes | None] = {}
    streams = {file.path: file for file in files}
    emptied = []
    for file in files:
        for item in [item for item in file.stream.items if id(item) in gone]:
            file.stream.remove(item)
        emptied += [file.path] if gone and not file.stream.items and beside_somebody(file.path) else []
    made = _append(streams, added)
    for path, stream in made.items():
        new[path] = stream.render()
    for path, file in streams.items():
        new.setdefault(path, file.stream.render())
    for path in emptied:
        if not streams[path].stream.items:
            new[path] = None
    old = {file.path: file.data for file in files}
    listed = [path for path in made if path not in old]
    new |= _edit_kustomizations(listed, [path for path, data in new.items() if data is None], old)
    changes = [Change(path, old.get(path) or _read(path), data) for path, data in sorted(new.items())]
    return [change for change in changes if change.old != change.new]


def beside_somebody(path: str) -> bool:
    """Whether a file has the name of one for generated objects."""
    return posixpath.splitext(path)[0].endswith("-gang")


def spell_diff(changes: Iterable[Change]) -> str:
    """The plan as a unified diff, as git would show it."""
    from difflib import unified_diff

    parts = []
    for path, old, new in changes:
        before, after = ((data or b"").decode("utf-8", "replace").splitlines(keepends=True) for data in (old, new))
        names = ("/dev/null" if old is None else f"a/{path}", "/dev/null" if new is None else f"b/{path}")
        for line in unified_diff(before, after, *names):
            parts.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(parts)


def _append(streams: dict[str, Manifest], added: Iterable[Addition]) -> dict[str, Stream]:
    """Put new objects into the files beside their owners; the streams that got some, by path."""
    made: dict[str, Stream] = {}
    for value, owner in added:
        path = beside(owner.file.path)
        if path not in made:
            # A file that is there but was not among the arguments is appended to as well.
            made[path] = streams[path].stream if path in streams else Stream.parse(_read(path) or b"", path)
        made[path].append(Item.new(value))
    return made


def _edit_kustomizations(
    listed: Iterable[str], dropped: Iterable[str], old: dict[str, bytes]
) -> dict[str, bytes | None]:
    from krmfn.workspace.kustomization import add_entries, find_kustomization, remove_entries

    edited: dict[str, bytes | None] = {}
    for edit, paths in ((add_entries, listed), (remove_entries, dropped)):
        for path in paths:
            folder, name = posixpath.split(path)
            place = find_kustomization(folder or ".")
            if place is not None:
                place = place.removeprefix("./")
                data = edited.get(place) or old.get(place) or _read(place) or b""
                edited[place] = edit(data, place, {"resources": [name]})
    return edited


def _read(path: str) -> bytes | None:
    return Disk(path).find(path)
