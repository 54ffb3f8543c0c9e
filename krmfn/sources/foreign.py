"""Kinds of pods that no group in Git can be linked to: the reason in their row is told, nothing is generated."""

from __future__ import annotations

from krmfn.model.tree import Group
from krmfn.sources.manifest import Manifest


def explain_foreign(manifest: Manifest) -> Group | None:
    """Leave the reason as a note."""
    manifest.pass_over(manifest.kind.reason, manifest.kind.hint)
    return None
