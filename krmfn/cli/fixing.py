"""`validate --fix`: makes the edits that findings propose, and shows them."""

from __future__ import annotations

from krmfn.cli import Options, Words, streams
from krmfn.cli.findings import is_colored
from krmfn.cli.options import UsageError
from krmfn.krm.results import Result
from krmfn.model.findings import Finding
from krmfn.reconcile.fixes import apply_fixes
from krmfn.reports import channels
from krmfn.reports.paint import paint_diff
from krmfn.workspace.files import is_path
from krmfn.workspace.replacing import replace
from krmfn.workspace.world import World
from krmfn.workspace.worlds import Worlds
from krmfn.workspace.writing import plan_changes, spell_diff

#: The findings of a world that count, each with its result.
Found = tuple["World", list[tuple[Finding, Result]]]


def fix(words: Words, worlds: Worlds, findings: list[Found], options: Options) -> list[Found]:
    """Edit the files (with --fix) or show the edits (with --diff); the findings that are left. Raises UsageError."""
    if not all(is_path(word) for word in words):
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
