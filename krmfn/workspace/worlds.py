"""Worlds: what is applied together, and therefore checked together.

A kustomization that no other one uses is a world, as kustomize renders it. What Argo CD or Flux deploy is a world. The
other files of a folder are one, unless an object is in it twice, in two folders: then each of these is a world of its
own. Files that are named one by one belong together.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krmfn.krm import FileRef, Item, Result
from krmfn.krm.records import NamedTuple
from krmfn.model.identity import Identity, identify
from krmfn.workspace.disk import find_here
from krmfn.workspace.files import is_path, open_tree, read_paths
from krmfn.workspace.manifests import Manifest, load
from krmfn.workspace.trees import ManifestFile, Tree

if TYPE_CHECKING:
    from krmfn.model.findings import Finding
    from krmfn.workspace.gathering import Gathered
    from krmfn.workspace.origins import Origins, Sources


class World(NamedTuple):
    """Objects that are applied together. `name` is a folder, empty for what was named one by one.

    `folder` is where its configuration is looked for, in `tree`. `files` hold the objects as they were read; those of a
    rendered world are in no file, and `origins` knows where they come from. `configurations` are the functionConfigs
    that it was rendered with. Worlds of two states with the same `key` are the same world.
    """

    name: str
    key: str
    items: Sequence[Item]
    tree: Tree | None
    folder: str
    files: tuple[Manifest, ...] = ()
    origins: Origins | None = None
    configurations: tuple[Mapping[str, Any], ...] = ()

    def trace(self, finding: Finding) -> Finding:
        """The finding on the object that somebody wrote, where that is known."""
        return self.origins.trace(finding) if self.origins else finding

    def place(self, item: Item) -> FileRef:
        """Where an object of the world begins."""
        return self.origins.place(item) if self.origins else item.file

    def settle(self, result: Result) -> Result:
        """The result with a place that somebody can open."""
        return self.origins.settle(result) if self.origins else result


class Worlds(NamedTuple):
    """The worlds of a command line, and what there is to say about files that are in none of them."""

    worlds: tuple[World, ...]
    problems: tuple[Result, ...]
    read: tuple[Manifest, ...] = ()  # in the order of the arguments
    sources: tuple[Sources, ...] = ()

    @property
    def files(self) -> list[Manifest]:
        """All files whose objects can be edited, those that rendered objects come from included."""
        return [*self.read, *(file for sources in self.sources for file in sources.files)]

    @property
    def items(self) -> list[Item]:
        """All objects."""
        return [item for world in self.worlds for item in world.items]

    def match(self, world: World, of: Worlds) -> World | None:
        """The world of this state that is the same as one of another state."""
        if len(self.worlds) == len(of.worlds) == 1:
            return self.worlds[0]
        return next((own for own in self.worlds if own.key == world.key), None)

    @property
    def unreadable(self) -> bool:
        """Whether something could not be read at all."""
        return any(problem.severity == "error" for problem in self.problems)


class Rendering(NamedTuple):
    """What is done with kustomizations: rendered or left as they are; the programs that they may run; whether one that
    cannot be rendered is an error."""

    wanted: bool = True
    allowed: tuple[str, ...] = ()
    required: bool = False


def find_worlds(
    arguments: Sequence[str],
    rendering: Rendering,
    default: str = ".",
    watch: Callable[[Sequence[ManifestFile]], Iterable[ManifestFile]] = iter,
) -> Worlds:
    """The worlds that arguments name: files, folders, `-`, `git:REV[:PATH]` (PATH defaults to `default`).

    `watch` gets the files of an argument before they are read, and gives them back one by one.

    Raises InputMissing.
    """
    find_here()  # paths are spelled from here, so that it has to be there
    worlds: list[World] = []
    problems: list[Result] = []
    rest: list[Manifest] = []
    edited: list[Sources] = []
    starts: list[str] = []
    tree: Tree | None = None
    for argument in arguments:
        if argument == "-":
            rest += load(read_paths([argument]).files).files
            continue
        tree, path = open_tree(argument, default)
        folder = tree.kind(path) == "folder"
        if folder and rendering.wanted:
            from krmfn.workspace.gathering import Gathering

            found = Gathering(tree, path, rendering.allowed, "error" if rendering.required else "warning")
            worlds += [_make_gathered(tree, each) for each in found.worlds]
            problems += found.problems
            edited.append(found.sources)
            inputs = found.rest
        else:
            inputs = read_paths([argument])
        read = load(watch(inputs.files), inputs.left_out)
        rest += read.files
        problems += read.problems
        starts.append(path if folder else posixpath.dirname(path))
    start = posixpath.commonpath([posixpath.normpath(each or ".") for each in starts]) if len(starts) == 1 else "."
    read_files = list({file.path: file for file in rest}.values())
    worlds += [_make_world(files, tree, start) for files in _split(read_files)]
    return Worlds(tuple(worlds), tuple(problems), tuple(read_files), tuple(edited))


def _make_gathered(tree: Tree, found: Gathered) -> World:
    name, key, folder, items, origins, configurations = found
    return World(name, key, items, tree, folder, (), origins, configurations)


def _make_world(files: Sequence[Manifest], tree: Tree | None, start: str) -> World:
    items = [item for file in files for item in file.stream.items]
    folder = posixpath.commonpath([posixpath.dirname(file.path) for file in files]) or "."
    return World("", posixpath.relpath(folder, start), items, tree, folder, tuple(files))


def _split(files: Sequence[Manifest], depth: int = 0) -> list[list[Manifest]]:
    """Files in parts that are applied together: when an object is in two folders, each folder is for itself."""
    folders: dict[str, list[Manifest]] = {}
    for file in files:
        parts = file.path.split("/")
        folders.setdefault(parts[depth] if depth < len(parts) - 1 else "", []).append(file)
    if "" not in folders and len(folders) == 1:
        return _split(files, depth + 1)
    if len(folders) <= 1 or not _has_copies(files):
        return [list(files)] if files else []
    return [part for folder, own in folders.items() for part in (_split(own, depth + 1) if folder else [own])]


def _has_copies(files: Sequence[Manifest]) -> bool:
    """Whether an object is in two folders."""
    seen: dict[Identity, str] = {}
    for file in files:
        folder = posixpath.dirname(file.path)
        for item in file.stream.items:
            if item.name and seen.setdefault(identify(item.ref), folder) != folder:
                return True
    return False


def find_written(
    arguments: Sequence[str], watch: Callable[[Sequence[ManifestFile]], Iterable[ManifestFile]] = iter
) -> Worlds:
    """The worlds of files as they are written, nothing rendered: the files of a kustomization's folder are one.

    `configurations` are the functionConfigs of ours that the kustomization, or one that builds on it, lists: where
    there are any, the function does the work. Raises InputMissing.
    """
    find_here()
    inputs = read_paths(arguments)
    read = load(watch(inputs.files), inputs.left_out)
    owners: dict[str, list[Manifest]] = {}
    rest: list[Manifest] = []
    trees = [tree for tree, path in map(open_tree, filter(is_path, arguments)) if tree.kind(path) == "folder"]
    overlays = _list_overlays(trees[0], read.files) if trees else {}
    for file in read.files:
        folder = _find_owner(file.path, overlays)
        if folder is None:
            rest.append(file)
        else:
            owners.setdefault(folder, []).append(file)
    worlds = [
        _make_world(files, trees[0], folder)._replace(folder=folder, configurations=overlays[folder])
        for folder, files in owners.items()
    ]
    worlds += [_make_world(files, trees[0] if trees else None, ".") for files in _split(rest)]
    return Worlds(tuple(worlds), read.problems, read.files)


def _list_overlays(tree: Tree, files: Sequence[Manifest]) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """The folders with kustomizations among files, each with the functionConfigs that reach what is in it."""
    from krmfn.workspace.overlays import NAMES, NotRendered, find_overlay, list_configurations, list_uses

    own: dict[str, tuple[Mapping[str, Any], ...]] = {}
    uses: dict[str, list[str]] = {}
    for folder in {posixpath.dirname(file.path) or "." for file in files if posixpath.basename(file.path) in NAMES}:
        try:
            overlay = find_overlay(tree, folder)
        except NotRendered:
            overlay = None
        if overlay is not None:
            own[folder] = tuple(list_configurations(tree, overlay))
            uses[folder] = list(list_uses(tree, overlay))
    places = {tree.resolve(folder): folder for folder in own}
    waiting = [folder for folder, configurations in own.items() if configurations]
    while waiting:
        folder = waiting.pop()
        for used in (places[place] for place in uses[folder] if place in places):
            if not own[used]:
                own[used] = own[folder]
                waiting.append(used)
    return own


def _find_owner(path: str, overlays: Mapping[str, object]) -> str | None:
    """The nearest folder with a kustomization around a file."""
    folder = posixpath.dirname(path) or "."
    while True:
        if folder in overlays:
            return folder
        above = posixpath.dirname(folder) or "."
        if above == folder:
            return None
        folder = above
