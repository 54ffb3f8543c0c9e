"""MPIJob (kubeflow.org/v2beta1, mpi-operator): launcher and workers, linked when their pods are created.

The CRD drops the link, so without the bridge there is no gang. The operator keeps annotations of the templates.
Source: kubeflow/mpi-operator v0.6.0 `pkg/apis/kubeflow/v2beta1`, `pkg/controller/mpi_job_controller.go`.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.tree import Composite, Group, Leaf
from krmfn.sources.manifest import Manifest
from krmfn.sources.trainingoperator import read_role

_ROLES: Path = ("spec", "mpiReplicaSpecs")
_CREATION: Path = ("spec", "launcherCreationPolicy")


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
    workers = _read_role(manifest, "Worker", 0)
    launcher = _read_role(manifest, "Launcher", 1)
    if manifest.text(_CREATION, "AtStartup") == "WaitForWorkersReady" and not manifest.counting:
        manifest.note(
            "ordered-start", _CREATION, "the launcher is created when the workers are ready: it is not in the gang"
        )
        return workers
    leaves = tuple(leaf for leaf in (launcher, workers) if leaf)
    if not leaves or not manifest.fits(sum(leaf.pods for leaf in leaves), _ROLES):
        return None
    return Composite("mpijob", leaves, len(leaves))


def _read_role(manifest: Manifest, role: str, default: int) -> Leaf | None:
    path = (*_ROLES, role)
    if manifest.get(path) is None:
        return None
    template = read_role(manifest, path, default)
    return manifest.leaf(role.lower(), template, template.pods)._replace(head=role == "Launcher") if template else None
