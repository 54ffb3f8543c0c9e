"""Worlds: what is applied together, and therefore checked together.

A kustomization that no other one uses is a world, as kustomize renders it. What Argo CD or Flux deploy is a world. The
other files of a folder are one, unless an object is in it twice (see loose). Files that are named one by one belong
together.

Two states of a repository are compared world by world. A kustomization, or what a deployer names, is the same world
where it is the same folder, or where it is the only one that builds on what was a world. How the files that are in none
of them are split depends on all of them (`loose`): a file that is added, or moves, may split them in another way. Their
objects are paired one by one, and the worlds follow.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from krmfn.krm import FileRef, Item, Result
from krmfn.model.values import Identity, Value, identify
from krmfn.model.wording import count
from krmfn.workspace.manifests import RENDERED, LoadedFile, Manifests, Watch, hides, load, open_tree, read_paths
from krmfn.workspace.trees import Tree
from krmfn.workspace.world import Rendering, World

if TYPE_CHECKING:
    from krmfn.workspace.gathering import Gathering


class Worlds(NamedTuple):
    """The worlds of a command line, and what there is to say about files that are in none of them.

    `borrowed` are the files among those that no argument names: kustomizations that one names build on them. `affixed`
    are kustomizations that rename objects but not references to groups, with the folders of these objects.
    """

    worlds: Sequence[World]
    problems: Sequence[Result]
    files: Sequence[LoadedFile] = ()  # that can be edited: in the order of the arguments, then sources of objects
    borrowed: Collection[str] = ()
    affixed: Mapping[str, set[str]] = {}
    missing: Collection[str] = ()  # the keys of worlds that could not be rendered
    start: str = "."  # the folder that keys are seen from
    digest: str = ""  # of everything that was read, where it is shared among several

    @property
    def items(self) -> list[Item]:
        """All objects."""
        return [item for world in self.worlds for item in world.items]

    @property
    def own(self) -> list[World]:
        """The worlds that are judged here, and not by another shard."""
        return [world for world in self.worlds if not world.elsewhere]

    def apply(self, run: Callable[[Sequence[Item], Sequence[Value], FileRef], Sequence[Item]]) -> Worlds:
        """The worlds as they are applied: `run` is our function, for those whose kustomization lists it."""
        worlds = [
            world._replace(items=run(world.items, world.configurations, FileRef(RENDERED)))
            if world.configurations
            else world
            for world in self.worlds
        ]
        return self._replace(worlds=worlds)

    def name(self, world: World) -> str:
        """What a person calls a world: its name, or where it was read from. Empty for the only one that has no name."""
        if world.name or sum(not each.name for each in self.worlds) == 1:
            return world.name
        first = world.files[0].path
        if len(world.files) == 1:
            return first
        more = f" and {count(len(world.files) - 1, 'file')} beside it"
        return first + more if world.key.endswith(f" {first}") else world.folder

    @property
    def unreadable(self) -> bool:
        """Whether something could not be read at all."""
        return any(map(hides, self.problems))


def find_worlds(
    arguments: Sequence[str], rendering: Rendering, default: str = ".", complete: bool = False, watch: Watch = iter
) -> Worlds:
    """The worlds that arguments name: files, folders, `-`, `git:REV[:PATH]` (PATH defaults to `default`).

    With `complete` a file is in all worlds that it could be applied with, where files are alternatives (loose).
    Raises InputMissing.
    """
    parts = [_read_argument(argument, rendering, default, watch) for argument in arguments]
    worlds = []
    problems = []
    missing = set()
    kustomized = set()
    ranks, tree = 0, None
    for part in parts:
        tree = part.tree or tree
        if found := part.found:
            worlds += [world._replace(rank=ranks + world.rank) for world in found.worlds]
            ranks += found.ranks
            problems += found.problems
            missing |= found.missing
            kustomized |= found.folders
        problems += part.read.problems
    starts = [part.start for part in parts if part.start is not None]
    start = posixpath.normpath(starts[0] or ".") if len(starts) == 1 else "."
    read_files = list({file.path: file for part in parts for file in part.read.files}.values())
    if not any(part.is_folder for part in parts):  # files that are named one by one belong together
        loose = [("", read_files)] if read_files else []
    else:
        from krmfn.workspace.loose import leave_out_fragments, split, tell_alternatives

        read_files, told = leave_out_fragments(read_files, kustomized, tree)
        loose = [*split(read_files, complete)]
        problems += [*told, *tell_alternatives(read_files)]
    shard, unit = rendering.shard, ""
    for rank, (label, files) in enumerate(loose, ranks):
        world = make_world(files, tree, start)
        unit = unit if label else f"\0{world.key}"  # alternatives stay together; no kustomization has such a key
        key, elsewhere = f"{world.key} {label}".rstrip(), shard is not None and not shard.owns(unit)
        worlds.append(world._replace(key=key, rank=rank, elsewhere=elsewhere))
    read_files += [file for part in parts if part.found for file in part.found.sources.loaded.values()]
    digest = ""
    if shard:  # of everything that was read
        from krmfn.workspace.sharding import digest as summarize

        read = (file[1] for part in parts for file in (part.found.files if part.found else part.read.files))
        digest = summarize([repr((*rendering[:4], rendering.helm is not None)), *read])
    return Worlds(worlds, problems, read_files, missing=missing, start=start, digest=digest)


class _Named(NamedTuple):
    """What an argument names. `start` is the folder that keys are seen from, None for stdin; `found` is what a folder's
    kustomizations give, and `read` the files beside them."""

    read: Manifests
    tree: Tree | None = None
    start: str | None = None
    is_folder: bool = False
    found: Gathering | None = None


def _read_argument(argument: str, rendering: Rendering, default: str, watch: Watch) -> _Named:
    if argument == "-":
        return _Named(load(read_paths([argument]).files))
    tree, path = open_tree(argument, default)
    tree.excluded, tree.unsaved = rendering.excluded, rendering.unsaved
    is_folder = tree.kind(path) == "folder"
    found = None
    if is_folder and rendering.wanted:
        from krmfn.workspace.gathering import Gathering

        found = Gathering(tree, path, rendering)
    inputs = found.rest if found else read_paths([argument], rendering.excluded, rendering.unsaved)
    named = () if is_folder else None
    read = load(watch(inputs.files), inputs.left_out, named, found.sources.loaded if found else {})
    return _Named(read, tree, path if is_folder else posixpath.dirname(path), is_folder, found)


def make_world(files: Sequence[LoadedFile], tree: Tree | None, start: str) -> World:
    """The world of files, whose key is seen from `start`."""
    items = [item for file in files for item in file.stream.items]
    try:
        folder = posixpath.commonpath([posixpath.dirname(file.path) for file in files]) or "."
    except ValueError:  # one is absolute, and another is not
        folder = "."
    return World("", posixpath.relpath(folder, start), items, tree, folder, files)


def find_missing(old: Worlds, new: Worlds) -> set[str]:
    """The keys of worlds that cannot be compared: one of the states could not render them, or lacks a part of them that
    the other has."""
    before = {world.key: world.left_out for world in old.worlds}
    apart = {world.key for world in new.worlds if before.get(world.key, world.left_out) != world.left_out}
    return {*old.missing, *new.missing, *apart}


def pair(old: Worlds, new: Worlds) -> Iterator[tuple[World | None, World]]:
    """Each world of the new state with what it was before, and then those that are gone with what they are now: a world
    without items. What cannot be compared is in neither."""
    missing = find_missing(old, new)
    before = [world for world in old.own if world.key not in missing]
    after = [world for world in new.own if world.key not in missing]
    numbers = (len(state.worlds) + len(state.missing) for state in (old, new))
    if [*numbers] == [1, 1] == [len(before), len(after)]:  # whatever they are called
        yield before[0], after[0]
        return
    named = {world.key: world for world in before if world.name}
    same = {id(world): found for world in after if world.name and (found := named.pop(world.key, None))}
    fresh = [world for world in after if world.name and id(world) not in same]
    for was in list(named.values()):
        heirs = [world for world in fresh if id(world) not in same and (_uses(world, was) or _uses(was, world))]
        if len(heirs) == 1:
            same[id(heirs[0])] = named.pop(was.key)
    rest = [world for world in before if not world.name or world.key in named]
    parts, gone = _divide(rest, old.start, [world for world in after if id(world) not in same], new.start)
    for world in after:
        yield same.get(id(world)) or parts[id(world)], world
    for world in gone:
        yield world, world._replace(items=(), files=())


def _uses(world: World, other: World) -> bool:
    """Whether the kustomization of a world has objects of the folder of another one."""
    return other.folder in {
        posixpath.dirname(world.sources.get(id(item), item).file.path or "") or "." for item in world.items
    }


def _divide(
    old: Sequence[World], old_start: str, new: Sequence[World], new_start: str
) -> tuple[dict[int, World | None], list[World]]:
    """The old objects of each new world (by its id), of worlds that are not the same folder in both states; and the old
    ones of which nothing is there any more. Objects that are gone stay with most of their old world.

    Objects of one folder that is rendered are never those of another: two environments have the same names.
    """
    places: dict[Identity, list[tuple[str, World, Item]]] = {}
    for world in old:
        for item in world.items:
            identity, place = _find_place(item, old_start)
            places.setdefault(identity, []).append((place, world, item))
    now = {_find_place(item, new_start) for world in new for item in world.items}
    taken: dict[int, int] = {}  # old items, and the number of the new world that has them
    heirs: dict[int, Counter[int]] = {id(world): Counter() for world in old}
    for number, world in enumerate(new):
        for identity, place in (_find_place(item, new_start) for item in world.items):
            known = places.get(identity, ())
            free = [each for each in known if id(each[2]) not in taken and not (each[1].name and world.name)]
            same = [each for each in free if each[0] == place]
            moved = [each for each in free if (identity, each[0]) not in now]
            for _, was, chosen in (same or moved)[:1]:
                taken[id(chosen)] = number
                heirs[id(was)][number] += 1
    parts: dict[int, World | None] = {}
    inherited = {key: max(counts, key=counts.__getitem__, default=None) for key, counts in heirs.items()}
    for number, world in enumerate(new):
        most = max(old, key=lambda was: heirs[id(was)][number], default=None)
        items = [item for was in old for item in was.items if taken.get(id(item), inherited[id(was)]) == number]
        parts[id(world)] = most._replace(items=tuple(items)) if most and items else None
    return parts, [was for was in old if inherited[id(was)] is None]


def _find_place(item: Item, start: str) -> tuple[Identity, str]:
    """An object, and its file as seen from a folder."""
    return identify(item.ref), posixpath.relpath(item.file.path or ".", start)
