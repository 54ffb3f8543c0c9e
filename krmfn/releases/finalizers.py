"""The finalizers that a release puts on groups when they are created: a controller removes them when nothing needs the
group any more. Read from the schemas, where they are the argument of the admission plugin."""

from __future__ import annotations

from krmfn.releases import schemastore
from krmfn.releases.release import Release


def find_finalizer(kind: str, release: Release) -> str:
    """The finalizer of a kind of scheduling.k8s.io, "" where the release gives it none, or does not serve the kind."""
    if kind not in release.kinds:
        return ""
    admission = schemastore.load(f"kubernetes/{release}/{kind.lower()}.json").get("x-kubernetes-admission", {})
    finalizer: str = admission.get("mutating", {}).get("admission.add_finalizer", "")
    return finalizer


def list_finalizers(release: Release) -> frozenset[str]:
    """All finalizers that the release puts on groups."""
    return frozenset(filter(None, (find_finalizer(kind, release) for kind in release.kinds)))
