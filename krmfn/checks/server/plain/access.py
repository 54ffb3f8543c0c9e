"""Role, ClusterRole, and their bindings.

Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.server.formats import check_long_name, check_path_segment
from krmfn.checks.server.plain.values import (
    RULE,
    check_choice,
    check_immutable,
    check_label_selector,
    need_text,
    refuse,
)
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.replicated import is_wrong_selector
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import Cause, invalid_text, required
from krmfn.krm.paths import Path
from krmfn.krm.types import Any

_GROUP = "rbac.authorization.k8s.io"
_REF: Path = ("roleRef",)


def check_role(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    for index, rule in enumerate(new.get("rules", ())):
        yield from _check_rule(kind, rule, ("rules", index))
    aggregation = new.get("aggregationRule")
    if aggregation is None:
        return
    path: Path = ("aggregationRule", "clusterRoleSelectors")
    selectors = aggregation.get("clusterRoleSelectors", ())
    if not selectors:
        detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        yield required(path, "required", detail)
    for index, selector in enumerate(selectors):
        at = (*path, index)
        yield from check_label_selector(kind, selector, at)
        if is_wrong_selector(selector):
            yield invalid_text(at, RULE, "null", "invalid label selector.")


def _check_rule(kind: Kind, rule: Object, path: Path) -> Iterator[Cause]:
    if not rule.get("verbs"):
        yield required((*path, "verbs"), "required", "verbs must contain at least one value")
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
    new.setdefault("roleRef", {}).setdefault("apiGroup", _GROUP)
    for subject in new.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)


def check_binding(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    if old:
        earlier = kind.gates.get("older-texts", False) and new.get("roleRef") != old.get("roleRef")
        if earlier:
            yield invalid_text(_REF, "immutable", "{…}", "cannot change roleRef")
        else:
            yield from check_immutable(new, old, "roleRef", ())
    ref = new.get("roleRef", {})
    yield from check_choice(ref.get("apiGroup", ""), (*_REF, "apiGroup"), (_GROUP,))
    kinds = ("ClusterRole",) if kind.cluster else ("Role", "ClusterRole")
    yield from check_choice(ref.get("kind", ""), (*_REF, "kind"), kinds)
    yield from need_text(ref, "name", _REF, check_path_segment)
    for index, subject in enumerate(new.get("subjects", ())):
        yield from _check_subject(kind, subject, ("subjects", index))


def _check_subject(kind: Kind, subject: Object, path: Path) -> Iterator[Cause]:
    name, word, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield required((*path, "name"), "required")
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
