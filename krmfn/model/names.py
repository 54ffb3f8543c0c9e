"""Names of generated objects and templates: how they are made, cut and told apart. Knows nothing about manifests.

Source of the limits: object names are DNS subdomains of at most 253 bytes (`long`), template names DNS labels of at
most 63 (`short`) in every release of scheduling.k8s.io.
"""

from __future__ import annotations

import re

NAME_LIMIT = 253
LABEL_LIMIT = 63
_DIGEST = 8
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def digest(text: str) -> str:
    """Eight hexadecimal digits that stand for `text`; always the same for the same text."""
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]


def shorten(name: str, limit: int = NAME_LIMIT) -> str:
    """`name` itself, or its beginning and a digest of the whole where it has more than `limit` bytes.

    >>> shorten("a" * 70, LABEL_LIMIT) == "a" * 54 + "-" + digest("a" * 70)
    True
    """
    if len(name) <= limit:
        return name
    return name[: limit - _DIGEST - 1].rstrip("-.") + "-" + digest(name)


def slug(text: str) -> str:
    """`text` as a DNS label: itself if it is one, else what is left of it and a digest, so that two never meet.

    >>> slug("gpu"), slug("GPU_a").startswith("gpu-a-"), slug("GPU_a") == slug("gpu-a")
    ('gpu', True, False)
    """
    if len(text) <= LABEL_LIMIT and re.fullmatch(_LABEL, text):
        return text
    kept = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[: LABEL_LIMIT - _DIGEST - 1].rstrip("-")
    return f"{kept or 'x'}-{digest(text)}"


def name_gang(kind: str, name: str) -> str:
    """The name of the Workload and of the root group of one resource: `raycluster-demo`.

    Also the first part of the names of all groups below. A name that the API server would refuse is slugged.
    """
    labels = [slug(label) for label in name.split(".")]
    return shorten(f"{slug(kind.lower())}-{'.'.join(labels)}")


def name_group(gang: str, template: str) -> str:
    """The name of a group below the root: `raycluster-demo-workers`."""
    return shorten(f"{gang}-{template}")


def operator_names(kind: str, name: str, manages: str) -> frozenset[tuple[str, str, str]]:
    """The (API group, kind, name) that an operator takes for a resource of Ray, where `manages` says that it does.

    `manages` is `kuberay.manages` of the configuration. Objects of RayJob and RayService get random names, except
    Volcano's PodGroup of a RayJob. Source: KubeRay 1.7.0, controllers/ray/batchscheduler.
    """
    if manages == "Volcano" and kind in {"RayCluster", "RayJob"}:
        return frozenset({("scheduling.volcano.sh", "PodGroup", f"ray-{name}-pg")})
    if kind == "RayCluster" and manages == "KubernetesWAS":
        group = "scheduling.k8s.io"
        return frozenset({(group, "Workload", name), (group, "PodGroup", f"{name}-cluster")})
    if kind == "RayCluster" and manages == "SchedulerPlugins":
        return frozenset({("scheduling.x-k8s.io", "PodGroup", name)})
    return frozenset()
