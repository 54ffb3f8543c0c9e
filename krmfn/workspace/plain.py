"""Kustomizations that only list files, and perhaps name a namespace: read without kustomize.

Most of the first kustomizations that somebody writes are of this kind. Their objects keep their lines, nothing is
started for them, and they are checked where kustomize is not installed.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from krmfn.krm import Item, Stream, Unreadable
from krmfn.krm.errors import EditRefused
from krmfn.krm.paths import Path
from krmfn.model.values import Fields, as_list, as_mapping
from krmfn.releases import schemastore
from krmfn.workspace.deployers import Placing, substitute
from krmfn.workspace.overlays import (
    DEEPEST,
    Overlay,
    find_used,
    follow,
    is_ours,
    list_entries,
    read_objects,
)
from krmfn.workspace.trees import NotRendered, Tree

#: The fields that are understood here. configurations: matter when names change, for which there are other fields.
_LISTING = {"apiVersion", "kind", "metadata", "resources", "configurations", "sortOptions"}
_HARMLESS = {*_LISTING, "namespace", "transformers"}


class Plain(NamedTuple):
    """What a kustomization lists: files, the namespace that it puts them into (empty: none), and functions of ours."""

    files: tuple[str, ...]
    namespace: str
    configurations: tuple[Fields, ...]


def read_plain(tree: Tree, overlay: Overlay) -> Plain | None:
    """What a kustomization lists, None when it does more than that. Raises NotRendered for what it cannot list."""
    configurations = _read_configurations(tree, overlay)
    files = list_resources(tree, overlay, _HARMLESS)
    if configurations is None or files is None or len(set(files)) < len(files):
        return None
    namespace = overlay.value.get("namespace", "")
    return Plain(tuple(sorted(files)), namespace, configurations) if isinstance(namespace, str) else None


def list_resources(
    tree: Tree, overlay: Overlay, fields: Collection[str] = _LISTING, seen: set[str] | None = None, depth: int = 0
) -> list[str] | None:
    """The files in resources:, those of kustomizations below included, in their order; None where other `fields` are
    used. kustomize is asked about what is used twice and what is not below the folder, which it may refuse, and about
    more levels than it is given."""
    if overlay.is_component or not overlay.value.keys() <= set(fields):
        return None
    files: list[str] = []
    seen = {overlay.folder} if seen is None else seen
    for entry in list_entries(overlay.value, "resources"):
        path, kind = follow(tree, overlay.folder, entry)
        if kind == "file" and not posixpath.relpath(path, overlay.folder).startswith("../"):
            files.append(path)
            continue
        below = find_used(tree, path) if kind == "folder" and path not in seen and depth < DEEPEST else None
        seen.add(path)
        inner = list_resources(tree, below, seen=seen, depth=depth + 1) if below else None
        if inner is None:
            return None
        files += inner
    return files


def copy_file(placing: Placing, data: bytes, path: str) -> list[Item]:
    """The objects of a file again, with a deployer's variables. Raises NotRendered."""
    try:
        return Stream.parse(substitute(data, placing.variables), path).items
    except Unreadable as error:
        raise NotRendered(f"uses {path}, which cannot be read after variables are filled in: {error}") from None


def put_into(placing: Placing, items: Sequence[Item]) -> None:
    """Sets the namespace of the objects of a world. Raises NotRendered where the text cannot be edited."""
    accounts = {item.name for item in items if item.kind == "ServiceAccount"}
    for item in items if placing.namespace else ():
        for path in list(_list_places(placing, item, accounts)):
            try:
                item.set(path, placing.namespace)
            except EditRefused as refusal:
                raise NotRendered(f"cannot put {item.ref} into the namespace {placing.namespace}: {refusal}") from None


def _list_places(placing: Placing, item: Item, accounts: Collection[str]) -> Iterator[Path]:
    """The fields of an object that a namespace is written into. Where it overrides, that is kustomize's transformer: a
    Namespace gets it as its name, and so do the subjects of bindings that are called as one of the `accounts`."""
    if item.kind not in schemastore.load("cluster.json")["withoutNamespace"]:
        if item.namespace != placing.namespace and (placing.overrides or not item.namespace):
            yield ("metadata", "namespace")
    elif placing.overrides and item.kind == "Namespace" and item.name != placing.namespace:
        yield ("metadata", "name")
    if placing.overrides and item.kind in ("RoleBinding", "ClusterRoleBinding"):
        for number, subject in enumerate(map(as_mapping, as_list(item.value, "subjects"))):
            is_default = subject.get("kind") == "ServiceAccount" and subject.get("name") == "default"
            if (is_default or subject.get("name") in accounts) and not subject.get("namespace"):
                yield ("subjects", number, "namespace")


def _read_configurations(tree: Tree, overlay: Overlay) -> tuple[Fields, ...] | None:
    """The functionConfigs of ours, None when something else is listed too."""
    found = []
    for entry in list_entries(overlay.value, "transformers"):
        path, kind = follow(tree, overlay.folder, entry)
        if kind != "file":
            return None
        values = read_objects(tree.find(path) or b"", path)
        if not values or not all(is_ours(value) for value in values):
            return None
        found += values
    return tuple(found)
