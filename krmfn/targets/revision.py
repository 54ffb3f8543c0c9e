"""The revision of a PodGroup: a digest of what cannot change once it exists, for names of their own after a change.

A PodGroup with running pods cannot be deleted (its finalizer holds it back), so a change of an immutable field needs a
group with a new name beside the old one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import find_kind
from krmfn.model.names import digest
from krmfn.model.tree import Gang, Leaf
from krmfn.targets.layout import Node

_LINKS: Final = frozenset({"schedulingGroup", "workloadRef"})


def revise(gang: Gang, node: Node, spec: Mapping[str, Any], mutable: Path) -> str:
    """The revision of the group of `node`, or "" when names are stable.

    `mutable` is the path of the one field of `spec` that may change. Names of other objects are left out: a prefix that
    kustomize puts before them later must not look like a change.
    """
    if gang.naming != "Revisioned":
        return ""
    facts: dict[str, Any] = {key: value for key, value in spec.items() if not key.endswith(("Ref", "GroupName"))}
    facts = _without(facts, mutable)
    if isinstance(node.group, Leaf):
        facts["pods"] = [
            _without_links(_at(gang.values[template.owner], template.path))
            for template in node.group.templates
            if template.owner < len(gang.values) and _is_renewed(gang.owners[template.owner])
        ]
    import json

    return digest(json.dumps(facts, sort_keys=True, default=str))


def _is_renewed(owner: ResourceRef) -> bool:
    """Whether new pods are built beside the old ones after a change of the template: two generations would meet."""
    kind = find_kind(owner.group, owner.kind)
    return kind is not None and kind.renewed


def _without(value: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if not path:
        return dict(value)
    head, rest = str(path[0]), path[1:]
    if head not in value:
        return dict(value)
    if not rest:
        return {key: entry for key, entry in value.items() if key != head}
    return {**value, head: _without(value[head], rest)}


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _without_links(template: Any) -> Any:
    spec = template.get("spec") if isinstance(template, Mapping) else None
    if not isinstance(spec, Mapping):
        return template
    return {**template, "spec": {key: value for key, value in spec.items() if key not in _LINKS}}
