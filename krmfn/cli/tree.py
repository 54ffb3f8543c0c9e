"""`krmfn tree`: the groups of a set of manifests, who waits for whom, and why."""

from __future__ import annotations

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, is_colored, report_aside, show
from krmfn.cli.judged import Judged
from krmfn.cli.reading import read_worlds, say_if_empty, say_if_unasked
from krmfn.krm.results import Severity
from krmfn.model.wording import count
from krmfn.reports.trees import Forest, render_forests
from krmfn.survey.forest import grow, list_loose
from krmfn.survey.gangs import list_unasked
from krmfn.workspace.world import merge


def run(words: Words, options: Options) -> int:
    """Generates in memory, unless told not to, and draws what is there then: world by world."""
    status, unasked = draw(words, options)
    say_if_unasked(unasked, options)
    return status


def draw(words: Words, options: Options) -> tuple[int, int]:
    """Shows the trees; the exit status, and how many resources could be gangs. Raises InputMissing and ConfigError."""
    judged = Judged(options)
    found = read_worlds(words, options)
    problems = judged.judge_files(found)
    results = [("", problem) for problem in problems]
    forests = []
    unasked = set()
    fail_on: Severity = "error"
    for world in found.worlds:
        settings = judged.configurations.find(world)
        fail_on = "warning" if settings.fail_on == "warning" else fail_on
        items, more = judged.grow(world, settings, options["as_is"])
        results += more
        trees = grow(items, settings)
        loose = list_loose(items, trees)
        names = set(loose)
        asking = [item for item in list_unasked(items, settings) if str(item.ref) in names]
        unasked |= {id(world.sources.get(id(item), item)) for item in asking}
        forests.append(Forest(found.name(world), trees, loose))
    told = merge(results)
    report_aside(told, options, found.files)
    say_if_empty(found.items, found.problems, words, options)
    if found.items and not any(forest.trees or forest.loose for forest in forests):
        objects = count(len(found.items), "object")
        streams.remark(f"nothing to show: {objects}, of which none is a group or creates pods", options)
    show(render_forests(forests, options["output"], color=is_colored(options)), options)
    return exit_status(told, problems, fail_on), len(unasked)
