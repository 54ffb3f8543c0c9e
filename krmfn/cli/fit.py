"""`krmfn fit`: which gangs would run in a cluster, and on which nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.configuration import Configurations
from krmfn.cli.findings import exit_status, is_colored, report_aside, show
from krmfn.cli.judged import Judged
from krmfn.cli.options import (
    AS_IS,
    CACHE,
    CLUSTER,
    COMMON,
    EXCLUDE,
    PATHS,
    PROVE,
    RENDERING,
    SHARD,
    SIMULATOR,
    VERBOSE,
    Option,
)
from krmfn.cli.reading import read_worlds, say_if_empty
from krmfn.config import Settings
from krmfn.forecast import Ask
from krmfn.pipeline import complete, foresee
from krmfn.reports.outlook_view import View
from krmfn.reports.outlooks import FORMATS, render_outlooks
from krmfn.survey.jobs import add_own_groups
from krmfn.workspace.manifests import hides
from krmfn.workspace.processes import SIMULATORS, Failed, find_simulator, simulate
from krmfn.workspace.trees import InputMissing
from krmfn.workspace.world import merge

SUMMARY = "Shows which gangs would run in a cluster, and on which nodes."
ARGUMENTS = PATHS
EXAMPLES = """\
# Compare the gangs below this folder with the nodes of a cluster.
kubectl get nodes -o yaml | krmfn fit --cluster -
"""
OPTIONS = (
    CLUSTER,
    SIMULATOR,
    PROVE,
    Option(("-o", "--output"), "Output format.", "text", FORMATS),
    AS_IS,
    *RENDERING,
    EXCLUDE,
    SHARD,
    VERBOSE,
    CACHE,
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Generates in memory, unless told not to, and places what is there then; 1 when a gang never starts."""
    configurations = Configurations(options)
    judged = Judged(configurations, {})
    found = read_worlds(words, options)
    problems = judged.judge_files(found)
    results = [("", problem) for problem in problems]
    views = []
    for world in found.own:
        settings = configurations.find(world, as_cluster=True)
        items = list(world.items)
        if not options["as_is"]:
            items, more = complete(items, settings)
            kept = judged.judge_results(world, settings, more)
            results += [(world.name, result) for result in kept if result.severity == "error"]
        items = add_own_groups(items, settings)
        asker = find_asker(settings, options)
        missing = f"{SIMULATORS}{settings.release} is not on the PATH"
        unasked = "--prove leaves the scheduler out" if options["prove"] else missing
        views.append(View(found.name(world), foresee(items, settings, asker), "" if asker else unasked))
    views = [view for view in views if view.outlook.standings] or views[:1]
    told = merge(results)
    report_aside(told, options, found.files)
    if views:
        show(render_outlooks(views, options["output"], color=is_colored(options)), options["output"])
    say_if_empty(found.items, found.problems, words, options)
    status = exit_status(told, "error", any(map(hides, problems)))
    return max(status, int(any(view.outlook.is_hopeless for view in views)))


def find_asker(settings: Settings, options: Mapping[str, Any]) -> Ask | None:
    """What asks the simulator of the settings' release; None without one. Raises InputMissing for a wrong
    --simulator."""
    program = "" if options.get("prove") else find_simulator(str(settings.release), options["simulator"] or "")
    if not program:
        return None

    def ask(question: Mapping[str, Any]) -> list[dict[str, Any]]:
        try:
            return simulate(program, question)
        except Failed as failure:
            raise InputMissing(f"{program}: {failure}") from None

    return ask
