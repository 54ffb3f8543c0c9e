"""Which CRDs of KubeRay keep the field that links a pod template to its group; of other kinds their row tells.

Pod templates inside a CRD are pruned by its schema, which is generated from some version of k8s.io/api.
Source: the CRDs of KubeRay, read at the tags v1.3.0 to v1.7.0.
"""

from __future__ import annotations


def kuberay_keeps(version: tuple[int, int], field: str) -> bool:
    """Whether the CRDs of KubeRay `version` keep `field` in pod templates."""
    return version == (1, 6) if field == "workloadRef" else version >= (1, 7)
