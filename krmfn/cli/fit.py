"""`krmfn fit`: which gangs would run in a cluster, and on which nodes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, is_colored, report_aside, show
from krmfn.cli.judged import Judged
from krmfn.cli.reading import read_worlds, say_if_empty
from krmfn.config import Settings
from krmfn.forecast import Outlook
from krmfn.krm import Item
from krmfn.model.values import Fields
from krmfn.model.wording import join
from krmfn.pipeline import foresee
from krmfn.reports.outlook_view import View
from krmfn.reports.outlooks import render_outlooks
from krmfn.survey.control_plane import find_line
from krmfn.workspace.processes import SIMULATORS, SimulatorFailed, find_simulator, simulate
from krmfn.workspace.world import merge


def run(words: Words, options: Options) -> int:
    """Generates in memory, unless told not to, and places what is there then; 1 when a gang never starts."""
    judged = Judged(options)
    found = read_worlds(words, options)
    problems = judged.judge_files(found)
    results = [("", problem) for problem in problems]
    views = []
    for world in found.own:
        settings = judged.configurations.find(world, as_cluster=True)
        items, more = judged.grow(world, settings, options["as_is"])
        results += [each for each in more if each[1].severity == "error"]
        outlook, asked, unasked = predict(items, settings, options)
        views.append(View(found.name(world), outlook, unasked, asked.get("kueue", "")))
    views = [view for view in views if view.outlook.standings] or views[:1]
    told = merge(results)
    report_aside(told, options, found.files)
    if views:
        show(render_outlooks(views, options["output"], color=is_colored(options)), options)
    say_if_empty(found.items, found.problems, words, options)
    status = exit_status(told, problems)
    return max(status, int(any(each.verdict == "never" for view in views for each in view.outlook.standings)))


def predict(items: Sequence[Item], settings: Settings, options: Options) -> tuple[Outlook, dict[str, str], str]:
    """What would run; the releases of the simulators that said so, by what they are asked about; why others were not
    asked. One that does not answer is reported, and the rest is said without it. Raises InputMissing for a wrong
    --simulator."""
    releases = {"simulator": str(settings.release), "kueue": f"kueue-{find_line(settings.cluster)}"}
    askers = {role: asker for role, name in releases.items() if (asker := find_asker(name, options))}
    failed: dict[str, str] = {}
    while True:
        try:
            outlook = foresee(items, settings, **askers)
            break
        except SimulatorFailed as failure:
            streams.say(str(failure))
            role = next(role for role, asker in askers.items() if str(failure).startswith(asker.args[0]))
            failed[role] = f"{SIMULATORS}{releases[role]} did not answer"
            del askers[role]
    wanted = [role for role in releases if role not in askers and (role != "kueue" or outlook.queued)]
    missing = [failed.get(role, f"{SIMULATORS}{releases[role]} is not on the PATH") for role in wanted]
    said = {role: releases[role].removeprefix("kueue-") for role in askers}
    return outlook, said, "--prove leaves the scheduler out" if options.get("prove") else join(missing)


def find_asker(release: str, options: Options) -> partial[list[Fields]] | None:
    """What asks the simulator of a release; None without one. Raises InputMissing for a wrong --simulator."""
    program = "" if options.get("prove") else find_simulator(release, options["simulator"] or "")
    return partial(simulate, program) if program else None
