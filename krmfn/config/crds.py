"""Which installed CRDs keep the field that links a pod template to its group: facts that sources and checks share.

Pod templates inside a CRD are pruned by its schema, which is generated from some version of k8s.io/api.
Source: the CRDs of each project, read at their tags (KubeRay v1.3.0 to v1.7.0).
"""

from __future__ import annotations

from collections.abc import Mapping

#: The first version of each project whose CRDs keep schedulingGroup, by API group; empty: none is known.
KEEPERS: Mapping[str, str] = {
    "batch.volcano.sh": "Volcano 1.16",
    "jobset.x-k8s.io": "JobSet v0.12.0",
    "kubeflow.org": "training operator v1.9.4",
    "leaderworkerset.x-k8s.io": "LeaderWorkerSet v0.9.0",
    "sparkoperator.k8s.io": "",
    "trainer.kubeflow.org": "Kubeflow Trainer v2.2.1",
}


def kuberay_keeps(version: tuple[int, int], field: str) -> bool:
    """Whether the CRDs of KubeRay `version` keep `field` in pod templates."""
    return version == (1, 6) if field == "workloadRef" else version >= (1, 7)
