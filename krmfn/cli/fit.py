"""What is said of a cluster: which gangs would run in it, and on which nodes (`krmfn fit`), the cause why a pod, a gang
or a workload does not run, and the way out (`krmfn why`), and what its dump says, to be committed (`krmfn facts`)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import Configurations, merge_facts
from krmfn.cli.findings import exit_status, is_colored, report_aside, show
from krmfn.cli.judged import Judged
from krmfn.cli.options import UsageError
from krmfn.cli.reading import read, read_worlds, say_if_empty, use_kinds
from krmfn.config import Settings
from krmfn.config.problems import ask_about
from krmfn.forecast import Outlook
from krmfn.forecast.diagnosis import NOT_EXPLAINED, Diagnosis, find_object
from krmfn.krm import Item
from krmfn.model.marks import FACTS_KIND
from krmfn.model.values import Fields, as_mapping
from krmfn.model.wording import join
from krmfn.pipeline import explain, foresee
from krmfn.reports import channels
from krmfn.reports.document import write_yaml
from krmfn.reports.outlook_view import View
from krmfn.reports.outlooks import render_outlooks
from krmfn.reports.paint import BOLD, paint
from krmfn.survey.condensing import Cutter, condense
from krmfn.survey.control_plane import PROGRAMS, find_line, is_program
from krmfn.workspace import clusters
from krmfn.workspace.clusters import leave_out_lacking, leave_out_pods, read_clusters, read_live
from krmfn.workspace.disk import Disk
from krmfn.workspace.manifests import Inputs, read_paths
from krmfn.workspace.processes import SIMULATORS, SimulatorFailed, find_simulator, simulate
from krmfn.workspace.trees import MOST_OF_CLUSTERS, InputMissing
from krmfn.workspace.world import World, merge


def run(words: Words, options: Options) -> int:
    """Generates in memory, unless told not to, and places what is there then; 1 when a gang never starts."""
    configurations = Configurations(options)
    judged = Judged(configurations, {})
    found = read_worlds(words, options)
    problems = judged.judge_files(found)
    results = [("", problem) for problem in problems]
    views = []
    for world in found.own:
        settings = configurations.find(world, as_cluster=True)
        items, more = judged.grow(world, settings, options["as_is"])
        results += [each for each in more if each[1].severity == "error"]
        outlook, asked, unasked = predict(items, settings, options)
        views.append(View(found.name(world), outlook, unasked, asked.get("kueue", "")))
    views = [view for view in views if view.outlook.standings] or views[:1]
    told = merge(results)
    report_aside(told, options, found.files)
    if views:
        show(render_outlooks(views, options["output"], color=is_colored(options)), options["output"])
    say_if_empty(found.items, found.problems, words, options)
    status = exit_status(told, problems)
    return max(status, int(any(view.outlook.is_hopeless for view in views)))


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


#: So many objects are compared with a name that none has.
_LOOKED_AT = 5000
#: What the facts say of the cluster as a whole; everything else is an object as it lives.
_FACTS = ("Node", "PriorityClass")


def run_why(words: Words, options: Options) -> int:
    """0 when all is well, 1 when there is something in the way. Raises UsageError for an object that is not there."""
    if not options["cluster"]:
        raise UsageError("--cluster is missing: pass the output of kubectl get all,podgroups,nodes,events -A -o yaml")
    configurations = Configurations({**options, "cluster": ()})
    settings = configurations.find(World("", "", (), None, "."))
    configurations.use_kinds_beside(Disk("."), ".")
    asker = find_asker(str(settings.release), options)
    # The scheduler has to know of every pod, proofs have not.
    items, nodes = _read(options, words[0], asker is not None)
    use_kinds(items)
    # The programs of the control plane tell, too, by their flags.
    telling = (each for each in items if each.kind in _FACTS or (each.kind == "Pod" and is_program(each.value)))
    facts = [*nodes, *(item.value for item in telling)]
    # What a dump has of a kind is all that there is.
    given = {"items": facts, "listed": sorted({*(item.kind for item in items), *(["Node"] if nodes else ())})}
    spelled = [as_mapping(item.value, "spec") for item in items if item.kind == FACTS_KIND]
    settings = settings._replace(cluster={**clusters.merge([settings.cluster, *spelled]), **given})
    diagnosis = explain(items, settings, _choose(items, words[0]), asker)
    form = options["output"]
    if form == "json":
        show(_to_json(diagnosis), form)
    else:
        show("".join(f"{line}\n" for line in _spell(diagnosis, is_colored(options))), form)
    return 1 if diagnosis.cause else 0


def _read(options: Options, word: str, whole: bool) -> tuple[list[Item], list[Any]]:
    """The objects of the data, and nodes apart; `whole` or without the pods of other namespaces than that of the
    object. Raises InputMissing."""
    inputs = read_paths(options["cluster"], most=MOST_OF_CLUSTERS)
    cut = Cutter()
    space, _, name = word.partition("/")[2].rpartition("/")
    spaces = {space} if space else set[str]()
    if not whole and not space:
        named = read_live(inputs.files, cut, leave_out_lacking(name)).items
        spaces = {item.space for item in find_object(named, word)}
    live = read_live(inputs.files, cut, leave_out_pods((*spaces, PROGRAMS)) if spaces and not whole else None)
    dump = read(Inputs(tuple(live.others), inputs.left_out), options)
    if dump.unreadable:
        problem = dump.problems[0]
        raise InputMissing(problem.file.tell(problem.message) if problem.file else problem.message)
    return [*live.items, *dump.items], live.nodes


def _choose(items: Sequence[Item], word: str) -> Item:
    found = find_object(items, word)
    if "/" not in word:
        raise UsageError(f"{word}: write KIND/NAME, such as job/{word}")
    if not found and word.partition("/")[0].lower().removesuffix("s") in map(str.lower, NOT_EXPLAINED):
        raise UsageError(f"{word}: krmfn why explains pods, groups and what creates pods, such as job/train")
    if not found:
        known = (
            "/".join((each.kind.lower(), *([each.space] if word.count("/") > 1 else ()), each.name))
            for each in items
            if each.kind not in NOT_EXPLAINED
        )
        hint = ask_about(word, islice(known, _LOOKED_AT)) or "kubectl get -A -o yaml lists those of all namespaces"
        raise UsageError(f"{word}: no such object in the data of --cluster. {hint}")
    if len({item.space for item in found}) > 1:
        spaces = ", ".join(sorted(item.space for item in found))
        raise UsageError(f"{word}: there is one in {spaces}; write KIND/NAMESPACE/NAME")
    return found[0]


def _spell(diagnosis: Diagnosis, color: bool) -> Iterator[str]:
    head = channels.line(f"{diagnosis.subject}: {diagnosis.state}.")
    yield paint(head, BOLD, color)
    if not diagnosis.cause:
        yield "All is well."
        return
    rule = f" [{diagnosis.rule}]" if diagnosis.rule else ""
    for label, text in (("Cause", f"{diagnosis.cause}{rule}"), ("Way out", diagnosis.way_out)):
        if text:
            yield from _wrap(f"{label}: {text}", "  ")
    if diagnosis.said:
        yield "The cluster says:"
        for said in diagnosis.said[-6:]:
            yield from _wrap(said, "    ")


def _wrap(text: str, indent: str) -> list[str]:
    lines = textwrap.wrap(channels.line(text), 116, break_on_hyphens=False, break_long_words=False)
    return [channels.line(line if number == 0 else indent + line) for number, line in enumerate(lines)]


def _to_json(diagnosis: Diagnosis) -> str:
    document = {
        "object": diagnosis.subject,
        "state": diagnosis.state,
        "well": not diagnosis.cause,
        "cause": diagnosis.cause or None,
        "change": diagnosis.way_out or None,
        "rule": diagnosis.rule or None,
        "said": list(diagnosis.said),
    }
    return channels.json(document)


def run_facts(words: Words, options: Options) -> int:
    """Prints one object, of kind ClusterFacts, for --cluster and `spec.cluster.from`. Raises InputMissing."""
    cutter = Cutter()
    facts = condense(merge_facts(read_clusters(words, cutter)), not options["no_pods"], cutter)
    if not facts:
        streams.say(f"no facts in {' '.join(words)}: pass the output of kubectl get nodes -o yaml, and of other kinds")
    document = {"apiVersion": "krmfn.dev/v1alpha1", "kind": FACTS_KIND, "metadata": {"name": "cluster"}, "spec": facts}
    if options["output"] == "json":
        show(channels.json(document), "json")
        return 0
    show(write_yaml(document), "yaml")
    return 0
