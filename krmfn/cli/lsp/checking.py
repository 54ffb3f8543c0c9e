"""The findings of a folder as somebody types in it: the texts of the editor stand for those on the disk.

All of it is checked once; after a change, the worlds that the file is in. Knows files and findings, no protocol.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from krmfn.cli import Options
from krmfn.cli.judged import Judged
from krmfn.cli.reading import use_kinds
from krmfn.config import Settings
from krmfn.judging import tell_findings
from krmfn.krm.results import FileRef, Result
from krmfn.model.findings import STAGES
from krmfn.model.kept import Printed
from krmfn.model.tree import Gang, leaves
from krmfn.model.values import Value
from krmfn.model.wording import count
from krmfn.pipeline import find_all, run_functions
from krmfn.releases.release import GROUP
from krmfn.survey.gangs import survey
from krmfn.workspace.definitions import Definitions
from krmfn.workspace.disk import is_below
from krmfn.workspace.manifests import LoadedFile, load
from krmfn.workspace.trees import ManifestFile
from krmfn.workspace.world import Rendering, World
from krmfn.workspace.worlds import Worlds, find_worlds

#: What there is to say, by file.
Found: TypeAlias = dict[str, list[Result]]


class Checked(NamedTuple):
    """A world, its files, and what was found in it. `lenses` are the places of resources with what they become,
    `groups` those of groups by their names."""

    world: World
    paths: Collection[str]
    results: Sequence[Result]
    lenses: Sequence[tuple[FileRef, str]]
    groups: Mapping[str, FileRef]


class Checker:
    """Checks the working directory. `unsaved` are the texts of the editor, by the real paths of their files."""

    def __init__(self, options: Options, folders: Sequence[str] = (".",)) -> None:
        """`options` are those of the command line, such as `kubernetes`; `folders` are seen from where it started."""
        self._folders = folders
        self.unsaved: dict[str, bytes] = {}
        self.checked: list[Checked] = []
        #: What there is to say of files themselves, such as one that cannot be read.
        self.problems: Found = {}
        self._options = options
        self._done = Printed()
        self._definitions = Definitions(())

    @property
    def definitions(self) -> list[Value]:
        """The CustomResourceDefinitions of the folder."""
        every = (item for each in self.checked for item in each.world.items)
        return [item.value for item in every if item.kind == "CustomResourceDefinition"]

    def check_all(self) -> None:
        """Reads and judges everything. Raises ConfigError, UsageError and InputMissing."""
        tops = [os.path.realpath(folder) for folder in self._folders]
        apart = [each for each in self.unsaved if not any(is_below(each, top) for top in tops)]
        found = self._find(*self._folders, *map(os.path.relpath, apart))
        self._definitions = Definitions(found.worlds)
        judged = self._begin(found.files)
        self.problems = {}
        _add(self.problems, judged.judge_files(found))
        self.checked = [self._judge(judged, world) for world in found.worlds]

    def check_around(self, path: str) -> None:
        """Judges again what a file is in; everything where that is not known. Raises as check_all."""
        mine = [each for each in self.checked if path in each.paths]
        if not mine:
            self.check_all()
            return
        for old in mine:
            found = self._find(old.world.folder) if old.world.name else self._renew(old.world, path)
            judged = self._begin(found.files)
            self.problems.pop(path, None)
            _add(self.problems, judged.judge_files(found))
            again = [each for each in found.worlds if each.name == old.world.name]
            at = self.checked.index(old)
            self.checked[at : at + 1] = [self._judge(judged, each, old.paths) for each in again]

    def list_results(self) -> Found:
        """What there is to say, by file."""
        found = {path: list(results) for path, results in self.problems.items()}
        _add(found, (result for each in self.checked for result in each.results))
        return found

    def _find(self, *places: str) -> Worlds:
        found = find_worlds(places, Rendering(done=self._done, unsaved=self.unsaved), complete=True)
        use_kinds(found.items)
        return found.apply(run_functions)

    def _renew(self, world: World, path: str) -> Worlds:
        """A world of files with one of them read anew: the others are as they were."""
        data = self.unsaved.get(os.path.realpath(path))
        read = load([ManifestFile(path, data)] if data is not None else [])
        files = [each for each in world.files if each.path != path]
        files = sorted([*files, *read.files], key=lambda file: file.path)
        items = [item for file in files for item in file.stream.items]
        again = world._replace(items=items, files=files)
        return Worlds((again,), read.problems, read.files)

    def _begin(self, files: Iterable[LoadedFile]) -> Judged:
        judged = Judged(self._options)
        judged.read(files, STAGES)
        return judged

    def _judge(self, judged: Judged, world: World, paths: Iterable[str] = ()) -> Checked:
        """What is said of a world; `paths` were its files before."""
        settings = judged.configurations.find(world, as_cluster=True)
        settings = settings._replace(base=world.base, rivals=self._definitions.near(world))
        findings = find_all(world.items, settings, None, STAGES, "apply")
        told = tell_findings(world, findings, True)
        results = [result for _, result in judged.judge_findings(world, settings, told)]
        return Checked(world, {*paths, *_list_paths(world)}, results, *_list_gangs(world, settings))


def _add(found: Found, results: Iterable[Result]) -> None:
    """Adds to the results of each file those that are not among them."""
    for result in results:
        listed = found.setdefault(result.file.path if result.file else "", [])
        if result not in listed:
            listed.append(result)


def _list_paths(world: World) -> Iterator[str]:
    own = {file.path for file in world.files} | {world.overlay}
    written = {item.file.path for item in (*world.items, *world.sources.values())}
    return (path for path in own | written if path and not path.startswith("("))


def _list_gangs(world: World, settings: Settings) -> tuple[list[tuple[FileRef, str]], dict[str, FileRef]]:
    """What the resources of a world become, and where its groups are written."""
    lenses = [
        (world.place(item), _describe(asked.gang))
        for asked in survey(world.items, settings).asked
        for item in asked.items
    ]
    groups = {item.name: world.place(item) for item in world.items if item.group == GROUP and item.kind != "Workload"}
    return lenses, groups


def _describe(gang: Gang) -> str:
    """`8 pods, all or nothing`."""
    found = leaves(gang.root)
    pods = sum(leaf.pods for leaf in found)
    least = sum(leaf.min_count or 0 for leaf in found)
    if all(leaf.min_count is None for leaf in found):
        return f"{count(pods, 'pod')}, each on its own"
    return f"{count(pods, 'pod')}, all or nothing" if least >= pods else f"{least} of {count(pods, 'pod')}, or none"
