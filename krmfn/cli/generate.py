"""`krmfn generate`: manifests in, the same manifests with groups and links out; or written, or compared."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import exit_status, report_aside
from krmfn.cli.judged import Judged
from krmfn.cli.options import UsageError, spell_command, split_list
from krmfn.cli.output import count_files, hold, is_in_files, print_stream, rewrite
from krmfn.cli.reading import read_shard, say_if_empty, use_kinds
from krmfn.krm import FileRef, Item
from krmfn.krm.results import Result, Severity
from krmfn.model.marks import GENERATED_FROM
from krmfn.model.wording import join
from krmfn.pipeline import Outcome, generate
from krmfn.reconcile import Addition
from krmfn.reconcile.placement import beside
from krmfn.workspace.manifests import Manifests
from krmfn.workspace.manifests import join as join_streams
from krmfn.workspace.witness import isdir, isfile
from krmfn.workspace.world import World
from krmfn.workspace.worlds import Worlds
from krmfn.workspace.written import find_written

if TYPE_CHECKING:
    from krmfn.workspace.replacing import FileChange


def run(words: Words, options: Options) -> int:
    """Generates for all manifests together. Raises UsageError."""
    in_files = is_in_files(words, options)
    if in_files and options["only_generated"]:
        raise UsageError("--only-generated cannot be combined with --write or --check")
    if options["shard"] and not options["check"]:
        raise UsageError("--shard needs --check: what is printed or written is a whole")
    with hold(words, options):
        return _run(words, options, in_files)


def _run(words: Words, options: Options, in_files: bool) -> int:
    if in_files:
        # A source that is named alone must not get its groups a second time.
        words = [*words, *filter(isfile, map(beside, filter(isfile, words)))]
    judged = Judged(options)
    shard = read_shard(options)
    found = find_written(words, split_list(options["exclude"]), shard, lambda files: streams.track(files, options))
    use_kinds(found.items)
    problems = judged.judge_files(found)
    results = list(problems)
    added: list[Addition] = []
    removed: list[Item] = []
    fail_on: Severity = "error"
    left = 0
    for world in found.own:
        if in_files and world.configurations:
            left += len(world.files)
            continue
        settings = judged.configurations.find(world)
        fail_on = "warning" if settings.fail_on == "warning" else fail_on
        outcome = generate(world.items, settings)
        if not in_files:
            _refuse_borrowed(found, world, outcome, words)
        added += outcome.added
        removed += outcome.removed
        results += judged.judge_results(world, settings, outcome.results)
    results += _tell_affixes(found, added) if in_files else ()
    report_aside(results, options, found.files)
    say_if_empty(found.items, found.problems, words, options)
    has_none = found.items and not any(GENERATED_FROM in item.annotations for item in found.items)
    if has_none and not (added or left or results):
        nothing = 'nothing to generate: no resource has the annotation krmfn.dev/gang: "true", and none is selected'
        streams.remark(nothing, options)
    if left:
        streams.remark(f"{count_files(left)} unchanged: their kustomization runs krmfn itself", options)
    files = [file for file in found.files if in_files or file.path not in found.borrowed]
    manifests = Manifests(files, found.problems)
    status = exit_status(results, problems, fail_on)
    if status:
        return status
    if in_files:
        return _finish(rewrite(manifests, added, removed, options), options)
    if options["only_generated"]:
        _print_generated(manifests, added, removed)
    else:
        print_stream(manifests, added, removed)
    return 0


def _tell_affixes(found: Worlds, added: Iterable[Addition]) -> Iterator[Result]:
    """What kustomizations do to the names in files: with --write, groups are there before a prefix is."""
    gangs = {id(owner) for _, owner in added}
    folders = {
        world.folder
        for world in found.own
        if any(id(item) in gangs or GENERATED_FROM in item.annotations for item in world.items)
    }
    for path, reached in found.affixed.items():
        if not folders.isdisjoint(reached):
            message = (
                "namePrefix or nameSuffix renames groups, but kustomize does not know which fields refer to them: the "
                "pods keep the old name and are never scheduled"
            )
            hint = f"Run {spell_command('krmfn init --no-function', [os.path.dirname(path) or '.'])}."
            tags = {"rule": "affix-unconfigured", "stage": "gitops", "hint": hint}
            yield Result(message, "warning", file=FileRef(path), tags=tags)


def _refuse_borrowed(found: Worlds, world: World, outcome: Outcome, words: Words) -> None:
    """Raises UsageError where a gang is in a folder that a kustomization only builds on: its file as it is written is
    not what the kustomization applies."""
    made = [*(owner for _, owner in outcome.added), *outcome.removed]
    made += [item for item in world.items if GENERATED_FROM in item.annotations]
    folders = sorted({os.path.dirname(item.file.path) for item in made if item.file.path in found.borrowed})
    if not folders:
        return
    named = list(filter(isdir, words))
    build = named if len(named) == 1 else ["FOLDER"]
    message = f"the gangs of {join(named)} are in files of {join(folders)}: run "
    if world.configurations:
        command = spell_command("kustomize build --enable-alpha-plugins --enable-exec", build)
        message += f"{command}, which runs krmfn"
    else:
        command = spell_command("krmfn generate", folders)
        message += f"{spell_command('kustomize build', build)} | krmfn generate -, or {command}"
    raise UsageError(message)


def _finish(changes: Sequence[FileChange], options: Options) -> int:
    if options["check"] and changes:
        told = f"{count_files(len(changes))} out of date: krmfn generate --write brings them up to date"
        streams.remark(told, options)
    return int(bool(changes) and bool(options["check"] or options["fail_on_change"]))


def _print_generated(manifests: Manifests, added: Sequence[Addition], removed: Sequence[Item]) -> None:
    gone = {id(item) for item in removed}
    kept = [item.value for item in manifests.items if GENERATED_FROM in item.annotations and id(item) not in gone]
    values = [*kept, *(addition.value for addition in added)]
    streams.write_bytes(join_streams([Item.new(value).text.encode() for value in values]))
