"""PyTorchJob and its siblings (kubeflow.org/v1, training-operator): a composite of their roles. MPIJob
(kubeflow.org/v2beta1, mpi-operator): launcher and workers, linked when their pods are created.

The CRD of MPIJob drops the link, so without the bridge there is no gang. The operator keeps annotations of the
templates. Source: kubeflow/training-operator v1.9.4 `pkg/apis/kubeflow.org/v1`, kubeflow/mpi-operator v0.6.0
`pkg/apis/kubeflow/v2beta1`, `pkg/controller/mpi_job_controller.go`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Composite, Group, Leaf, PodTemplate
from krmfn.sources.manifest import Manifest

_ROLES: Path = ("spec", "mpiReplicaSpecs")
_CREATION: Path = ("spec", "launcherCreationPolicy")


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
    template = _read_template(manifest, path, 1)
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


def _read_template(manifest: Manifest, path: Path, default: int) -> PodTemplate | None:
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


def read_mpijob(manifest: Manifest) -> Group | None:
    """Launcher and workers; the workers alone where the launcher is created when they are ready."""
    if not manifest.drops_link:
        manifest.pass_over("the older API kubeflow.org/v1 is not supported", "Use kubeflow.org/v2beta1.")
        return None
    if not (manifest.bridged or manifest.counting):
        hint = "Set link: Auto and apply the output of krmfn bridge, or use the gang scheduling of the operator."
        manifest.pass_over("the CRD of mpi-operator drops the link from pod templates", hint)
        return None
    if manifest.is_elsewhere() or not manifest.require(_ROLES):
        return None
    workers = _read_mpi_role(manifest, "Worker", 0)
    launcher = _read_mpi_role(manifest, "Launcher", 1)
    if manifest.text(_CREATION, "AtStartup") == "WaitForWorkersReady" and not manifest.counting:
        manifest.note(
            "ordered-start", _CREATION, "the launcher is created when the workers are ready: it is not in the gang"
        )
        return workers
    leaves = tuple(leaf for leaf in (launcher, workers) if leaf)
    if not leaves or not manifest.fits(sum(leaf.pods for leaf in leaves), _ROLES):
        return None
    return Composite("mpijob", leaves, len(leaves))


def _read_mpi_role(manifest: Manifest, role: str, default: int) -> Leaf | None:
    path = (*_ROLES, role)
    if manifest.get(path) is None:
        return None
    template = _read_template(manifest, path, default)
    return manifest.leaf(role.lower(), template, template.pods)._replace(head=role == "Launcher") if template else None
