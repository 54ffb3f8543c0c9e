"""`krmfn fit`: which gangs would run in a cluster, and on which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, is_colored, report_aside, show
from krmfn.cli.judged import Judged
from krmfn.cli.reading import read_worlds, say_if_empty
from krmfn.config import Settings
from krmfn.krm import Item
from krmfn.model.values import Fields
from krmfn.model.wording import join
from krmfn.pipeline import foresee
from krmfn.reports.outlook_view import View
from krmfn.reports.outlooks import render_outlooks
from krmfn.survey.control_plane import find_line
from krmfn.workspace.simulator import SIMULATORS, SimulatorFailed, find_simulator, simulate
from krmfn.workspace.world import merge


def run(words: Words, options: Options) -> int:
    """0 when every gang may start, 1 when one never starts. Places what there is once krmfn has generated the groups,
    in memory; with --as-is what there is now."""
    judged = Judged(options)
    found = read_worlds(words, options)
    problems = judged.judge_files(found)
    results = [("", problem) for problem in problems]
    views = []
    for world in found.own:
        settings = judged.configurations.find(world, as_cluster=True)
        items, more = judged.grow(world, settings, options["as_is"])
        results += [(name, result) for name, result in more if result.severity == "error"]
        views.append(predict(found.name(world), items, settings, options))
    views = [view for view in views if view.outlook.standings] or views[:1]
    told = merge(results)
    report_aside(told, options, found.files)
    if views:
        show(render_outlooks(views, options["output"], color=is_colored(options)), options)
    say_if_empty(found.items, found.problems, words, options)
    never = any(standing.verdict == "never" for view in views for standing in view.outlook.standings)
    return max(exit_status(told, problems), int(never))


def predict(world: str, items: Sequence[Item], settings: Settings, options: Options) -> View:
    """What would run of a world, with the simulators that there are. One that does not answer is reported, and the
    outlook is made without it. Raises InputMissing for a wrong --simulator."""
    line = find_line(settings.cluster)
    releases = {"simulator": str(settings.release), "kueue": f"kueue-{line}"}
    askers = {role: asker for role, release in releases.items() if (asker := find_asker(release, options))}
    reasons = {role: "is not on the PATH" for role in releases if role not in askers}
    while True:
        try:
            outlook = foresee(items, settings, **askers)
            break
        except SimulatorFailed as failure:
            streams.say(str(failure))
            role = next(role for role, asker in askers.items() if asker.args == (failure.program,))
            reasons[role] = "did not answer"
            del askers[role]
    wanted = [role for role in releases if role in reasons and (role != "kueue" or outlook.queued)]
    unasked = join([f"{SIMULATORS}{releases[role]} {reasons[role]}" for role in wanted])
    if options.get("prove"):
        unasked = "--prove leaves the scheduler out"
    return View(world, outlook, unasked, line if "kueue" in askers else "")


def find_asker(release: str, options: Options) -> partial[list[Fields]] | None:
    """What asks the simulator of a release; None without one. Raises InputMissing for a wrong --simulator."""
    program = "" if options.get("prove") else find_simulator(release, options["simulator"] or "")
    return partial(simulate, program) if program else None
