"""`validate --fix`: makes the edits that findings propose, and shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.options import UsageError
from krmfn.model.findings import Finding
from krmfn.reconcile.fixes import apply_fixes
from krmfn.reports import channels
from krmfn.workspace.manifests import Manifests
from krmfn.workspace.replacing import replace
from krmfn.workspace.writing import plan_changes, spell_diff


def fix(manifests: Manifests, findings: Sequence[Finding], options: Mapping[str, Any]) -> list[Finding]:
    """Edit the files (with --fix) or show the edits (with --diff); the findings that are left. Raises UsageError."""
    if any(file.path == "-" or file.path.startswith("git:") for file in manifests.files):
        raise UsageError("--fix and --diff need files, not stdin or a revision")
    fixed = apply_fixes(findings)
    changes = plan_changes(manifests.files, (), ())
    if options["diff"]:
        streams.write(channels.diff(spell_diff(changes)))
    if not options["fix"]:
        return list(findings)
    replace(changes)
    for change in changes:
        streams.tell(channels.line(f"fixed {change.path}") + "\n")
    return list(fixed.left)
