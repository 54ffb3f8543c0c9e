"""`krmfn init`: makes a folder a kustomization that runs the function."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.options import KUBERNETES, QUIET, RELEASES, Argument, Option, UsageError
from krmfn.kustomization import NotPossible, plan_init
from krmfn.rewriting import Change, spell_diff, write

SUMMARY = "Writes the function's configuration and the name references, and lists both in kustomization.yaml."
ARGUMENTS = Argument(
    "[DIR]", "The folder of the kustomization; by default this one. Its comments and layout stay.", 0, 1
)
OPTIONS = (
    KUBERNETES,
    Option(("--diff",), "Write nothing, show what would be written.", False, flag=True),
    QUIET,
)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes the files that differ. Raises UsageError where the folder cannot be prepared."""
    folder = words[0] if words else "."
    try:
        planned = plan_init(folder, options["kubernetes"] or RELEASES[-1])
    except NotPossible as reason:
        raise UsageError(str(reason)) from None
    changes = [Change(file.path, file.old, file.data) for file in planned if file.changed]
    if options["diff"]:
        sys.stdout.write(spell_diff(changes))
        return 0
    write(changes)
    if not options["quiet"]:
        for path, old, _ in changes:
            sys.stderr.write(f"{'wrote' if old is None else 'updated'} {path}\n")
        where = "" if folder == "." else f" {folder}"
        sys.stderr.write(f"next: kustomize build --enable-alpha-plugins --enable-exec{where or ' .'}\n")
    return 0
