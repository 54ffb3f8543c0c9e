"""StatefulSet (apps/v1): one leaf, only where somebody asks for a gang.

Source: `apps/v1` of Kubernetes 1.35 to 1.37, KEP-6277.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group
from krmfn.sources.deployment import note_steps, read_replicas
from krmfn.sources.manifest import Manifest

_POLICY: Path = ("spec", "podManagementPolicy")


def read_statefulset(manifest: Manifest) -> Group | None:
    """The tree of a StatefulSet. With OrderedReady a second pod is made when the first is ready: no gang of two."""
    leaf = read_replicas(manifest)
    if leaf and leaf.pods > 1 and manifest.text(_POLICY, "OrderedReady") == "OrderedReady":
        message = (
            f"the {leaf.pods} pods are created one after the other (OrderedReady), so the gang is never complete "
            "and no pod is ever scheduled"
        )
        hint = "Set podManagementPolicy: Parallel."
        if manifest.decline("ordered-start-deadlock", _POLICY, message, hint, "Parallel"):
            return None
    if leaf:
        hint = "Set updateStrategy.type: OnDelete and delete all pods after a change, or naming: Stable."
        note_steps(manifest, leaf.min_count, ("spec", "updateStrategy"), hint)
    return leaf
