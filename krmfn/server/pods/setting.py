"""What the rules of a pod's parts need to know besides the part that they look at.

Source: PodValidationOptions of k8s.io/kubernetes/pkg/apis/core/validation and pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.values import Value
from krmfn.server.schema import Gates

#: The lists of containers in a pod's spec, in the order in which the server visits them.
LISTS = ("initContainers", "containers", "ephemeralContainers")

#: The annotation that names a container's AppArmor profile, up to the container's name.
ARMOR = "container.apparmor.security.beta.kubernetes.io/"


class Setting:
    """One pod's spec under its rules. `allowed` names what an update may keep because the stored pod has it."""

    def __init__(
        self, spec: Value, gates: Gates, meta: Value | None = None, allowed: frozenset[str] = frozenset()
    ) -> None:
        self.gates = gates
        self.allowed = allowed
        #: Whether this is a pod itself, and no template; only a pod has a name.
        self.is_pod = meta is not None
        self.name: str = meta.get("name", "") if meta else ""
        self.annotations: Value = meta.get("annotations", {}) if meta else {}
        self.grace: int | None = spec.get("terminationGracePeriodSeconds")
        self.os: str | None = spec["os"].get("name", "") if "os" in spec else None
        self.claims = frozenset(claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name"))
        #: The volumes that are right, by name: mounts look for theirs among these.
        self.volumes: dict[str, Value] = {}
        #: What rows of parts ask of the whole pod.
        self.facts = {
            "users-of-host": spec.get("hostUsers") is not False,
            "restarts-never": spec.get("restartPolicy") == "Never",
        }

    def is_on(self, gate: str) -> bool:
        """Whether the gate is on, or what it brings is in use already; also of what a release does without a gate."""
        return self.gates.get(gate, False) or gate in self.allowed or self.facts.get(gate, False)


def visit_containers(spec: Value, path: Path) -> Iterator[tuple[Value, Path]]:
    """Every container with its path."""
    for name in LISTS:
        for index, container in enumerate(spec.get(name, ())):
            yield container, (*path, name, index)
