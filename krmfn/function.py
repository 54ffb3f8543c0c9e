"""The KRM function: a ResourceList on stdin becomes one on stdout, with the gangs that its items need.

Decides nothing about gangs.

Source: the KRM Functions Specification, and what kustomize 5.8 and kpt 1.0 send and do with exit codes and streams.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from krmfn.krm import Item, Misconfigured, ResourceList, Result, format_path, run
from krmfn.krm.results import SEVERITIES
from krmfn.model.marks import KIND_WORDS, LOCAL_CONFIG

if TYPE_CHECKING:
    from krmfn.config import Settings

_LISTED_AS_GENERATOR = Result(
    "listed under generators: kustomize passes no resources there; list the function under transformers: instead"
)


def main() -> int:
    """Runs the function on this process's streams and returns the exit code."""
    return run(process, report=_report)


def process(resources: ResourceList) -> Iterable[Result]:
    """Generate or validate gangs in `resources`, as their functionConfig says. Returns what was found, errors first.

    Raises Misconfigured for a functionConfig that cannot be used.
    """
    config = resources.function_config
    if config is None and not _is_concerned(resources.items):
        return ()
    if config is not None and _is_generator(config, resources.items):
        return (_LISTED_AS_GENERATOR,)
    from krmfn.config import ConfigError, read_settings

    items = list(resources.items)
    try:
        if items and any(word in items[0].source.data for word in KIND_WORDS):  # all are cut from one text
            from krmfn.config.kinds import use_objects

            use_objects(items)
        settings = read_settings(config.value if config else None)
        results = _validate(resources, settings) if settings.mode == "Validate" else _generate(resources, settings)
        return _finish(_judge(results, items, settings), settings)
    except ConfigError as error:
        ref = config.ref if config else None
        raise Misconfigured(
            Result(f"functionConfig: {problem}", "error", ref, format_path(problem.path)) for problem in error.problems
        ) from None


def _is_concerned(items: list[Item]) -> bool:
    """Whether an item can have a gang, is of a kind that we generate, or has an annotation of ours."""
    if not items:
        return False
    from krmfn.pipeline import GENERATED_GROUPS
    from krmfn.sources import is_read

    if any(is_read(item.ref) or item.group in GENERATED_GROUPS for item in items):
        return True
    return b"krmfn.dev/" in items[0].source.data  # all are cut from one text


def _generate(resources: ResourceList, settings: Settings) -> Iterable[Result]:
    from krmfn.pipeline import generate

    outcome = generate(resources.items, settings)
    for item in outcome.removed:
        resources.remove(item)
    if outcome.added:
        from krmfn.reconcile.placement import place_in_package

        for item in place_in_package(outcome.added, resources.items):
            resources.append(item)
    return outcome.results


def _validate(resources: ResourceList, settings: Settings) -> Iterable[Result]:
    from krmfn.pipeline import validate

    results = validate(resources.items, settings)
    if settings.emit_items == "None":
        # Under `validators:` kustomize takes any returned item for a change, because it adds annotations itself.
        resources.items.clear()
    return results


def _judge(results: Iterable[Result], items: list[Item], settings: Settings) -> Iterable[Result]:
    """The results that count, by the functionConfig and by annotations. Raises ConfigError for unknown rules."""
    from krmfn.config.selection import IGNORE

    rules = settings.rules
    is_ignored = items and IGNORE.encode() in items[0].source.data  # all are cut from one text
    if not (rules.select or rules.ignore or rules.severity or is_ignored):
        return results
    from krmfn.judging import Judging

    judged = Judging().judge([(result.ref, result) for result in results], rules, items)
    return [result for result in judged if result is not None]


def _finish(results: Iterable[Result], settings: Settings) -> Iterable[Result]:
    """The results without duplicates, errors first. If warnings make the run fail, an error in front says so."""
    results = tuple(results)
    if not results:
        return ()
    from krmfn.reports.report import order

    ordered = sorted(order(results), key=lambda result: SEVERITIES.index(result.severity))
    if settings.fail_on == "warning" and ordered[0].severity == "warning":
        count = sum(result.severity == "warning" for result in ordered)
        message = f"failOn is warning, and there {'is 1 warning' if count == 1 else f'are {count} warnings'}"
        return (Result(message), *ordered)
    return ordered


def _report(results: Iterable[Result]) -> str:
    """What goes to stderr: all that kustomize shows of a run."""
    from krmfn.reports.text import render_short

    return render_short(results)


def _is_generator(config: Item, items: list[Item]) -> bool:
    """Whether kustomize lists the function under `generators:`, where it sends nothing but the functionConfig."""
    return (
        len(items) == 1
        and (items[0].kind, items[0].name) == (config.kind, config.name)
        and items[0].annotations.get(LOCAL_CONFIG) == "true"
    )
