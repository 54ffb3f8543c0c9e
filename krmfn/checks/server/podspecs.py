"""Whether two pod specs are the same to the server: compared after its defaults.

The static defaults are data (`default` in the schema of pods); here are those that depend on other fields. Run only
when two specs differ as written. Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go.
"""

from __future__ import annotations

from typing import Any

from krmfn.checks.server.schema import Type
from krmfn.checks.server.strategy import copy_value, fill_defaults

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def default_pod_spec(of: Type, spec: dict[str, Any], of_pod: bool = False) -> dict[str, Any]:
    """A copy of the spec with everything filled in. `of_pod` adds what only pods get, not templates."""
    filled: dict[str, Any] = copy_value(spec)
    account = filled.pop("serviceAccount", "")
    if account:
        filled.setdefault("serviceAccountName", account)
    fill_defaults(of, filled)
    for name in _CONTAINERS:
        for container in filled.get(name, ()):
            container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    for volume in filled.get("volumes", ()):
        if not any(key != "name" for key in volume):
            volume["emptyDir"] = {}
        if "image" in volume:
            volume["image"].setdefault("pullPolicy", _pull_policy(volume["image"].get("reference", "")))
    if of_pod:
        _default_pod(filled)
    return filled


def _default_pod(spec: dict[str, Any]) -> None:
    spec.setdefault("enableServiceLinks", True)
    if spec.get("terminationGracePeriodSeconds", 30) < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for name in _CONTAINERS[:2]:
        for container in spec.get(name, ()):
            limits = container.get("resources", {}).get("limits")
            if limits:
                requests = container["resources"].get("requests", {})
                container["resources"]["requests"] = {**limits, **requests}
            if spec.get("hostNetwork"):
                for port in container.get("ports", ()):
                    port.setdefault("hostPort", port.get("containerPort", 0))


def _pull_policy(image: str) -> str:
    """Always for `latest` and for no tag, else IfNotPresent."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") and image else "IfNotPresent" if image else "Always"


def differ(of: Type, new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether two specs of pod templates differ after defaults."""
    return new != old and default_pod_spec(of, new) != default_pod_spec(of, old)
