"""`krmfn why`: the cause why a pod, a gang or a workload of a cluster does not run, and the way out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from krmfn.cli import Options, Words
from krmfn.cli.configuration import Configurations
from krmfn.cli.findings import is_colored, show
from krmfn.cli.fit import find_asker
from krmfn.cli.options import UsageError
from krmfn.cli.reading import read_items, use_kinds
from krmfn.config.problems import ask_about
from krmfn.forecast.diagnosis import NOT_EXPLAINED, Diagnosis, find_object
from krmfn.krm import Item
from krmfn.model.marks import FACTS_KIND
from krmfn.model.values import as_mapping
from krmfn.pipeline import explain
from krmfn.reports import channels
from krmfn.reports.paint import BOLD, paint
from krmfn.survey.condensing import Cutter
from krmfn.survey.control_plane import PROGRAMS, is_program
from krmfn.workspace import clusters
from krmfn.workspace.clusters import leave_out_lacking, leave_out_pods, read_live
from krmfn.workspace.disk import Disk
from krmfn.workspace.manifests import Inputs, read_paths
from krmfn.workspace.trees import MOST_OF_CLUSTERS
from krmfn.workspace.world import World

#: How many objects are compared with a name that none of them has.
_LOOKED_AT = 5000
#: What the facts say of the cluster as a whole; everything else is an object as it lives.
_FACTS = ("Node", "PriorityClass")


def run(words: Words, options: Options) -> int:
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
    if options["output"] == "json":
        show(_to_json(diagnosis), options)
    else:
        show("".join(f"{line}\n" for line in _spell(diagnosis, is_colored(options))), options)
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
    return [*live.items, *read_items(Inputs(live.others, inputs.left_out))], live.nodes


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
