"""`krmfn validate`: what the API server would refuse, what would never be scheduled, what operators would not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krmfn.cli import streams
from krmfn.cli.configuration import load_settings, read_facts
from krmfn.cli.findings import exit_status, report
from krmfn.cli.judging import judge
from krmfn.cli.options import (
    BASELINE,
    CLUSTER,
    COMMON,
    EXCLUDE,
    FAIL_ON,
    IGNORE,
    OUTPUT,
    PATHS,
    RENDERING,
    SELECT,
    STAGES,
    UPDATE,
    VERBOSE,
    WRITE_BASELINE,
    Option,
    UsageError,
)
from krmfn.cli.reading import read_worlds
from krmfn.model.wording import count
from krmfn.pipeline import describe_scope, find_all, to_results
from krmfn.workspace.files import GIT, is_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krmfn.krm.results import Result, Severity
    from krmfn.model.findings import Finding
    from krmfn.workspace.worlds import World, Worlds

SUMMARY = (
    "Validates gang scheduling objects offline, as the API server, the scheduler and the operators would treat them."
)
ARGUMENTS = PATHS
OPTIONS = (
    Option(("--against",), "An older state: adds the rules for updates (immutable fields).", metavar="PATH|git:REV"),
    UPDATE,
    Option(
        ("--crds",),
        "CustomResourceDefinitions that are not among the manifests: their resources are judged by them.",
        metavar="PATH",
    ),
    Option(("--stage",), "Only these stages.", choices=STAGES, joined=True, metavar="STAGE,..."),
    SELECT,
    IGNORE,
    EXCLUDE,
    BASELINE,
    WRITE_BASELINE,
    FAIL_ON,
    Option(("--fix",), "Apply the edits that findings propose.", False, flag=True),
    Option(("--diff",), "Show the edits of --fix; without --fix, apply none.", False, flag=True),
    OUTPUT,
    CLUSTER,
    VERBOSE,
    *RENDERING,
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Checks all manifests together, because objects refer to each other. Raises UsageError and InputMissing."""
    options = read_facts(options)
    if not options["fix"]:
        return _run(words, options)
    from krmfn.workspace.replacing import lock

    with lock([word for word in words if is_path(word)], streams.say):
        return _run(words, options)


def _run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    new = read_worlds(words, options, complete=True)
    old = _read_old(options["against"], words, options) if options["against"] else None
    stages = options["stage"].split(",") if options["stage"] else STAGES
    findings: list[tuple[World, list[Finding]]] = []
    fail_on: Severity = options["fail_on"] or "error"
    definitions = _read_definitions(options)
    for world in new.worlds:
        settings = load_settings(options, world, as_cluster=True)._replace(definitions=definitions)
        if not options["fail_on"] and settings.fail_on == "warning":
            fail_on = settings.fail_on
        before = None if old is None else old.match(world, new)
        found = find_all(world.items, settings, before.items if before else None, stages, options["update"])
        findings.append((world, [world.trace(finding) for finding in found]))
    if options["fix"] or options["diff"]:
        from krmfn.cli.fixing import fix

        findings = fix(words, new, findings, options)
    results = [*new.problems, *(old.problems if old else ()), *_spell(findings, options)]
    results = judge(results, options, new.files, new.items)
    if options["baseline"]:
        from krmfn.cli.baseline import handle_baseline

        results = handle_baseline(results, options)
    elif options["write_baseline"]:
        raise UsageError("--write-baseline writes the file of --baseline FILE, which is not given")
    report(
        results,
        options,
        [(item.ref, world.place(item)) for world in new.worlds for item in world.items],
        fail_on,
        _spell_scope(new),
    )
    if not new.items and not new.problems and not options["quiet"]:
        streams.say(f"no Kubernetes objects in {' '.join(words)}")
    if new.items and "server" in stages and options["output"] == "text" and not options["quiet"]:
        scope = describe_scope(new.items, settings)
        if scope:
            streams.say(scope)
    return exit_status(results, fail_on, new.unreadable or bool(old and old.unreadable))


def _spell_scope(found: Worlds) -> str:
    """`12 files, 2 kustomizations, 40 objects`."""
    numbers = {
        "file": len({file.path for file in found.files}),
        "kustomization": sum(bool(world.name) for world in found.worlds),
        "object": len({id(item) for item in found.items}),
    }
    if not numbers["object"]:
        return ""
    return ", ".join(count(number, noun) for noun, number in numbers.items() if number)


def _spell(findings: Sequence[tuple[World, list[Finding]]], options: Mapping[str, Any]) -> list[Result]:
    """The findings of all worlds as results; what is the same in several is one."""
    edits = options["output"] == "sarif"
    if len(findings) == 1 and not findings[0][0].name:
        return list(to_results(findings[0][1], edits))
    from krmfn.workspace.origins import merge

    return merge((world.name, world.settle(result)) for world, found in findings for result in to_results(found, edits))


def _read_definitions(options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if not options["crds"]:
        return []
    read = read_worlds([options["crds"]], {**options, "no_render": True})
    found = [item.value for item in read.items if item.kind == "CustomResourceDefinition"]
    if not found:
        raise UsageError(f"--crds {options['crds']}: no CustomResourceDefinition in it")
    return found


def _read_old(against: str, words: Sequence[str], options: Mapping[str, Any]) -> Worlds:
    if is_path(against) or against == "-":
        return read_worlds([against], options, complete=True)
    if list(words) == ["-"] and ":" not in against.removeprefix(GIT):
        raise UsageError(f"--against {against}: say which path of the revision, {against}:PATH, when stdin is checked")
    if ":" in against.removeprefix(GIT):
        return read_worlds([against], options, complete=True)
    return read_worlds([f"{against}:{word}" for word in words if is_path(word)], options, complete=True)
