"""`krmfn convert --to`: scheduling objects and links of one release, or of another scheduler, for another release."""

from __future__ import annotations

import posixpath

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import Configurations
from krmfn.cli.findings import exit_status, report_aside
from krmfn.cli.options import UsageError, spell_command
from krmfn.cli.output import hold, is_in_files, print_stream, rewrite
from krmfn.cli.reading import say_if_empty
from krmfn.convert import convert
from krmfn.model.marks import TOOL_GROUPS
from krmfn.pipeline import to_results
from krmfn.releases.release import newest_release
from krmfn.workspace.manifests import load, read_paths
from krmfn.workspace.world import World


def run(words: Words, options: Options) -> int:
    """Converts all manifests together. Raises UsageError."""
    if not options["to"]:
        raise UsageError(f"--to is missing: {spell_command(f'krmfn convert --to {newest_release()}', words)}")
    in_files = is_in_files(words, options)
    with hold(words, options):
        inputs = read_paths(words)
        manifests = load(streams.track(inputs.files, options), inputs.left_out)
        items = manifests.items
        folder = posixpath.dirname(items[0].file.path) if items else ""
        settings = Configurations(options).find(World("", "", items, None, folder or "."))
        done = convert(items, options["to"], settings.api_versions)
        results = [*manifests.problems, *to_results(done.findings)]
        report_aside(results, options)
        say_if_empty([item for item in items if item.group not in TOOL_GROUPS], results, words, options)
        status = exit_status(results, manifests.problems)
        if status:
            return status
        if in_files:
            changes = rewrite(manifests, done.added, done.removed, options)
            return int(bool(changes) and bool(options["check"]))
        print_stream(manifests, done.added, done.removed)
    return 0
