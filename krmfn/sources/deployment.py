"""Deployment and ReplicaSet (apps/v1): one leaf, only where somebody asks for a gang.

Source: `apps/v1` of Kubernetes 1.35 to 1.37, KEP-6276.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Group, Leaf
from krmfn.sources.manifest import Manifest

_REPLICAS: Path = ("spec", "replicas")
_STRATEGY: Path = ("spec", "strategy", "type")


def read_deployment(manifest: Manifest) -> Group | None:
    """The tree of a Deployment. Old and new pods of a rollout share the gang, which a note says."""
    leaf = read_replicas(manifest, "deployment")
    if leaf is None:
        return None
    strategy = manifest.text(_STRATEGY, "RollingUpdate")
    if strategy != "Recreate":
        message = "pods of a rolling update join a gang that the old pods fill already: they start one by one"
        hint = "Set strategy.type: Recreate and naming: Revisioned, so that every revision is a gang of its own."
        manifest.note("rollout-shares-gang", _STRATEGY, message, hint)
    elif manifest.options.naming == "Stable":
        message = "old pods still count while they terminate, so the new ones may start in parts"
        manifest.note("rollout-shares-gang", _STRATEGY, message, "Set naming: Revisioned.")
    return leaf


def read_replicaset(manifest: Manifest) -> Group | None:
    """The tree of a ReplicaSet."""
    return read_replicas(manifest, "replicaset")


def read_replicas(manifest: Manifest, name: str) -> Leaf | None:
    """The leaf of a kind with `spec.replicas` (1) and `spec.template`. None unless the gang was asked for."""
    if not manifest.options.requested:
        message = f"pods of a {manifest.ref.kind} serve on their own: no gang unless asked for"
        if manifest.decline("gang-on-request", ("spec",), message, 'Annotate it krmfn.dev/gang: "true" to have one.'):
            return None
    replicas = manifest.count(_REPLICAS, 1)
    if replicas < 0:
        manifest.note("count-negative", _REPLICAS, f"replicas is {replicas}", "Use 0 or more.")
        return None
    template = manifest.template(("spec", "template"), replicas, _REPLICAS)
    if template and replicas == 0:
        manifest.note("group-without-pods", _REPLICAS, "replicas is 0: there are no pods to schedule as a group")
        return None
    return manifest.leaf(name, template, replicas) if template else None
