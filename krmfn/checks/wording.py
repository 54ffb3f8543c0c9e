"""Phrases that several rules use, so that they read alike. Knows no rule."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from krmfn.krm.item import Item
from krmfn.model.marks import is_generated
from krmfn.model.wording import count, join
from krmfn.survey.census import Template
from krmfn.survey.groups import Group


def name_all(items: Iterable[Item]) -> str:
    """`Job a and RayCluster b`; more than three are cut."""
    names = [f"{item.kind} {item.name}" for item in items]
    return join([*names[:3], count(len(names) - 3, "more object")] if len(names) > 3 else names)


def sum_up(templates: Iterable[Template]) -> str:
    """Where a number of pods comes from: `Job a 5, RayCluster b 3`."""
    totals: dict[str, int] = {}
    for template in templates:
        name = f"{template.item.kind} {template.item.name}"
        totals[name] = totals.get(name, 0) + (template.pods or 0)
    return ", ".join(f"{name} {pods}" for name, pods in totals.items())


def name_min_count(group: Group, item: Item) -> str:
    """`minCount`, as the group calls it, for a hint that changes it; of a group that was generated for `item`, where:
    an edit of the group would be lost."""
    field = group.counted
    if not is_generated(group.item):
        return field
    return f"{field} (annotation krmfn.dev/min-count on {item.kind} {item.name})"


def suggest(name: str, known: Iterable[str]) -> str:
    """` (did you mean "x"?)`, empty without a near name. Looks at few: inputs are large, and all may be wrong."""
    alike = (other for other in islice(known, _LOOKED_AT) if abs(len(other) - len(name)) <= 4)
    from difflib import get_close_matches  # only on mistakes: it costs start-up time

    near = get_close_matches(name, islice(alike, _COMPARED), 1)
    return f' (did you mean "{near[0]}"?)' if near else ""


_LOOKED_AT = 200
_COMPARED = 20


def group_names(keys: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Names by namespace."""
    names: dict[str, list[str]] = {}
    for namespace, name in keys:
        names.setdefault(namespace, []).append(name)
    return names
