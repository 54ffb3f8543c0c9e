"""The worlds of two states of a repository in pairs.

A kustomization, or what a deployer names, is the same world where it is the same folder, or where it is the only one
that builds on what was a world. How the files that are in none of them are split depends on all of them (`loose`):
a file that is added, or moves, may split them in another way. Their objects are paired one by one, and the worlds
follow.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterator

from krmfn.krm import Item
from krmfn.model.identity import Identity, identify
from krmfn.workspace.world import World
from krmfn.workspace.worlds import Worlds


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
    rest = _Rest([world for world in before if not world.name or world.key in named], old.start)
    parts = rest.divide([world for world in after if id(world) not in same], new.start)
    for world in after:
        yield same.get(id(world)) or parts[id(world)], world
    for world in rest.left:
        yield world, world._replace(items=(), files=())


def _uses(world: World, other: World) -> bool:
    """Whether the kustomization of a world has objects of the folder of another one."""
    return other.folder in {
        posixpath.dirname(world.sources.get(id(item), item).file.path or "") or "." for item in world.items
    }


class _Rest:
    """The worlds of the old state that are not the same folder in the new one. `left` are those of which nothing is
    there any more."""

    def __init__(self, worlds: list[World], start: str) -> None:
        self.left = worlds
        self._places: dict[Identity, list[tuple[str, World, Item]]] = {}
        for world in worlds:
            for item in world.items:
                identity, place = _find_place(item, start)
                self._places.setdefault(identity, []).append((place, world, item))

    def divide(self, worlds: list[World], start: str) -> dict[int, World | None]:
        """The old objects of each new world (by its id). Those that are gone stay with most of their old world.

        Objects of one folder that is rendered are never those of another: two environments have the same names.
        """
        now = {_find_place(item, start) for world in worlds for item in world.items}
        taken: dict[int, int] = {}  # old items, and the number of the new world that has them
        heirs: dict[int, Counter[int]] = {id(world): Counter() for world in self.left}
        for number, world in enumerate(worlds):
            for identity, place in (_find_place(item, start) for item in world.items):
                known = self._places.get(identity, ())
                free = [each for each in known if id(each[2]) not in taken and not (each[1].name and world.name)]
                same = [each for each in free if each[0] == place]
                moved = [each for each in free if (identity, each[0]) not in now]
                for _, was, chosen in (same or moved)[:1]:
                    taken[id(chosen)] = number
                    heirs[id(was)][number] += 1
        parts: dict[int, World | None] = {}
        inherited = {key: max(counts, key=counts.__getitem__, default=None) for key, counts in heirs.items()}
        for number, world in enumerate(worlds):
            sources = [was for was in self.left if number in heirs[id(was)]]
            items = [
                item for was in self.left for item in was.items if taken.get(id(item), inherited[id(was)]) == number
            ]
            if items and sources:
                most = max(sources, key=lambda was: heirs[id(was)][number])
                parts[id(world)] = most._replace(items=tuple(items))
            else:
                parts[id(world)] = None
        self.left = [was for was in self.left if inherited[id(was)] is None]
        return parts


def _find_place(item: Item, start: str) -> tuple[Identity, str]:
    """An object, and its file as seen from a folder."""
    return identify(item.ref), posixpath.relpath(item.file.path or ".", start)
