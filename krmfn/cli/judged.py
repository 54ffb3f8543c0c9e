"""The findings of a command that count, each by the configuration of the place that it is in."""

from __future__ import annotations

import os
import posixpath
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli.configuration import Configurations, read_rulings
from krmfn.config import Settings
from krmfn.config.selection import IGNORE
from krmfn.judging import OF_ABSENCE, Ignores, Judging, list_unused
from krmfn.krm import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import Result
from krmfn.model.findings import Finding
from krmfn.pipeline import complete, to_results
from krmfn.survey.jobs import add_own_groups
from krmfn.workspace.disk import is_below
from krmfn.workspace.files import is_path
from krmfn.workspace.manifests import LoadedFile, tell
from krmfn.workspace.world import World
from krmfn.workspace.worlds import Worlds


class Judged:
    """Judges for one command. `options` are its --select, --ignore and --severity, where it has them."""

    def __init__(self, configurations: Configurations, options: Mapping[str, Any]) -> None:
        """Raises UsageError, and ConfigError for rules that do not exist."""
        self._configurations = configurations
        self._given = read_rulings(options)
        self._judging = Judging(self._given)

    def read(self, files: Iterable[LoadedFile], stages: Collection[str]) -> None:
        """Takes in the comments of all files, for findings of `stages`."""
        self._judging = Judging(self._given, stages, ((file.path, file.data) for file in files))

    def judge_files(self, found: Worlds) -> list[Result]:
        """What counts of what there is to say about files. Raises ConfigError."""
        tree = next((world.tree for world in found.worlds if world.tree), None)
        kept: list[Result | None] = []
        for problem in found.problems:
            folder = posixpath.dirname(problem.file.path) if problem.file else ""
            rulings = self._configurations.find_rulings(tree, folder or ".")
            kept += self._judging.judge([(None, problem)], rulings)
        return [result for result in kept if result is not None]

    def judge_results(self, world: World, settings: Settings, results: Iterable[Result]) -> list[Result]:
        """What counts of what generating a world has found. Raises ConfigError."""
        results = list(results)
        pairs = [(each.ref, world.settle(named)) for each, named in zip(results, world.rename(results), strict=True)]
        return [result for result in self._judge_world(world, settings, pairs) if result is not None]

    def judge_findings(
        self, world: World, settings: Settings, findings: Iterable[Finding], edits: bool
    ) -> list[tuple[Finding, Result]]:
        """The findings that count, on the objects that somebody wrote, as results. Raises ConfigError."""
        found = list(findings)
        traced = [world.trace(finding) for finding in found]
        results = to_results(traced, edits)
        pairs = [(each.item.ref, world.settle(result)) for each, result in zip(found, results, strict=True)]
        judged = self._judge_world(world, settings, pairs)
        return [(each, result) for each, result in zip(traced, judged, strict=True) if result is not None]

    def grow(
        self, world: World, settings: Settings, as_is: bool, several: bool = False
    ) -> tuple[list[Item], list[tuple[str, Result]]]:
        """The objects of a world with the groups that are generated for them, unless they are taken `as_is`, and with
        those that the Job controller makes (for `several` see add_own_groups); and what counts of what that has found,
        with the name of the world. Raises ConfigError."""
        items, kept = list(world.items), list[Result]()
        if not as_is:
            items, told = complete(items, settings)
            kept = self.judge_results(world, settings, told)
        return add_own_groups(items, settings, several), [(world.name, result) for result in kept]

    def sum_up_ignores(self, words: Sequence[str]) -> Ignores:
        """The ignores, of all whose place is in the paths that `words` name."""
        named = [os.path.abspath(word) for word in words if is_path(word)]

        def covers(folder: str) -> bool:
            return not folder or any(is_below(os.path.abspath(folder), path) for path in named)

        return self._judging.sum_up(covers)

    def _judge_world(self, world: World, settings: Settings, pairs: Iterable[Any]) -> list[Result | None]:
        folder = world.folder if world.name else ""
        annotation = ("metadata", "annotations", IGNORE)
        return self._judging.judge(
            pairs, settings.rules, world.items, lambda item: world.locate(item, annotation), folder, world.unseen
        )


def tell_unused(parts: Sequence[Ignores]) -> list[Result]:
    """The ignores that ignore nothing in any part of a run."""
    unused = [(*ignore.explain(), ignore.place) for ignore in list_unused(parts)]
    return [tell("ignore-unused", message, place, hint=hint) for message, hint, place in unused]


def leave_out_present(
    found: Sequence[tuple[World, list[tuple[Finding, Result]]]],
) -> list[tuple[World, list[tuple[Finding, Result]]]]:
    """The findings of worlds, without those of an object that misses what one of its alternatives has."""
    if not any(finding.rule in OF_ABSENCE for _, findings in found for finding, _ in findings):
        return list(found)
    written = [(world, findings) for world, findings in found if not world.name]
    homes = Counter(id(item) for world, _ in written for item in world.items)
    missed = Counter(_identify(finding) for _, findings in written for finding, _ in findings)

    def is_there(finding: Finding) -> bool:
        return finding.rule in OF_ABSENCE and missed[_identify(finding)] < homes[id(finding.item)]

    return [(world, [pair for pair in findings if world.name or not is_there(pair[0])]) for world, findings in found]


def _identify(finding: Finding) -> tuple[int, str, Path]:
    return id(finding.item), finding.rule, finding.path
