"""What the rules of a pod's parts need to know besides the part that they look at, and where they report.

Source: PodValidationOptions of k8s.io/kubernetes/pkg/apis/core/validation and pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from krmfn.krm.paths import Path
from krmfn.server import verdict
from krmfn.server.spell import write_json
from krmfn.server.verdict import Cause

Object: TypeAlias = "Mapping[str, Any]"
#: What is wrong with a text.
Form: TypeAlias = "Callable[[str], Collection[str]]"

#: The lists of containers in a pod's spec, in the order in which the server visits them.
LISTS = ("initContainers", "containers", "ephemeralContainers")

PULL_POLICIES = ("Always", "IfNotPresent", "Never")

#: The annotation that names a container's AppArmor profile, up to the container's name.
ARMOR = "container.apparmor.security.beta.kubernetes.io/"


class Setting:
    """One pod's spec under its rules. `allowed` names what an update may keep because the stored pod has it."""

    def __init__(
        self,
        spec: Object,
        gates: Mapping[str, bool],
        out: list[Cause],
        meta: Object | None = None,
        allowed: frozenset[str] = frozenset(),
    ) -> None:
        self.gates = gates
        self.out = out
        self.allowed = allowed
        #: Whether this is a pod itself, and no template; only a pod has a name.
        self.is_pod = meta is not None
        self.name: str = meta.get("name", "") if meta else ""
        self.annotations: Object = meta.get("annotations", {}) if meta else {}
        self.grace: int | None = spec.get("terminationGracePeriodSeconds")
        self.host_users: bool = spec.get("hostUsers") is not False
        self.restart: str = spec.get("restartPolicy", "")
        self.os: str | None = spec["os"].get("name", "") if "os" in spec else None
        self.claims = frozenset(claim["name"] for claim in spec.get("resourceClaims", ()) if claim.get("name"))
        #: The volumes that are right, by name: mounts look for theirs among these.
        self.volumes: dict[str, Object] = {}

    def is_on(self, gate: str) -> bool:
        """Whether the gate is on, or what it brings is in use already; also of what a release does without a gate."""
        return self.gates.get(gate, False) or gate in self.allowed

    # What is wrong: each reports what the function of verdict with its name makes.

    def required(self, path: Path, rule: str, detail: str = "") -> None:
        self.out.append(verdict.required(path, rule, detail))

    def forbidden(self, path: Path, rule: str, detail: str = "") -> None:
        self.out.append(verdict.forbidden(path, rule, detail))

    def invalid(self, path: Path, rule: str, value: Any, detail: str) -> None:
        self.out.append(verdict.invalid(path, rule, value, detail))

    def invalid_text(self, path: Path, rule: str, text: str, detail: str) -> None:
        self.out.append(verdict.invalid_text(path, rule, text, detail))

    def not_supported(self, path: Path, rule: str, text: str, values: tuple[str, ...]) -> None:
        self.out.append(verdict.not_supported(path, rule, text, values))

    def duplicate(self, path: Path, rule: str, text: str) -> None:
        self.out.append(verdict.duplicate(path, rule, text))

    def not_found(self, path: Path, rule: str, text: str, detail: str = "") -> None:
        self.out.append(verdict.not_found(path, rule, text, detail))

    def too_many(self, path: Path, rule: str, count: int, limit: int) -> None:
        self.out.append(verdict.too_many(path, rule, count, limit))

    def too_long(self, path: Path, rule: str, limit: int) -> None:
        self.out.append(verdict.too_long(path, rule, limit))

    def refuse(self, path: Path, rule: str, value: Any, messages: Collection[str]) -> None:
        """A value that is wrong in each of these ways."""
        self.out.extend(verdict.refuse_text(path, rule, value, messages))

    def check_choice(self, path: Path, rule: str, value: str, values: tuple[str, ...]) -> None:
        """The value is one of those."""
        if value not in values:
            self.not_supported(path, rule, write_json(value), values)

    def check_option(
        self, holder: Object, field: str, at: Path, rule: str, values: tuple[str, ...], needed: bool = False
    ) -> None:
        """A field of the object at a path is one of those, where it is set; where it is `needed`, also where not."""
        if needed or field in holder:
            self.check_choice((*at, field), rule, holder.get(field, ""), values)

    def check_id(self, holder: Object, field: str, at: Path, rule: str) -> None:
        """A field of the object at a path is the number of a user or of a group, where it is set."""
        if not 0 <= holder.get(field, 0) < 2**31:
            self.invalid((*at, field), rule, holder[field], "must be between 0 and 2147483647, inclusive")

    def check_text(self, holder: Object, field: str, at: Path, rule: str, check: Form, needed: bool = False) -> None:
        """A field of the object at a path is a text of a form, where it is not empty."""
        if text := holder.get(field):
            self.refuse((*at, field), rule, text, check(text))
        elif needed:
            self.required((*at, field), rule)


def visit_containers(spec: Object, path: Path) -> Iterator[tuple[Object, Path]]:
    """Every container with its path."""
    for name in LISTS:
        for index, container in enumerate(spec.get(name, ())):
            yield container, (*path, name, index)
