"""PyTorchJob and its siblings (kubeflow.org/v1, training-operator): a composite of their roles.

Source: kubeflow/training-operator v1.9.4 `pkg/apis/kubeflow.org/v1`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Composite, Group, Leaf, PodTemplate
from krmfn.sources.manifest import Manifest


def read_trainingjob(manifest: Manifest) -> Group | None:
    """The tree of a job of the training operator: a leaf per role, called after it in lower case."""
    roles: Path = tuple(manifest.kind.templates[0].path.split("/")[:2])
    if manifest.is_elsewhere() or not manifest.require(roles):
        return None
    leaves = [leaf for role in manifest.get(roles) if (leaf := _read_role(manifest, (*roles, role), role))]
    if not leaves or not manifest.fits(sum(leaf.pods for leaf in leaves), roles):
        return None
    return Composite(manifest.ref.kind.lower(), tuple(leaves), len(leaves))


def _read_role(manifest: Manifest, path: Path, role: str) -> Leaf | None:
    template = read_role(manifest, path, 1)
    if template is None:
        return None
    replicas = template.pods
    minimum = ("spec", "elasticPolicy", "minReplicas")
    if role == "Worker" and manifest.get(("spec", "elasticPolicy")) is not None:
        # An elastic job runs with fewer workers, so only its lower bound can be waited for.
        bound = manifest.count(minimum, replicas)
        if bound <= 1 < replicas and not manifest.counting:
            message = "minReplicas is 1, so the gang is complete with one worker, and each pod starts alone"
            hint = "Set minReplicas to the number of workers without which the job makes no progress."
            manifest.note("elastic-minimum", minimum, message, hint)
        return Leaf(role.lower(), (template,), max(0, min(bound, replicas)))
    return manifest.leaf(role.lower(), template, replicas)


def read_role(manifest: Manifest, path: Path, default: int) -> PodTemplate | None:
    """The pod template of the role at `path`, None where it has no pods; `default` replicas where none are written."""
    count_path = (*path, "replicas")
    replicas = manifest.count(count_path, default, least=0)
    if replicas < 0:
        return None
    template = manifest.template((*path, "template"), replicas, count_path)
    if template and replicas == 0:
        manifest.note("group-without-pods", count_path, f"role {path[-1]} has no pods: it is left out of the gang")
        return None
    return template
