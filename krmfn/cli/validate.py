"""`krmfn validate`: what the API server would refuse, what would never be scheduled, what operators would not do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.configuration import load_settings
from krmfn.cli.findings import exit_status, report
from krmfn.cli.options import COMMON, FAIL_ON, OUTPUT, PATHS, STAGES, UPDATE, Option, UsageError
from krmfn.cli.reading import read
from krmfn.workspace.files import GIT, is_path, read_paths, read_revision
from krmfn.workspace.manifests import Manifests

SUMMARY = "Checks manifests offline: as the API server, the scheduler and the operators would, on create and on update."
ARGUMENTS = PATHS
OPTIONS = (
    Option(("--against",), "An older state: adds the rules for updates (immutable fields).", metavar="PATH|git:REV"),
    UPDATE,
    Option(("--stage",), "Only these stages.", choices=STAGES, joined=True, metavar="STAGE,..."),
    FAIL_ON,
    Option(("--fix",), "Make the edits that findings propose.", False, flag=True),
    Option(("--diff",), "Show the edits of --fix; without --fix, make none.", False, flag=True),
    OUTPUT,
    *COMMON,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Checks all manifests together, because objects refer to each other. Raises UsageError and InputMissing."""
    if not options["fix"]:
        return _run(words, options)
    from krmfn.workspace.replacing import lock

    with lock([word for word in words if is_path(word)], streams.say):
        return _run(words, options)


def _run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    new = read(read_paths(words), options)
    settings = load_settings(options, new.items, as_cluster=True)
    fail_on = options["fail_on"] or settings.fail_on
    old = _load_old(options["against"], words, options) if options["against"] else None
    stages = options["stage"].split(",") if options["stage"] else STAGES
    from krmfn.pipeline import find_all, to_results

    findings = list(find_all(new.items, settings, old.items if old else None, stages, options["update"]))
    if options["fix"] or options["diff"]:
        from krmfn.cli.fixing import fix

        findings = fix(new, findings, options)
    found = to_results(findings, edits=options["output"] == "sarif")
    results = [*new.problems, *(old.problems if old else ()), *found]
    report(results, options, [(item.ref, item.file) for item in new.items], fail_on)
    if not new.items and not options["quiet"]:
        streams.say(f"no Kubernetes objects in {' '.join(words)}")
    return exit_status(results, fail_on, new.unreadable or bool(old and old.unreadable))


def _load_old(against: str, words: Sequence[str], options: Mapping[str, Any]) -> Manifests:
    if not against.startswith(GIT):
        return read(read_paths([against]), options)
    if words == ["-"] and ":" not in against.removeprefix(GIT):
        raise UsageError(f"--against {against}: say which path of the revision, {against}:PATH, when stdin is checked")
    return read(read_revision(against, words), options)
