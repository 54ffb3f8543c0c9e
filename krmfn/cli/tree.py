"""`krmfn tree`: the groups of a set of manifests, who waits for whom, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.configuration import load_settings
from krmfn.cli.findings import exit_status, report_aside, show
from krmfn.cli.options import COMMON, PATHS, Option
from krmfn.cli.reading import read
from krmfn.pipeline import complete
from krmfn.reports.trees import FORMATS, render_trees
from krmfn.survey.forest import grow, list_loose
from krmfn.workspace.files import read_paths

SUMMARY = "Shows the tree of groups: who waits for whom, how many pods, and where they come from."
ARGUMENTS = PATHS
OPTIONS = (
    Option(("-o", "--output"), "Format of the tree.", "text", FORMATS),
    Option(("--as-is",), "Only groups that are in the manifests, none that would be generated.", False, flag=True),
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Generates in memory, unless told not to, and draws what is there then."""
    manifests = read(read_paths(words), options)
    settings = load_settings(options, manifests.items)
    items = manifests.items
    results = list(manifests.problems)
    if not options["as_is"]:
        items, more = complete(items, settings)
        results += more
    trees = grow(items, settings)
    report_aside(results, options)
    show(render_trees(trees, list_loose(items, trees), options["output"]), options["output"])
    return exit_status(results, settings.fail_on, manifests.unreadable)
