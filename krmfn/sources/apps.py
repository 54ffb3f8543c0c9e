"""Deployment, StatefulSet and LeaderWorkerSet: the kinds whose start and rollouts no row of a kind can describe.

All groups of a LeaderWorkerSet share the templates, so a gang for each of several needs the link bridge.
Source: `apps/v1` of Kubernetes 1.35 to 1.37, KEP-6276, KEP-6277; kubernetes-sigs/lws
`api/leaderworkerset/v1/leaderworkerset_types.go`, KEP-666.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.exclusive import LEADER_WORKER_SET
from krmfn.model.podnumber import add_labels
from krmfn.model.rollouts import ROLLOUTS
from krmfn.model.tree import Composite, Group, Leaf, leaves
from krmfn.sources.interpreter import read_roles
from krmfn.sources.manifest import Manifest

_STRATEGY: Path = ("spec", "strategy", "type")
_POLICY: Path = ("spec", "podManagementPolicy")
_SPEC: Path = ("spec", "leaderWorkerTemplate")
_LEADER: Path = (*_SPEC, "leaderTemplate")
_WORKER: Path = (*_SPEC, "workerTemplate")
_REPLICAS: Path = ("spec", "replicas")
_SIZE: Path = (*_SPEC, "size")
_STARTUP: Path = ("spec", "startupPolicy")
_EXCLUSIVE: Path = ("metadata", "annotations", LEADER_WORKER_SET)
#: A label of leaders (since v0.3.0, by the webhook) and of workers (by the controller).
_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
#: A label, 0 on the leader.
_NUMBER = "leaderworkerset.sigs.k8s.io/worker-index"


def read_deployment(manifest: Manifest) -> Group | None:
    """The tree of a Deployment. A note says that old and new pods of a rollout share the gang."""
    leaf = read_roles(manifest)
    if not isinstance(leaf, Leaf) or manifest.counting:
        return leaf
    strategy = manifest.text(_STRATEGY, "RollingUpdate")
    if manifest.options.naming == "Stable":
        manifest.tell("rollout-shares-gang", _STRATEGY, "terminating" if strategy == "Recreate" else "rolling")
    _note_steps(manifest, leaf.min_count, _STRATEGY, "Set strategy.type: Recreate, or maxSurge: 100%.")
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
    _note_steps(manifest, leaf.min_count, ("spec", "updateStrategy"), hint)
    return leaf._replace(number="") if manifest.count(("spec", "ordinals", "start"), 0) else leaf


def _note_steps(manifest: Manifest, needed: int | None, path: Path, hint: str) -> None:
    """Say where a rolling update creates fewer pods at once than the group of their revision waits for."""
    if manifest.counting or manifest.options.naming != "Revisioned":
        return
    at_once = ROLLOUTS[manifest.ref.group_kind](manifest.value)
    if at_once is not None and at_once < (needed or 1):
        manifest.tell("revision-in-steps", path, needed=needed, at_once=at_once, hint=hint)


def read_leaderworkerset(manifest: Manifest) -> Group | None:
    """The tree of a LeaderWorkerSet: one gang over all of its groups, or with the granularity Replica that of one.

    A gang over several groups is made on request only.
    """
    replicas, size = manifest.count(_REPLICAS, 1, least=0), manifest.count(_SIZE, 1, least=1)
    if manifest.refused or not manifest.fits(replicas * size, _REPLICAS):
        return None
    if replicas == 0:
        manifest.note("group-without-pods", _REPLICAS, "replicas is 0: no pods, so no group")
        return None
    options = manifest.options
    is_per_group = (options.granularity == "Replica" or bool(options.slices)) and not manifest.counting
    if replicas > 1 and not is_per_group:
        if options.requested:
            manifest.tell("rollout-shares-gang", _REPLICAS, "replicas", replicas=replicas)
        elif manifest.decline("gang-on-request", _REPLICAS, "replicas", replicas=replicas):
            return None
    starts_late = not manifest.counting and (_starts_ready(manifest) or manifest.get(_EXCLUSIVE) is not None)
    group = _read_workers(manifest, replicas, size) if starts_late else _read_all(manifest, replicas, size)
    if group is None:
        return None
    parts = leaves(group)
    min_count = sum(leaf.min_count or 0 for leaf in parts)
    if is_per_group:  # its leader and workers are one group of pods
        templates = tuple(template for leaf in parts for template in leaf.templates)
        return parts[0]._replace(name=group.name, templates=templates, min_count=min_count)
    hint = "Set maxUnavailable: 100%, granularity: Replica, or naming: Stable."
    _note_steps(manifest, min_count, ("spec", "rolloutStrategy"), hint)
    return group


def _read_all(manifest: Manifest, replicas: int, size: int) -> Group | None:
    """Leaders and workers. A leader without a template of its own is made from that of the workers."""
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
    groups = (leader, workers) if workers else (leader,)
    return Composite("leaderworkerset", groups, len(groups))


def _read_workers(manifest: Manifest, replicas: int, size: int) -> Group | None:
    """The workers alone, because they are made only when the leader is ready or has a node."""
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
    """The leaf of a template. With a `size` its pods are numbered together with those of the other template."""
    template = manifest.template(path, pods, _REPLICAS)
    if template is None:
        return None
    replicas = manifest.count(_REPLICAS, 1)
    leaf = manifest.leaf(name, template, pods)._replace(replicas=replicas, by=_INDEX)
    return leaf._replace(number=add_labels((_INDEX, replicas), (_NUMBER, size))) if size else leaf


def _starts_ready(manifest: Manifest) -> bool:
    return manifest.text(_STARTUP, "LeaderCreated") == "LeaderReady"
