"""The findings of a command that count, each by the configuration of the place that it is in."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection, Iterable, Sequence

from krmfn.cli import Options, Words
from krmfn.cli.configuration import Configurations, read_rulings
from krmfn.config import Rulings, Settings
from krmfn.judging import Ignores, Judging, Told, list_unused, tell_findings
from krmfn.krm import Item
from krmfn.krm.results import Result
from krmfn.model.findings import Finding
from krmfn.model.kept import find, is_used, keep
from krmfn.model.kinds import KINDS
from krmfn.pipeline import complete, find_all
from krmfn.survey.jobs import add_own_groups
from krmfn.workspace.disk import is_below
from krmfn.workspace.manifests import is_path, tell
from krmfn.workspace.world import World
from krmfn.workspace.worlds import Worlds


class Judged(Judging):
    """Judges for one command, by its `configurations`, and by --select, --ignore and --severity where it has them."""

    def __init__(self, options: Options) -> None:
        """Raises as Configurations, and ConfigError for rules that do not exist."""
        self.configurations = Configurations(options)
        super().__init__(read_rulings(options))

    def judge_files(self, found: Worlds) -> list[Result]:
        """What counts of what there is to say about files. Raises ConfigError."""
        tree = next((world.tree for world in found.worlds if world.tree), None)
        kept: list[Result | None] = []
        for problem in found.problems:
            folder = posixpath.dirname(problem.file.path) if problem.file else ""
            rulings = self.configurations.find_rulings(tree, folder or ".")
            kept += self.judge([(None, problem)], rulings)
        return [result for result in kept if result is not None]

    def judge_results(self, world: World, settings: Settings, results: Iterable[Result]) -> list[Result]:
        """What counts of what generating a world has found. Raises ConfigError."""
        results = list(results)
        pairs = [(each.ref, world.settle(named)) for each, named in zip(results, world.rename(results), strict=True)]
        return [result for result in self.judge_world(world, settings, pairs) if result is not None]

    def grow(self, world: World, settings: Settings, as_is: bool) -> tuple[list[Item], list[tuple[str, Result]]]:
        """The objects of a world with the groups that are generated for them (unless `as_is`), or that the Job
        controller makes; and the results that count, with the name of the world. Raises ConfigError."""
        items, kept = list(world.items), list[Result]()
        if not as_is:
            items, told = complete(items, settings)
            kept = self.judge_results(world, settings, told)
        return add_own_groups(items, settings), [(world.name, result) for result in kept]

    def sum_up_ignores(self, words: Words) -> Ignores:
        """The ignores, of all whose place is in the paths that `words` name."""
        named = [os.path.abspath(word) for word in words if is_path(word)]
        return self.sum_up(lambda folder: not folder or any(is_below(os.path.abspath(folder), path) for path in named))


def tell_unused(parts: Sequence[Ignores]) -> list[Result]:
    """The ignores that ignore nothing in any part of a run."""
    unused = [(*ignore.explain(), ignore.place) for ignore in list_unused(parts)]
    return [tell("ignore-unused", message, place, hint=hint) for message, hint, place in unused]


def tell_world(
    world: World, settings: Settings, old: Sequence[Item] | None, stages: Collection[str], update: str, edits: bool
) -> list[Told]:
    """See find_all (pipeline) and tell_findings. What is told is kept by all that it depends on."""

    def make() -> list[Told]:
        return tell_findings(world, find_all(world.items, settings, old, stages, update), edits)

    if not is_used():
        return make()
    items = [*world.items, *world.sources.values()]
    places = {id(item): number for number, item in enumerate(items)}
    traced = [places.get(item) for item in world.sources], sorted(world.templates.items())
    texts = [list(map(_spell_text, each)) for each in (items, old or (), settings.rivals)]
    plain = settings._replace(rules=Rulings(), rivals=())  # what counts is judged later, by its rules
    rest = old is None, texts, plain, [*map(vars, KINDS.own)], [*KINDS.aside], tuple(stages), update, edits
    named = repr((world.overlay, world.folder, world.ran_in, traced, *rest)).encode("utf-8", "surrogatepass")
    known = find("told", named)
    if known is not None:
        return [(items[item], Finding(items[own], *finding), result) for item, own, finding, result in known]
    told = make()
    if all(id(item) in places and id(own.item) in places for item, own, _ in told):
        rows = [(places[id(item)], places[id(own.item)], own[1:], result) for item, own, result in told]
        keep("told", named, rows)
    return told


def _spell_text(item: Item) -> tuple[object, ...]:
    source = item.source
    return source.path, source.digest, item.start, item.end, item.frame.index, item.touched and item.text
