"""Role, ClusterRole, and their bindings.

Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.formats import check_long_name
from krmfn.server.plain.values import RULE, check_choice, check_label_selector, refuse
from krmfn.server.pods.setting import Object
from krmfn.server.replicated import is_wrong_selector
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid_text, required

_GROUP = "rbac.authorization.k8s.io"
_REF: Path = ("roleRef",)


def check_role_selector(kind: Kind, selector: Object, path: Path) -> Iterator[Cause]:
    yield from check_label_selector(kind, selector, path)
    if is_wrong_selector(selector):
        yield invalid_text(path, RULE, "null", "invalid label selector.")


def check_rule(kind: Kind, rule: Object, path: Path) -> Iterator[Cause]:
    if rule.get("nonResourceURLs"):
        at = (*path, "nonResourceURLs")
        if not kind.cluster:
            yield invalid_text(at, RULE, "{…}", "namespaced rules cannot apply to non-resource URLs")
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            yield invalid_text(at, RULE, "{…}", detail)
        return
    for name, word in (("apiGroups", "api group"), ("resources", "resource")):
        if not rule.get(name):
            yield required((*path, name), "required", f"resource rules must supply at least one {word}")


def fill_binding(kind: Kind, new: dict[str, Any]) -> None:
    for subject in new.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)


def check_binding(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    if old and new.get("roleRef") != old.get("roleRef"):
        older = kind.gates.get("older-texts", False)
        yield invalid_text(_REF, "immutable", "{…}", "cannot change roleRef" if older else "field is immutable")


def check_kind_of_role(kind: Kind, word: str, path: Path) -> Iterator[Cause]:
    yield from check_choice(word, path, ("ClusterRole",) if kind.cluster else ("Role", "ClusterRole"))


def check_subject(kind: Kind, subject: Object, path: Path) -> Iterator[Cause]:
    name, word, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if word == "ServiceAccount":
        if name:
            yield from refuse((*path, "name"), name, check_long_name(name))
        if group:
            yield from check_choice(group, (*path, "apiGroup"), ("",))
        if kind.cluster and not subject.get("namespace"):
            yield required((*path, "namespace"), "required")
    elif word in ("User", "Group"):
        yield from check_choice(group, (*path, "apiGroup"), (_GROUP,))
    else:
        yield from check_choice(word, (*path, "kind"), ("ServiceAccount", "User", "Group"))
