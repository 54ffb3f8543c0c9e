"""CustomResourceDefinitions of the input that are not in a world but hold for its objects: an operator's repository
has its definitions in one folder, and its samples in another."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from itertools import takewhile

from krmfn.krm import Item
from krmfn.krm.paths import dig
from krmfn.model.wording import count
from krmfn.workspace.world import World

_Places = list[tuple[World, Item, str]]


class Definitions:
    """The definitions of all worlds, by their names."""

    def __init__(self, worlds: Iterable[World]) -> None:
        self._known: dict[str, _Places] = {}
        #: What was chosen among several: the folder of objects, the definition, and the one that is nearest.
        self._chosen: dict[tuple[str, str], tuple[str, int]] = {}
        for world in worlds:
            for item in world.items:
                if item.kind == "CustomResourceDefinition":
                    path = world.find_file(item).path
                    self._known.setdefault(item.name, []).append((world, item, path))

    def near(self, world: World) -> list[Item]:
        """The definitions that are not in a world. Of those that it has, copies where nothing renders its files: an
        older one, or the newer one. Of those that it lacks and whose API group its objects have, the ones that are
        nearest to its folder."""
        found: list[Item] = []
        groups = tuple({f".{item.group}" for item in world.items})
        for name, places in self._known.items():
            others = [place for place in places if place[0] is not world]
            if len(others) == len(places):
                found += self._choose(world, name, others) if name.endswith(groups) else ()
            elif not world.name:
                found += [item for _, item, _ in others]
        return found

    def _choose(self, world: World, name: str, places: _Places) -> Iterator[Item]:
        home = posixpath.normpath(world.folder).split("/")
        folders = (posixpath.normpath(posixpath.dirname(path)).split("/") for _, _, path in places)
        pairs = (zip(home, each, strict=False) for each in folders)
        nearness = [len([*takewhile(lambda pair: pair[0] == pair[1], each)]) for each in pairs]
        nearest = max(nearness)
        chosen = [place for place, near in zip(places, nearness, strict=True) if near == nearest]
        if len(chosen) < len(places) and _uses(world, chosen[0][1]):
            texts = {item.text for _, item, _ in places}
            if len(texts) > 1:
                self._chosen[world.folder, name] = (chosen[0][2], len(texts))
        return (item for _, item, _ in chosen)

    def tell(self) -> Iterator[str]:
        """A line for each folder whose objects are checked with one of several definitions that differ."""
        for (folder, name), (path, number) in self._chosen.items():
            yield f"{folder}: checked with the nearest of {count(number, 'definition')} of {name}: {path}"


def _uses(world: World, definition: Item) -> bool:
    """Whether an object of a world is of the kind that is defined."""
    group, kind = dig(definition.value, "spec", "group"), dig(definition.value, "spec", "names", "kind")
    return any(item.group_kind == (group, kind) for item in world.items)
