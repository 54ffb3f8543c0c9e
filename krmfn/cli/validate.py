"""`krmfn validate`: what the API server would refuse, what would never be scheduled, what operators would not do."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, report
from krmfn.cli.judged import Judged, tell_unused, tell_world
from krmfn.cli.options import UsageError, split_list
from krmfn.cli.reading import miss_state, read_crds, read_shard, read_worlds, say_if_empty, say_if_unasked, share
from krmfn.config import Settings
from krmfn.judging import leave_out_present
from krmfn.krm.item import Item, Items
from krmfn.krm.results import Result, Severity
from krmfn.model.findings import STAGES
from krmfn.model.kept import Printed
from krmfn.model.marks import TOOL_GROUPS
from krmfn.model.values import Value
from krmfn.model.wording import count
from krmfn.pipeline import describe_scope, run_functions
from krmfn.survey.gangs import list_unasked
from krmfn.workspace.definitions import Definitions
from krmfn.workspace.manifests import is_path, name_state
from krmfn.workspace.trees import GIT, KUSTOMIZATIONS, RevisionMissing
from krmfn.workspace.world import merge
from krmfn.workspace.worlds import Worlds, pair

if TYPE_CHECKING:
    from krmfn.cli.output import Found
    from krmfn.workspace.sharding import Shard


#: Why an option is about the whole.
_OF_WHOLE = {
    "baseline": "give it to krmfn merge, which knows all findings",
    "fix": "shards may have files in common",
    "diff": "shards may have files in common",
}


def run(words: Words, options: Options) -> int:
    """Checks all manifests together, because objects refer to each other. Raises UsageError and InputMissing."""
    written = [*filter(is_path, words)] if options["fix"] else []
    written += [options["baseline"]] if options["write_baseline"] and options["baseline"] else []
    if not written:
        return _run(words, options)
    from krmfn.workspace.replacing import lock

    with lock(written, streams.say):
        return _run(words, options)


def _refuse_combinations(options: Options) -> None:
    """Raises UsageError for options that do not go together."""
    if options["write_baseline"] and not options["baseline"]:
        raise UsageError("--write-baseline needs --baseline FILE")
    for whole, reason in _OF_WHOLE.items():
        if options["shard"] and options[whole]:
            raise UsageError(f"--shard cannot be combined with --{whole}: {reason}")


def _run(words: Words, options: Options) -> int:
    _refuse_combinations(options)
    if options["baseline"]:
        from krmfn.cli.baseline import handle_baseline, read_baseline

        baseline = read_baseline(options)  # before --fix changes files
    judged = Judged(options)
    shard, new, old = _read_states(words, options)
    stages = split_list(options["stage"]) or STAGES
    judged.read(new.files, stages)
    problems = [problem for found in (new, old) if found for problem in judged.judge_files(found)]
    fail_on: Severity = options["fail_on"] or "error"
    definitions = Definitions(new.worlds)
    pairs = {id(after): before for before, after in pair(old, new)} if old else {}
    found = []
    scopes: list[tuple[Items, Settings]] = []
    unasked = set()
    edits = options["output"] in ("sarif", "json", "yaml")
    crds = read_crds(options)
    for world in new.own:
        settings = judged.configurations.find(world, as_cluster=True)
        settings = settings._replace(definitions=crds, base=world.base, rivals=definitions.near(world))
        if not options["fail_on"] and settings.fail_on == "warning":
            fail_on = settings.fail_on
        before = pairs.get(id(world))
        told = tell_world(world, settings, before.items if before else None, stages, options["update"], edits)
        found.append((world, judged.judge_findings(world, settings, told)))
        unasked |= {id(world.sources.get(id(item), item)) for item in list_unasked(world.items, settings)}
        scopes.append(([item for item in world.items if item.group not in TOOL_GROUPS], settings))
    found = leave_out_present(found)
    if options["fix"] or options["diff"]:
        from krmfn.cli.output import fix

        found = fix(words, new, found, options)
    ignores = judged.sum_up_ignores(words)
    part: Value = {}
    if shard:
        from krmfn.cli.merge import describe, mark

        results = [*problems, *mark(found)]
        part = describe(shard, new.digest, fail_on, found, ignores)
    else:
        results = [*problems, *_merge(found), *tell_unused([ignores])]
    if options["baseline"]:
        results = handle_baseline(results, baseline, options)
    checked = ((item.ref, world.place(item)) for world in new.own for item in world.items)
    scope = _spell_scope(new, [item for items, _ in scopes for item in items])
    report(results, options, checked, fail_on, scope, new.files, part)
    say_if_empty(new.items, new.problems, words, options)
    say_if_unasked(len(unasked), options)
    if "server" in stages and options["output"] == "text" and not options["quiet"]:
        for line in filter(None, (*definitions.tell(), describe_scope(scopes))):
            streams.say(line)
    return exit_status(results, problems, fail_on)


def _spell_scope(found: Worlds, objects: Iterable[Item]) -> str:
    """`12 files, 2 kustomizations, 1 application, 40 objects`, some of which are in several worlds. Applications are
    what Argo CD and Flux deploy without a kustomization."""
    named = [posixpath.basename(world.overlay) in KUSTOMIZATIONS for world in found.own if world.name]
    numbers = {
        "file": len({file.path for file in found.files}),
        "kustomization": sum(named),
        "application": len(named) - sum(named),
        "object": len(set(map(id, objects))),
    }
    if not numbers["object"]:
        return ""
    return ", ".join(count(number, noun) for noun, number in numbers.items() if number)


def _merge(found: Sequence[Found]) -> list[Result]:
    """The results of all worlds; what is the same in several is one."""
    if len(found) == 1 and not found[0][0].name:
        return [result for _, result in found[0][1]]
    return merge((world.name, result) for world, findings in found for _, result in findings)


def _read_states(words: Words, options: Options) -> tuple[Shard | None, Worlds, Worlds | None]:
    """The part of --shard, the state that is checked, and the one of --against. A revision alone has the paths of
    `words`. Raises UsageError and InputMissing."""
    given = options["against"]
    if not given:
        return read_shard(options), read_worlds(words, options, complete=True).apply(run_functions), None
    against = name_state(given)
    named = [against]
    if against.startswith(GIT) and ":" not in against.removeprefix(GIT):
        if list(words) == ["-"]:
            raise UsageError(f"--against {given}: name the path in the revision when stdin is checked: {against}:PATH")
        named = [f"{against}:{word}" for word in words if is_path(word)]
    done = Printed()
    try:
        shard = share([(words, "."), (named, ".")], options)
        new, old = (
            read_worlds(each, options, complete=True, done=done, shard=shard).apply(run_functions)
            for each in (words, named)
        )
    except RevisionMissing as missing:
        raise miss_state(missing, [given]) from None
    return shard, new, old
