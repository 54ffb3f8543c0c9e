"""Trees, owners and settings that the tests of targets share. Made by hand: targets know no source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.config import Settings, read_settings
from krmfn.krm.results import ResourceRef
from krmfn.model.names import name_gang
from krmfn.model.tree import Composite, Gang, Group, Leaf, PodTemplate
from krmfn.releases.release import find_release

RELEASES = ("1.35", "1.36", "1.37")


def settings(release: str = "1.37", scheduler: str = "Kubernetes", gates: Mapping[str, bool] | None = None) -> Settings:
    """The defaults, for a release; plain strings are handier in tables than the literals of the record."""
    changes: dict[str, Any] = {"release": find_release(release), "scheduler": scheduler, "feature_gates": gates or {}}
    return read_settings(None)._replace(**changes)


def head(**fields: Any) -> Leaf:
    template = PodTemplate(0, ("spec", "headGroupSpec", "template"), 1, (), **fields)
    return Leaf("head", (template,), 1, head=True)


def workers(index: int, name: str, pods: int, minimum: int | None = -1, **fields: Any) -> Leaf:
    path = ("spec", "workerGroupSpecs", index, "template")
    template = PodTemplate(0, path, pods, ("spec", "workerGroupSpecs", index, "replicas"), **fields)
    return Leaf(name, (template,), pods if minimum == -1 else minimum)


def cluster(*groups: Leaf, first: Leaf | None = None) -> Composite:
    children = (first or head(), *groups)
    return Composite("cluster", children, len(children))


def merged(*groups: Leaf) -> Leaf:
    templates = tuple(template for leaf in (head(), *groups) for template in leaf.templates)
    return Leaf("cluster", templates, sum(template.pods for template in templates))


def job(pods: int, owner: int = 0, name: str = "job", **fields: Any) -> Leaf:
    return Leaf(name, (PodTemplate(owner, ("spec", "template"), pods, ("spec", "parallelism"), **fields),), pods)


def ray(name: str = "demo", namespace: str = "ml") -> ResourceRef:
    return ResourceRef("ray.io/v1", "RayCluster", name, namespace)


def batch(name: str = "train", namespace: str = "ml") -> ResourceRef:
    return ResourceRef("batch/v1", "Job", name, namespace)


def gang(root: Group, *owners: ResourceRef, name: str = "", naming: str = "Stable", values: Any = ()) -> Gang:
    owners = owners or (ray(),)
    first = owners[0]
    return Gang(name or name_gang(first.kind, first.name), first.namespace, owners, root, naming, values)
