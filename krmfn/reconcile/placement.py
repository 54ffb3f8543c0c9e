"""Where new objects belong: beside the resource that they were generated for. Knows no kind and writes no file."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from krmfn.krm import FileRef, Item
from krmfn.krm.item import INDICES, PATHS, Items
from krmfn.model.gotext import parse_int
from krmfn.model.values import Key
from krmfn.reconcile import Addition

PACKAGE = "internal.config.kubernetes.io/package-path"


def beside(path: str) -> str:
    """The file for what is generated from the file at `path`: `jobs/train.yaml` gives `jobs/train-gang.yaml`."""
    folder, name = posixpath.split(path)
    stem, suffix = posixpath.splitext(name)
    return posixpath.join(folder, f"{stem}-gang{suffix if suffix in ('.yaml', '.yml') else '.yaml'}")


def place_in_package(added: Iterable[Addition], items: Items) -> Iterator[Item]:
    """The new objects as items. Where kpt says which file their owner is from, they say theirs: without it kpt would
    make up a file for each. Source: KRM Functions Specification, annotations; kpt 1.0, where it writes new objects."""
    taken: dict[Key, int] = {}
    for value, owner in added:
        annotations = owner.annotations
        path = next((annotations[key] for key in PATHS if key in annotations), "")
        if not path:
            yield Item.hold(value)
            continue
        package = annotations.get(PACKAGE, "")
        target = beside(path)
        index = taken.get((package, target), -1) + 1
        if not index:
            index = _count(items, package, target)
        taken[package, target] = index
        place = {PATHS[0]: target, INDICES[0]: str(index)} | ({PACKAGE: package} if package else {})
        metadata = value["metadata"]
        placed = {**metadata, "annotations": {**metadata.get("annotations", {}), **place}}
        yield Item.hold({**value, "metadata": placed}, FileRef(target, index))


def _count(items: Iterable[Item], package: str, path: str) -> int:
    """The first index behind the documents of a file that are among the items."""
    found = -1
    for item in items:
        annotations = item.annotations
        if annotations.get(PACKAGE, "") == package and path in (annotations.get(key) for key in PATHS):
            index = next((annotations[key] for key in INDICES if key in annotations), "0")
            found = max(found, parse_int(index) or 0)
    return found + 1
