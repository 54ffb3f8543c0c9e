"""How much a Workload of a release can describe: read from its schema, so that a release with longer lists is data."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from krmfn.krm.types import Any
from krmfn.releases import schemastore
from krmfn.releases.release import Release


class Limits:
    """The longest lists: `groups` at the top of a Workload, `leaves` and `composites` in a composite template. `levels`
    composites may stand above a leaf (0: there are no trees)."""

    __slots__ = ("composites", "groups", "leaves", "levels")

    def __init__(self, groups: int, leaves: int, composites: int, levels: int) -> None:
        self.groups = groups
        self.leaves = leaves
        self.composites = composites
        self.levels = levels


def read_limits(release: Release) -> Limits:
    """The limits of the release, from `workload.json`; none where groups need no Workload."""
    if "Workload" not in release.kinds:
        return Limits(sys.maxsize, sys.maxsize, sys.maxsize, sys.maxsize)
    schema = schemastore.load(f"kubernetes/{release}/workload.json")
    rules = dict(schema.get("x-kubernetes-handwritten", {}).get("create", ()))
    top = schema["$defs"]["WorkloadSpec"]["properties"]
    below = schema["$defs"].get("CompositePodGroupTemplate", {}).get("properties", {})
    lists = [release.call(name) for name in ("podGroupTemplates", "compositePodGroupTemplates")]
    groups = _longest(top, lists[0]) or rules["groups.check_v1alpha1_workload"]
    leaves, composites = (_longest(below, field) for field in lists)
    return Limits(groups, leaves, composites, rules.get("groups.check_depth", 1) - 1)


def _longest(properties: Mapping[str, Any], field: str) -> int:
    return int(properties.get(field, {}).get("maxItems", 0))
