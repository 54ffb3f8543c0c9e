"""Kinds of pods that no group in Git can be linked to: the reason in their row is told, nothing is generated."""

from __future__ import annotations

from krmfn.model.kinds import KINDS
from krmfn.model.tree import Group
from krmfn.sources.manifest import Manifest


def explain_foreign(manifest: Manifest) -> Group | None:
    """Leave the reason as a note."""
    row = KINDS[manifest.ref.group, manifest.ref.kind]
    rule = "kind-not-supported" if manifest.options.requested else "kind-passed-over"
    manifest.note(rule, ("kind",), f"nothing is generated for a {manifest.ref.kind}: {row.reason}", row.hint)
    return None
