"""The revision of a gang: a digest of what cannot change once its objects exist, for names of their own after a change.

A PodGroup with running pods cannot be deleted (its finalizer holds it back), and Workloads and CompositePodGroups refer
to each other in fields that cannot change: so all objects of a gang get new names together, beside the old ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Any

from krmfn.krm.paths import Path
from krmfn.krm.results import ResourceRef
from krmfn.model.kinds import find_kind
from krmfn.model.names import digest, slug
from krmfn.model.tree import Gang, leaves
from krmfn.model.values import Value
from krmfn.releases.gates import list_fields
from krmfn.releases.groups import list_mutable
from krmfn.releases.release import Release
from krmfn.releases.spelling import LINK_FIELDS


def revise(gang: Gang, templates: Value, more: Value, release: Release) -> str:
    """The revision of a gang with these templates.

    The templates have the names of 1.37: what a release only calls otherwise is no change. `more` is what groups say
    that their templates do not. Names of other objects do not count: a prefix that kustomize puts before them later
    must not look like a change.
    """
    mutable = list_mutable(release)
    pods = [
        _without(_at(gang.values[template.owner], template.spec_path), LINK_FIELDS)
        for leaf in leaves(gang.root)
        for template in leaf.templates
        if template.owner < len(gang.values) and _is_renewed(gang.owners[template.owner])
    ]
    import json

    fixed = frozenset(name for name in list_fields(templates) if release.call(name) not in mutable)
    text = json.dumps([_deep(templates, fixed), more, pods], sort_keys=True, default=str)
    for index, owner in enumerate(gang.owners if len(gang.owners) > 1 else ()):
        # templates of a gang across resources are called after them
        text = text.replace(f'"name": "{slug(f"{owner.kind.lower()}-{owner.name}")}', f'"name": "{index}')
    return digest(text)


def _is_renewed(owner: ResourceRef) -> bool:
    """Whether new pods are built beside the old ones after a change of the template: two generations would meet."""
    kind = find_kind(owner.group, owner.kind)
    return kind is not None and kind.renewed


def _deep(value: Any, fields: Set[str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _deep(child, fields) for key, child in value.items() if key in fields}
    return [_deep(child, fields) for child in value] if isinstance(value, list) else value


def _without(value: Any, keys: Iterable[str]) -> Any:
    return {key: child for key, child in value.items() if key not in keys} if isinstance(value, Mapping) else value


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value
