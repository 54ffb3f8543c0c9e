"""Deployment and StatefulSet (apps/v1): what their rollouts do to a gang. Their files say the rest.

Source: `apps/v1` of Kubernetes 1.35 to 1.37, KEP-6276, KEP-6277.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.rollouts import ROLLOUTS
from krmfn.model.tree import Group, Leaf
from krmfn.sources.interpreter import read_roles
from krmfn.sources.manifest import Manifest

_STRATEGY: Path = ("spec", "strategy", "type")
_POLICY: Path = ("spec", "podManagementPolicy")


def read_deployment(manifest: Manifest) -> Group | None:
    """The tree of a Deployment. Old and new pods of a rollout share the gang, which a note says."""
    leaf = read_roles(manifest)
    if not isinstance(leaf, Leaf):
        return None
    if manifest.counting:
        return leaf
    strategy = manifest.text(_STRATEGY, "RollingUpdate")
    if strategy != "Recreate" and manifest.options.naming == "Stable":
        manifest.tell("rollout-shares-gang", _STRATEGY, "rolling")
    elif manifest.options.naming == "Stable":
        manifest.tell("rollout-shares-gang", _STRATEGY, "terminating")
    note_steps(manifest, leaf.min_count, _STRATEGY, "Set strategy.type: Recreate, or maxSurge: 100%.")
    return leaf


def read_statefulset(manifest: Manifest) -> Group | None:
    """The tree of a StatefulSet. With OrderedReady a second pod is made when the first is ready: no gang of two."""
    leaf = read_roles(manifest)
    if not isinstance(leaf, Leaf):
        return None
    ordered = leaf.pods > 1 and manifest.text(_POLICY, "OrderedReady") == "OrderedReady"
    if ordered and manifest.decline("ordered-start-deadlock", _POLICY, "pods", proposed="Parallel", pods=leaf.pods):
        return None
    hint = "Set updateStrategy.type: OnDelete and delete all pods after a change, or naming: Stable."
    note_steps(manifest, leaf.min_count, ("spec", "updateStrategy"), hint)
    return leaf._replace(number="") if manifest.count(("spec", "ordinals", "start"), 0) else leaf


def note_steps(manifest: Manifest, needed: int | None, path: Path, hint: str) -> None:
    """Say where a rolling update creates fewer pods at once than the group of their revision waits for."""
    if manifest.counting or manifest.options.naming != "Revisioned":
        return
    at_once = ROLLOUTS[manifest.ref.group, manifest.ref.kind](manifest.value)
    if at_once is not None and at_once < (needed or 1):
        manifest.tell("revision-in-steps", path, needed=needed, at_once=at_once, hint=hint)
