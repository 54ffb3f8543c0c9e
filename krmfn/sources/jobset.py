"""JobSet (jobset.x-k8s.io/v1alpha2): a composite of its replicated jobs.

All Jobs of a replicated job share one pod template, so that a group per Job needs the link bridge.
Source: kubernetes-sigs/jobset `api/jobset/v1alpha2/jobset_types.go`, `pkg/webhooks/jobset_webhook.go`, KEP-969.
"""

from __future__ import annotations

from krmfn.model.exclusive import find_exclusive
from krmfn.model.tree import Composite, Group, Leaf, leaves
from krmfn.sources.interpreter import read_roles
from krmfn.sources.job import is_numbered
from krmfn.sources.manifest import Manifest


def read_jobset(manifest: Manifest) -> Group | None:
    """The tree of a JobSet, by its file; none where exclusive placement keeps its pods from starting together."""
    group = read_roles(manifest)
    if not isinstance(group, Composite) or _follows(manifest, leaves(group)):
        return None
    return group._replace(children=tuple(_check_number(manifest, leaf) for leaf in leaves(group)))


def _check_number(manifest: Manifest, leaf: Leaf) -> Leaf:
    """The leaf, without the number of its pods where the Jobs give them none; JobSets make Indexed Jobs by default."""
    return leaf if is_numbered(manifest, leaf.templates[0].path[:-1], "Indexed") else leaf._replace(number="")


def _follows(manifest: Manifest, every: tuple[Leaf, ...]) -> bool:
    """Whether the other pods of a job are created only after its first has a node, which a gang of them never gets."""
    for leaf in every:
        exclusive = find_exclusive(manifest.value, leaf.templates[0].path) if leaf.pods > leaf.replicas else None
        if exclusive is None or not exclusive.waits:
            continue
        rule = "ordered-start-deadlock" if manifest.options.requested else "ordered-start"
        return manifest.decline(rule, exclusive.path, "exclusive")
    return False
