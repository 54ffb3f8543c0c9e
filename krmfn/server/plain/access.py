"""Role, ClusterRole, and their bindings.

Source: k8s.io/kubernetes/pkg/apis/rbac/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.pods.placement import check_label_selector
from krmfn.server.pods.setting import Object
from krmfn.server.replicated import is_wrong_selector
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid_text

_GROUP = "rbac.authorization.k8s.io"


def check_role_selector(kind: Kind, selector: Object, path: Path) -> Iterator[Cause]:
    yield from check_label_selector(kind, selector, path)
    if is_wrong_selector(selector):
        yield invalid_text(path, "null", "invalid label selector.")


def fill_binding(kind: Kind, new: dict[str, Any]) -> None:
    for subject in new.get("subjects", ()):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _GROUP)
