"""`krmfn generate`: manifests in, the same manifests with groups and links out; or written, or compared."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krmfn.cli.configuration import load_settings
from krmfn.cli.findings import exit_status, report_aside
from krmfn.cli.options import COMMON, PATHS, Option, UsageError
from krmfn.cli.progress import track
from krmfn.files import read_paths
from krmfn.krm import Item
from krmfn.manifests import Manifests, join, load
from krmfn.pipeline import Outcome, generate
from krmfn.placement import beside

if TYPE_CHECKING:
    from krmfn.rewriting import Change

SUMMARY = "Prints manifests with their groups and links, or writes them in place. Unchanged text stays byte for byte."
ARGUMENTS = PATHS
OPTIONS = (
    Option(("--only-generated",), "Print the generated objects alone.", False, flag=True),
    Option(("--write",), "Edit the files; new objects go into a file beside their owner.", False, flag=True),
    Option(
        ("--check",),
        "Write nothing; show what --write would change, and exit with 1 if it is anything.",
        False,
        flag=True,
    ),
    Option(("--fail-on-change",), "With --write: exit with 1 when a file was changed, for hooks.", False, flag=True),
    *COMMON,
)
_MARK = "krmfn.dev/generated-from"


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Generates for all manifests together. Raises UsageError."""
    chosen = [name for name in ("only_generated", "write", "check") if options[name]]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0].replace('_', '-')} and --{chosen[1]} exclude each other")
    in_files = options["write"] or options["check"]
    if in_files and any(word == "-" or word.startswith("git:") for word in words):
        raise UsageError(f"--{chosen[0]} needs files: {words[0]} is none")
    files = list(read_paths(words))
    if in_files:
        files = list(read_paths([*words, *_list_companions(file.path for file in files)]))
    manifests = load(track(files, "reading", options))
    settings = load_settings(options, manifests.items)
    outcome = generate(manifests.items, settings)
    results = [*manifests.problems, *outcome.results]
    report_aside(results, options)
    status = exit_status(results, settings.fail_on, manifests.unreadable)
    if status:
        return status
    if in_files:
        return _rewrite(manifests, outcome, options)
    return _print(manifests, outcome, options)


def _list_companions(paths: Iterable[str]) -> list[str]:
    """The files of generated objects beside `paths`: a source named alone must not get its groups a second time."""
    return [path for path in map(beside, paths) if os.path.isfile(path)]


def _rewrite(manifests: Manifests, outcome: Outcome, options: Mapping[str, Any]) -> int:
    from krmfn.kustomization import NotPossible
    from krmfn.rewriting import plan_changes, spell_diff, write

    try:
        changes = plan_changes(manifests.files, outcome.added, outcome.removed)
    except NotPossible as reason:
        raise UsageError(str(reason)) from None
    if options["check"]:
        sys.stdout.write(spell_diff(changes))
        if changes and not options["quiet"]:
            sys.stderr.write(f"krmfn: {_count(changes)} out of date: krmfn generate --write brings them up to date\n")
        return int(bool(changes))
    write(changes)
    if not options["quiet"]:
        for path, old, new in changes:
            sys.stderr.write(f"{'removed' if new is None else 'wrote' if old is None else 'updated'} {path}\n")
    return int(bool(changes) and bool(options["fail_on_change"]))


def _print(manifests: Manifests, outcome: Outcome, options: Mapping[str, Any]) -> int:
    gone = {id(item) for item in outcome.removed}
    new = [Item.new(addition.value) for addition in outcome.added]
    if options["only_generated"]:
        kept = [item for item in manifests.items if _MARK in item.annotations and id(item) not in gone]
        texts = [Item.new(item.value) for item in kept] + new
        sys.stdout.buffer.write(join([item.text.encode() for item in texts]))
        return 0
    # One file can be a list that takes the new objects in; several are a stream, and they come last.
    shown = [file for file in manifests.files if not file.steers or len(manifests.files) == 1]
    for file in shown:
        for item in [item for item in file.stream.items if id(item) in gone]:
            file.stream.remove(item)
    if len(shown) == 1:
        for item in new:
            shown[0].stream.append(item)
        new = []
    sys.stdout.buffer.write(join([*(file.stream.render() for file in shown), *(item.text.encode() for item in new)]))
    return 0


def _count(changes: Sequence[Change]) -> str:
    return "1 file is" if len(changes) == 1 else f"{len(changes)} files are"
