"""`krmfn init [DIR]`: makes a folder a kustomization that runs the function."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.options import KUBERNETES, QUIET, RELEASES, Argument, Option, UsageError
from krmfn.krm import Unreadable
from krmfn.kustomization import NotPossible, plan_init

SUMMARY = "Makes a folder a kustomization that runs the function. Keeps the comments of the kustomization.yaml there."
ARGUMENTS = Argument("[DIR]", "The folder. [default: the working directory]", 0, 1)
NO_FUNCTION = Option(
    ("--no-function",),
    "Only the name references: for rendered manifests that Flux or an outer kustomization renames.",
    False,
    flag=True,
)
OPTIONS = (KUBERNETES, NO_FUNCTION, QUIET)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes the files and says which. Raises UsageError for a folder that cannot be prepared."""
    folder = words[0] if words else "."
    try:
        plan = plan_init(folder, options["kubernetes"] or RELEASES[-1], not options["no_function"])
    except (NotPossible, Unreadable) as reason:
        raise UsageError(str(reason)) from None
    for file in plan:
        path = os.path.normpath(file.path)
        state = "unchanged" if not file.changed else "written" if file.old is None else "changed"
        if file.changed:
            with open(path, "wb") as stream:
                stream.write(file.data)
        if not options["quiet"]:
            sys.stdout.write(f"{state:9} {path}\n")
    if not options["quiet"] and not options["no_function"]:
        sys.stdout.write(f"next: kustomize build --enable-alpha-plugins --enable-exec {folder}\n")
    return 0
