"""The files of a folder that nothing renders, in parts that are applied together.

Nobody says which are. An object that is there twice tells that not all of them are: copies in two folders are for two
clusters or teams, and files in one folder that define an object differently are alternatives, as in a folder of
examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from krmfn.krm import FileRef, Item, Result
from krmfn.model.identity import Identity, identify
from krmfn.model.kinds import find_kind
from krmfn.reconcile.placement import beside
from krmfn.workspace.manifests import LoadedFile, tell

#: More alternatives of one file than that are checked without the files beside them.
_MOST = 100


class AppliedFiles(NamedTuple):
    """Files that are applied together. `label` tells alternatives of one folder apart, empty for the first."""

    label: str
    files: list[LoadedFile]


def split(files: Sequence[LoadedFile]) -> list[AppliedFiles]:
    """The files, each in one part."""
    return [part for folder in _split_folders(files, 0) for part in _list_alternatives(folder)]


def split_completely(files: Sequence[LoadedFile]) -> list[AppliedFiles]:
    """The files, each in every part that it could be applied with."""
    return [part for folder in _split_folders(files, 0) for part in _complete(_list_alternatives(folder))]


def tell_alternatives(files: Sequence[LoadedFile]) -> list[Result]:
    """What to say about files that are not checked together with the others of their folder."""
    return [_tell(file) for part in split(files) if part.label for file in part.files]


def _complete(parts: Sequence[AppliedFiles]) -> Sequence[AppliedFiles]:
    if len(parts) > _MOST:
        return parts
    return [part._replace(files=_add(part.files, parts)) if part.label else part for part in parts]


def _tell(file: LoadedFile) -> Result:
    message = "checked separately: another file in the folder defines one of its objects differently"
    return tell("alternatives", message, FileRef(file.path))


def _split_folders(files: Sequence[LoadedFile], depth: int) -> list[list[LoadedFile]]:
    """When an object is in two folders, each folder is for itself."""
    folders: dict[str, list[LoadedFile]] = {}
    for file in files:
        parts = file.path.split("/")
        folders.setdefault(parts[depth] if depth < len(parts) - 1 else "", []).append(file)
    if "" not in folders and len(folders) == 1:
        return _split_folders(files, depth + 1)
    if len(folders) <= 1 or not has_copies(files):
        return [list(files)] if files else []
    return [part for folder, own in folders.items() for part in (_split_folders(own, depth + 1) if folder else [own])]


def has_copies(files: Sequence[LoadedFile]) -> bool:
    """Whether an object is in two folders."""
    seen: dict[Identity, str] = {}
    for file in files:
        folder = file.path.rpartition("/")[0]
        for item in file.stream.items:
            if item.name and seen.setdefault(identify(item.ref), folder) != folder:
                return True
    return False


def _list_alternatives(files: Sequence[LoadedFile]) -> list[AppliedFiles]:
    """Each file in the first part in which it meets no other version of one of its objects; what krmfn generated from a
    file in the part of that file, if it can."""
    places = {id(file): place for place, file in enumerate(files)}
    homes: dict[str, int | None] = {beside(file.path): None for file in files}
    parts: list[tuple[dict[Identity, Item], list[LoadedFile]]] = []
    for file in sorted(files, key=lambda file: file.path in homes):
        own = _index(file)
        numbers = range(min(len(parts), _MOST))
        home = homes.get(file.path)
        for number in numbers if home is None else (home, *numbers):
            known, part = parts[number]
            if not _differ(known, own):
                break
        else:
            number, known, part = len(parts), {}, []
            parts.append((known, part))
        known.update(own)
        part.append(file)
        homes[beside(file.path)] = number
    labels = [part[0].path if number else "" for number, (_, part) in enumerate(parts)]
    ordered = [sorted(part, key=lambda file: places[id(file)]) for _, part in parts]
    return [AppliedFiles(label, part) for label, part in zip(labels, ordered, strict=True)]


def _add(part: Sequence[LoadedFile], parts: Sequence[AppliedFiles]) -> list[LoadedFile]:
    known = {identity: item for file in part for identity, item in _index(file).items()}
    chosen = {id(file) for file in part}
    for file in (file for other in parts for file in other.files):
        own = _index(file)
        if id(file) not in chosen and not _differ(known, own):
            known.update(own)
            chosen.add(id(file))
    return [file for other in parts for file in other.files if id(file) in chosen]


def _index(file: LoadedFile) -> dict[Identity, Item]:
    return {identify(item.ref): item for item in file.stream.items if item.name}


def _differ(known: dict[Identity, Item], own: dict[Identity, Item]) -> bool:
    """Whether an object is in both and cannot be: it makes pods, or is not the same."""
    for identity, item in own.items():
        other = known.get(identity)
        if other is not None and (_counts(item) or other.value != item.value):
            return True
    return False


def _counts(item: Item) -> bool:
    """Whether two equal objects are more than one: pods, and groups of pods."""
    return item.ref.group.startswith("scheduling.") or find_kind(item.ref.group, item.kind) is not None
