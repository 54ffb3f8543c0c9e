"""Kinds with pods in roles: a map from the name of a role to its pod template and `replicas` (Kubeflow)."""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import PodTemplate
from krmfn.sources.manifest import Manifest


def read_role(manifest: Manifest, path: Path, default: int) -> PodTemplate | None:
    """The pod template of the role at `path`, None where it has no pods; `default` replicas where none are written."""
    count_path = (*path, "replicas")
    replicas = manifest.count(count_path, default)
    if replicas < 0:
        manifest.note("count-negative", count_path, f"replicas is {replicas}", "Use 0 or more.")
        return None
    template = manifest.template((*path, "template"), replicas, count_path)
    if template and replicas == 0:
        manifest.note("group-without-pods", count_path, f"role {path[-1]} has no pods: it is left out of the gang")
        return None
    return template
