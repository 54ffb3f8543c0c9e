"""`krmfn diff OLD NEW`: what an apply would do to each object, before it is merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.configuration import load_settings
from krmfn.cli.findings import is_colored, report, report_aside, show
from krmfn.cli.options import ALLOW_EXEC, COMMON, FORMATS, UPDATE, Argument, Option, split_list
from krmfn.krm import Result
from krmfn.pipeline import complete
from krmfn.plan import make_plan
from krmfn.plan.results import to_results
from krmfn.reports.plans import FORMATS as PLAN_FORMATS
from krmfn.reports.plans import render_plan
from krmfn.workspace.files import GIT
from krmfn.workspace.manifests import load
from krmfn.workspace.rendering import read_state

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
        "Read the files of kustomizations as they are. Otherwise kustomize renders them.",
        False,
        flag=True,
    ),
    ALLOW_EXEC,
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Compares the two states, generated in memory where they were not. Raises UsageError and InputMissing."""
    paths = [_path(word) for word in words]
    allowed = split_list(options["allow_exec"])
    sides = []
    problems: list[Result] = []
    for word, other in zip(words, reversed(paths), strict=True):
        inputs = read_state(word, other or ".", not options["no_render"], allowed)
        manifests = load(inputs.files, inputs.left_out)
        problems += [problem for problem in manifests.problems if problem.severity != "info"]
        sides.append(complete(manifests.items, load_settings(options, manifests.items))[0])
    settings = load_settings(options, sides[1], as_cluster=True)
    plan = make_plan(sides[0], sides[1], settings, options["update"])
    report_aside(problems, options)
    if options["output"] in PLAN_FORMATS:
        show(render_plan(plan, options["output"], color=is_colored(options)), options["output"])
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
