"""Deployment, StatefulSet and LeaderWorkerSet: what their rollouts do to a gang, and when workers start.

All groups of a LeaderWorkerSet share the templates, so that a gang per group needs the link bridge when there are
several. Source: `apps/v1` of Kubernetes 1.35 to 1.37, KEP-6276, KEP-6277; kubernetes-sigs/lws
`api/leaderworkerset/v1/leaderworkerset_types.go`, KEP-666.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.exclusive import LEADER_WORKER_SET
from krmfn.model.podnumber import add_labels
from krmfn.model.rollouts import ROLLOUTS
from krmfn.model.tree import Composite, Group, Leaf, PodTemplate, leaves
from krmfn.sources.interpreter import read_roles
from krmfn.sources.manifest import Manifest

_STRATEGY: Path = ("spec", "strategy", "type")
_POLICY: Path = ("spec", "podManagementPolicy")


def read_deployment(manifest: Manifest) -> Group | None:
    """The tree of a Deployment. Old and new pods of a rollout share the gang, which a note says."""
    leaf = read_roles(manifest)
    if not isinstance(leaf, Leaf) or manifest.counting:
        return leaf
    strategy = manifest.text(_STRATEGY, "RollingUpdate")
    if manifest.options.naming == "Stable":
        manifest.tell("rollout-shares-gang", _STRATEGY, "terminating" if strategy == "Recreate" else "rolling")
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
    at_once = ROLLOUTS[manifest.ref.group_kind](manifest.value)
    if at_once is not None and at_once < (needed or 1):
        manifest.tell("revision-in-steps", path, needed=needed, at_once=at_once, hint=hint)


_SPEC: Path = ("spec", "leaderWorkerTemplate")
_LEADER: Path = (*_SPEC, "leaderTemplate")
_WORKER: Path = (*_SPEC, "workerTemplate")
_REPLICAS: Path = ("spec", "replicas")
_SIZE: Path = (*_SPEC, "size")
_STARTUP: Path = ("spec", "startupPolicy")
_EXCLUSIVE: Path = ("metadata", "annotations", LEADER_WORKER_SET)
#: On leaders since v0.3.0 by the webhook, on workers by the controller.
_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
#: The leader is number 0.
_NUMBER = "leaderworkerset.sigs.k8s.io/worker-index"


def read_leaderworkerset(manifest: Manifest) -> Group | None:
    """The tree of a LeaderWorkerSet: one gang over all of its groups, unasked only when there is a single group."""
    replicas, size = manifest.count(_REPLICAS, 1, least=0), manifest.count(_SIZE, 1, least=1)
    if manifest.refused or not manifest.fits(replicas * size, _REPLICAS):
        return None
    if replicas == 0:
        manifest.note("group-without-pods", _REPLICAS, "replicas is 0: no pods, so no group")
        return None
    options = manifest.options
    apart = (options.granularity == "Replica" or bool(options.slices)) and not manifest.counting
    if replicas > 1 and not apart:
        if manifest.options.requested:
            manifest.tell("rollout-shares-gang", _REPLICAS, "replicas", replicas=replicas)
        elif manifest.decline("gang-on-request", _REPLICAS, "replicas", replicas=replicas):
            return None
    late = not manifest.counting and (_starts_ready(manifest) or manifest.get(_EXCLUSIVE) is not None)
    group = _read_late_leader(manifest, replicas, size) if late else _read(manifest, replicas, size)
    if group is None:
        return None
    if not apart:
        pods = sum(leaf.min_count or 0 for leaf in leaves(group))
        hint = "Set maxUnavailable: 100%, granularity: Replica, or naming: Stable."
        note_steps(manifest, pods, ("spec", "rolloutStrategy"), hint)
        return group
    every = leaves(group)  # leader and workers of one replica start together
    least = sum(leaf.min_count or 0 for leaf in every)
    templates = tuple(each for leaf in every for each in leaf.templates)
    return every[0]._replace(name=group.name, templates=templates, min_count=least)


def _read(manifest: Manifest, replicas: int, size: int) -> Group | None:
    """Leader and workers together. Without a template of its own the leader is made from the workers'."""
    if manifest.get(_LEADER) is None:
        template = manifest.template(_WORKER, replicas * size, _REPLICAS)
        if template is None:
            return None
        leaf = manifest.leaf("leaderworkerset", template, template.pods)
        return leaf._replace(replicas=replicas, by=_INDEX, number=add_labels((_INDEX, replicas), (_NUMBER, size)))
    leader = _read_leaf(manifest, "leader", _LEADER, replicas, size)
    workers = _read_leaf(manifest, "workers", _WORKER, replicas * (size - 1), size) if size > 1 else None
    if leader is None or (workers is None and size > 1):
        return None
    found = (leader, workers) if workers else (leader,)
    return Composite("leaderworkerset", found, len(found))


def _read_late_leader(manifest: Manifest, replicas: int, size: int) -> Group | None:
    """Workers that are made when the leader is ready, or has a node: a gang of them alone."""
    path, state = (_STARTUP, "ready") if _starts_ready(manifest) else (_EXCLUSIVE, "on a node (exclusive placement)")
    if size == 1:
        manifest.note("group-without-pods", _SIZE, "size is 1: the leader has no workers, so no gang is needed")
        return None
    if manifest.get(_LEADER) is None:
        other = "set startupPolicy: LeaderCreated" if path == _STARTUP else "remove the annotation"
        manifest.tell("ordered-start-deadlock", path, "leader", state=state, other=other)
        return None
    manifest.tell("ordered-start", path, "workers", state=state)
    return _read_leaf(manifest, "workers", _WORKER, replicas * (size - 1))


def _read_leaf(manifest: Manifest, name: str, path: Path, pods: int, size: int = 0) -> Leaf | None:
    """A leaf of a template. Its pods have numbers with those of the other template, among `size` pods of a group."""
    template: PodTemplate | None = manifest.template(path, pods, _REPLICAS)
    if template is None:
        return None
    replicas = manifest.count(_REPLICAS, 1)
    leaf = manifest.leaf(name, template, pods)._replace(replicas=replicas, by=_INDEX)
    return leaf._replace(number=add_labels((_INDEX, replicas), (_NUMBER, size))) if size else leaf


def _starts_ready(manifest: Manifest) -> bool:
    return manifest.text(_STARTUP, "LeaderCreated") == "LeaderReady"
