"""What is applied together, and where its objects come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.krm import FileRef, Item, Result
from krmfn.krm.paths import Path
from krmfn.model.findings import Finding
from krmfn.workspace.manifests import RENDERED, LoadedFile
from krmfn.workspace.trees import Tree

if TYPE_CHECKING:
    from krmfn.workspace.origins import Origins


class World(NamedTuple):
    """Objects that are applied together. `name` is a folder, empty for what was named one by one.

    `folder` is where its configuration is looked for, in `tree`. `files` hold the objects as they were read; those of a
    rendered world are in no file, and `origins` knows where they come from. `configurations` are the functionConfigs
    that it was rendered with, `left_out` names what could not be rendered, `beside` what is deployed with it or
    before it. What `is_base` has no namespace unless somebody who builds on it gives one. Worlds of two states with the
    same `key` are the same world.
    """

    name: str
    key: str
    items: Sequence[Item]
    tree: Tree | None
    folder: str
    files: tuple[LoadedFile, ...] = ()
    origins: Origins | None = None
    configurations: tuple[Mapping[str, Any], ...] = ()
    left_out: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    is_base: bool = False

    @property
    def unseen(self) -> tuple[str, ...]:
        """What belongs to the world, or comes before it, and is not in `items`."""
        return (*self.left_out, *self.beside)

    def trace(self, finding: Finding) -> Finding:
        """The finding on the object that somebody wrote, where that is known."""
        return self.origins.trace(finding) if self.origins else finding

    def place(self, item: Item) -> FileRef:
        """Where an object of the world begins."""
        return self.origins.place(item) if self.origins else item.file

    def locate(self, item: Item, path: Path) -> FileRef:
        """Where a field of an object stands, or else the object, or the kustomization that it is in."""
        found = self.trace(Finding(item, path, "")).item.locate(path)
        return found if self.origins is None or found.path != RENDERED else self.place(item)

    def rename(self, results: Iterable[Result]) -> Iterable[Result]:
        """The results with the names that somebody wrote, where these are known."""
        return self.origins.rename(results, self.items) if self.origins else results

    def settle(self, result: Result) -> Result:
        """The result with a place that somebody can open."""
        return self.origins.settle(result) if self.origins else result
