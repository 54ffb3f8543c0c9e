"""`krmfn init`: makes a folder a kustomization that runs the function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.configuration import Configurations
from krmfn.cli.options import KUBERNETES, QUIET, Argument, Option, UsageError, spell_command
from krmfn.releases.release import find_release, newest_release
from krmfn.reports import channels
from krmfn.workspace.kustomization import NotPossible, plan_init
from krmfn.workspace.replacing import lock, replace
from krmfn.workspace.writing import spell_diff

SUMMARY = "Writes the function's configuration and the name references, and lists both in kustomization.yaml."
ARGUMENTS = Argument("[DIR]", "The folder of the kustomization. [default: the current one]", 0, 1)
EXAMPLES = """\
# Let kustomize run krmfn when it builds an overlay.
krmfn init overlays/prod
kustomize build --enable-alpha-plugins --enable-exec overlays/prod
"""
OPTIONS = (
    KUBERNETES,
    Option(
        ("--no-function",),
        "Write only the name references: for rendered manifests that Flux or an outer kustomization renames.",
        False,
        flag=True,
    ),
    Option(("--diff",), "Write nothing; show what would be written.", False, flag=True),
    QUIET,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes the files that differ. Raises UsageError where the folder cannot be prepared."""
    folder = words[0] if words else "."
    with lock([folder], streams.say):
        return _write(folder, options)


def _write(folder: str, options: Mapping[str, Any]) -> int:
    release = find_release(options["kubernetes"]) if options["kubernetes"] else newest_release()
    Configurations({}).find_rulings(None, folder)  # whose kinds have name references, too
    try:
        planned = plan_init(folder, release.name, not options["no_function"])
    except NotPossible as reason:
        raise UsageError(str(reason)) from None
    changes = [change for change in planned if change.old != change.new]
    if options["diff"]:
        streams.write(channels.lines(spell_diff(changes)))
        return 0
    replace(changes)
    if not options["quiet"]:
        for path, old, new in planned:
            state = "unchanged" if old == new else "wrote" if old is None else "updated"
            streams.tell(channels.line(f"{state} {os.path.normpath(path)}") + "\n")
        if not options["no_function"]:
            command = spell_command("kustomize build --enable-alpha-plugins --enable-exec", [folder])
            streams.tell(channels.line(f"next: {command}") + "\n")
    return 0
