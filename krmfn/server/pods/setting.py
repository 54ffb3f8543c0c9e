"""What the rules of a pod's parts need to know besides the part that they look at, and where they report.

Source: PodValidationOptions of k8s.io/kubernetes/pkg/apis/core/validation and pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.values import Value
from krmfn.server import verdict
from krmfn.server.schema import Gates
from krmfn.server.spell import write_json
from krmfn.server.verdict import Out

#: The lists of containers in a pod's spec, in the order in which the server visits them.
LISTS = ("initContainers", "containers", "ephemeralContainers")

#: The annotation that names a container's AppArmor profile, up to the container's name.
ARMOR = "container.apparmor.security.beta.kubernetes.io/"


class Setting:
    """One pod's spec under its rules. `allowed` names what an update may keep because the stored pod has it."""

    def __init__(
        self, spec: Value, gates: Gates, out: Out, meta: Value | None = None, allowed: frozenset[str] = frozenset()
    ) -> None:
        self.gates = gates
        self.out = out
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

    # What is wrong: each reports what the function of verdict with its name makes. Of which rule it is, says who asks.

    def required(self, path: Path, detail: str = "") -> None:
        self.out.append(verdict.required(path, detail))

    def forbidden(self, path: Path, detail: str = "") -> None:
        self.out.append(verdict.forbidden(path, detail))

    def invalid(self, path: Path, value: Any, detail: str) -> None:
        self.out.append(verdict.invalid(path, value, detail))

    def invalid_text(self, path: Path, text: str, detail: str) -> None:
        self.out.append(verdict.invalid_text(path, text, detail))

    def not_supported(self, path: Path, text: str, values: tuple[str, ...]) -> None:
        self.out.append(verdict.not_supported(path, text, values))

    def duplicate(self, path: Path, text: str) -> None:
        self.out.append(verdict.duplicate(path, text))

    def not_found(self, path: Path, text: str, detail: str = "") -> None:
        self.out.append(verdict.not_found(path, text, detail))

    def too_long(self, path: Path, limit: int) -> None:
        self.out.append(verdict.too_long(path, limit))

    def refuse(self, path: Path, value: Any, messages: Collection[str]) -> None:
        """A value that is wrong in each of these ways."""
        self.out.extend(verdict.refuse_text(path, value, messages))

    def check_choice(self, path: Path, value: str, values: tuple[str, ...]) -> None:
        """The value is one of those."""
        if value not in values:
            self.not_supported(path, write_json(value), values)


def visit_containers(spec: Value, path: Path) -> Iterator[tuple[Value, Path]]:
    """Every container with its path."""
    for name in LISTS:
        for index, container in enumerate(spec.get(name, ())):
            yield container, (*path, name, index)
