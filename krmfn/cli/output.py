"""Edited manifests on their way out: as one stream, into their files, or as the difference that this would make;
and the edits that findings propose (`validate --fix`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import is_colored
from krmfn.cli.options import UsageError
from krmfn.krm import EditRefused, Item
from krmfn.model.marks import TOOL_GROUPS
from krmfn.model.wording import count
from krmfn.releases.release import newest_release
from krmfn.releases.served import is_of_program
from krmfn.reports import channels
from krmfn.reports.paint import paint_diff
from krmfn.workspace.manifests import STEERING, Manifests, is_path, join

if TYPE_CHECKING:
    from krmfn.krm.results import Result
    from krmfn.model.findings import Finding
    from krmfn.reconcile import Addition
    from krmfn.workspace.replacing import FileChange
    from krmfn.workspace.world import World
    from krmfn.workspace.worlds import Worlds

    #: The findings of a world that count, each with its result.
    Found = tuple[World, list[tuple[Finding, Result]]]


def is_in_files(words: Words, options: Options) -> bool:
    """Whether --write or --check is given. Raises UsageError where there are no files to write."""
    chosen = [name for name in ("write", "check") if options[name]]
    if len(chosen) == 2:
        raise UsageError("--write and --check cannot be combined")
    streams = [word for word in words if not is_path(word)]
    if chosen and streams:
        raise UsageError(f"--{chosen[0]} needs files, not {streams[0]}")
    return bool(chosen)


def hold(words: Words, options: Options) -> AbstractContextManager[None]:
    """A block in which no other run writes the files, from reading them to writing them; with --write only."""
    if options["write"]:
        from krmfn.workspace.replacing import lock

        return lock(words, streams.say)
    return nullcontext()


def rewrite(
    manifests: Manifests, added: Iterable[Addition], removed: Iterable[Item], options: Options
) -> list[FileChange]:
    """Write the files that differ, or show how they would (--check), and give them back. Raises WriteFailed."""
    from krmfn.workspace.replacing import replace
    from krmfn.workspace.writing import plan_changes, spell_diff

    changes = plan_changes(manifests.files, added, removed)
    if options["check"]:
        streams.write(paint_diff(channels.lines(spell_diff(changes)), is_colored(options)))
        return changes
    replace(changes)
    if not options["quiet"]:
        tell_changes(changes)
    return changes


def tell_changes(changes: Iterable[FileChange], spell: Callable[[str], str] = str) -> None:
    """A line for each file: what was done to it."""
    for path, old, new in changes:
        done = "unchanged" if old == new else "removed" if new is None else "wrote" if old is None else "updated"
        streams.tell(channels.line(f"{done} {spell(path)}") + "\n")


def print_stream(manifests: Manifests, added: Iterable[Addition], removed: Iterable[Item]) -> None:
    """The objects of all manifests as one stream on stdout. What steers tools is left out; of files also what is for
    other programs. Of standard input all else is passed on, byte for byte.
    Raises UsageError for a list that cannot lose an object."""
    release = newest_release().name
    gone = {id(item) for item in removed} | {id(each) for each in manifests.items if each.group in TOOL_GROUPS}
    for file in manifests.files:
        gone |= {id(item) for item in file.stream.items if file.path != "-" and is_of_program(item, release)}
    new = [Item.new(addition.value) for addition in added]
    shown = [file for file in manifests.files if file.path.rpartition("/")[2] not in STEERING]
    for file in shown:
        for item in [item for item in file.stream.items if id(item) in gone]:
            file.stream.remove(item)
    # One file can be a list that takes the new objects in; several are a stream, and they come last.
    if len(shown) == 1:
        for item in new:
            shown[0].stream.append(item)
        new = []
    parts = []
    for file in shown:
        try:
            parts.append(file.stream.render(objects_only=file.path != "-"))
        except EditRefused as refused:
            raise UsageError(f"{file.path}: objects cannot be left out: {refused}") from None
    streams.write_bytes(join([*parts, *(item.text.encode() for item in new)]))


def count_files(number: int) -> str:
    """`1 file is`, `2 files are`."""
    return f"{count(number, 'file')} {'is' if number == 1 else 'are'}"


def fix(words: Words, worlds: Worlds, findings: list[Found], options: Options) -> list[Found]:
    """Edit the files (with --fix) or show the edits (with --diff); the findings that are left. Raises UsageError."""
    from krmfn.reconcile.fixes import apply_fixes
    from krmfn.workspace.replacing import replace
    from krmfn.workspace.writing import plan_changes, spell_diff

    if not all(map(is_path, words)):
        raise UsageError("--fix and --diff need files, not stdin or a revision")
    written = {id(item) for file in worlds.files for item in file.stream.items}
    mended = apply_fixes([each for _, found in findings for each, _ in found if id(each.item) in written])
    changes = plan_changes(worlds.files, (), ())
    if options["diff"]:
        streams.write(paint_diff(channels.lines(spell_diff(changes)), is_colored(options)))
    if not options["fix"]:
        return findings
    if worlds.unreadable:
        streams.say("nothing is fixed, because a file cannot be read")
        return findings
    replace(changes)
    for change in () if options["quiet"] else changes:
        streams.tell(channels.line(f"fixed {change.path}") + "\n")
    made = {(id(each.item), each.path, each.rule) for each in mended.made}
    return [
        (world, [each for each in found if (id(each[0].item), each[0].path, each[0].rule) not in made])
        for world, found in findings
    ]
