"""`krmfn diff OLD NEW`: what an apply would do to each object, before it is merged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.configuration import load_settings
from krmfn.cli.findings import is_colored, report, report_aside
from krmfn.cli.options import COMMON, FORMATS, UPDATE, Argument, Option
from krmfn.krm import Item, Result
from krmfn.pipeline import complete
from krmfn.plan import make_plan
from krmfn.plan.results import to_results
from krmfn.reports.plans import FORMATS as PLAN_FORMATS
from krmfn.reports.plans import render_plan
from krmfn.workspace.files import GIT
from krmfn.workspace.manifests import load
from krmfn.workspace.rendering import State, read_state

SUMMARY = "Shows what an apply would do to each object: update it in place, refuse it, or need a replacement."
ARGUMENTS = Argument("OLD NEW", "Two states, each a path, - for stdin, or git:REV[:PATH].", 2, 2)
OPTIONS = (
    Option(
        ("-o", "--output"),
        "Format of the plan.",
        "text",
        (*PLAN_FORMATS, *(form for form in FORMATS if form not in PLAN_FORMATS)),
    ),
    UPDATE,
    Option(
        ("--no-render",),
        "Read kustomizations as they lie there. Otherwise kustomize renders them, and runs the functions they list.",
        False,
        flag=True,
    ),
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Compares the two states, generated in memory where they were not. Raises UsageError and InputMissing."""
    paths = [_path(word) for word in words]
    states = [read_state(word, paths[1 - number] or ".", not options["no_render"]) for number, word in enumerate(words)]
    problems: list[Result] = []
    sides = [_read(state, options, problems) for state in states]
    settings = load_settings(options, sides[1], as_cluster=True)
    plan = make_plan(sides[0], sides[1], settings, options["update"])
    for hint in {state.hint for state in states if state.hint}:
        sys.stderr.write(f"krmfn: {hint}\n")
    report_aside(problems, options)
    if options["output"] in PLAN_FORMATS:
        sys.stdout.write(render_plan(plan, options["output"], color=is_colored(options, sys.stdout)))
    else:
        report(to_results(plan), options)
    if any(problem.severity == "error" for problem in problems):
        return 2
    return int(plan.is_refused)


def _path(word: str) -> str:
    """The path in an argument, empty when it names none."""
    if not word.startswith(GIT):
        return "" if word == "-" else word
    return word.removeprefix(GIT).partition(":")[2]


def _read(state: State, options: Mapping[str, Any], problems: list[Result]) -> list[Item]:
    """The objects of a state as they would be applied: with the groups that it holds, else with those it asks for."""
    manifests = load(state.files)
    problems += [problem for problem in manifests.problems if problem.severity == "error"]
    items = manifests.items
    return complete(items, load_settings(options, items))[0]
