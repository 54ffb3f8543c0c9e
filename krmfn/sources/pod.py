"""Pod (v1): a leaf of one. Several Pods that share krmfn.dev/gang-group are a gang.

Source: `core/v1` of Kubernetes 1.35 to 1.37.
"""

from __future__ import annotations

from krmfn.model.tree import Group
from krmfn.sources.manifest import Manifest


def read_pod(manifest: Manifest) -> Group | None:
    """The tree of a Pod, only where somebody asks for a gang. The manifest itself is the pod template."""
    if not manifest.options.requested:
        message = "a single Pod needs no gang"
        hint = "Set the same krmfn.dev/gang-group on Pods that belong together."
        if manifest.decline("gang-on-request", ("spec",), message, hint):
            return None
    template = manifest.template((), 1, ("spec",))
    return manifest.leaf("pod", template, 1) if template else None
