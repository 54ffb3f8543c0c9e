"""Where the pod templates of an object are, and how many pods each makes.

For kinds with a source (RayCluster, Job and their relatives) the counts come from the sources, through `from_tree`;
what `from_item` reads by the row of a kind is for the others, and for a link in an object that no source could read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from krmfn.krm.item import Item
from krmfn.model.kinds import TemplatePath, find_kind, place, split_path
from krmfn.model.marks import POD_GROUP
from krmfn.model.podnumber import count_numbered
from krmfn.model.tree import Group, Path, leaves
from krmfn.model.values import Value, as_int, dig
from krmfn.releases.spelling import LINK_FIELDS

#: What stands in every object with a linked pod template.
_WORDS = tuple(word.encode() for word in (*sorted(LINK_FIELDS), POD_GROUP))


class Member(NamedTuple):
    """A pod template of an item, and how many `pods` of it exist at once (None: the manifest does not say).

    `path` leads to the PodTemplateSpec (empty for a Pod, which is its own), `count_path` to the field that sets `pods`.
    What the pods link to is read from the item, not from here.
    The pods are `replicas` equal sets (0: not known), which the label `by` tells apart. `number` is the sum of labels
    that gives a pod its number among all `numbered` pods (model.podnumber).
    `value` is the manifest in which `path` leads to the template: the item's, with what it takes from other objects.
    With `apart` the path leads to an entry with the annotations of the pods, and `apart` to fields of their spec.
    """

    item: Item
    path: Path
    pods: int | None
    count_path: Path
    replicas: int = 0
    by: str = ""
    number: str = ""
    numbered: int = 0
    value: Value | None = None
    apart: Path = ()


def from_tree(item: Item, value: Value, group: Group) -> tuple[Member, ...]:
    """The members of a tree as a source read it from `value`, the manifest of `item` and what it takes from others."""
    return tuple(
        Member(
            item,
            template.path,
            template.pods,
            template.count_path,
            leaf.replicas if leaf.by else 0,
            leaf.by,
            leaf.number,
            count_numbered(leaf.number, leaf.replicas, leaf.pods),
            value,
            template.apart,
        )
        for leaf in leaves(group)
        for template in leaf.templates
    )


def from_item(item: Item, read: Iterable[Member] = ()) -> list[Member]:
    """The pod templates of `item`; empty for kinds that hold none. Of a kind that nobody knows, those with a link; and
    where an operator takes the annotations of its pods from, if they ask for one.

    `read` are those that its source found: it leaves out those that make no pods.
    """
    kind = find_kind(item.ref)
    if item.kind == "CustomResourceDefinition":  # large, and it only says which fields there may be
        return []
    if kind is None:
        likely = _find_linked(item.value, ()) if item.may_hold(*_WORDS) else ()
        return [Member(item, path, None, path) for path in likely]
    apart = any(template.spec for template in kind.templates)
    asking: list[Path] = []
    if (not kind.has_gangs or apart) and item.may_hold(*(_WORDS if apart else _WORDS[-1:])):
        known = {
            path
            for template in kind.templates
            for path, _ in _expand(item.value, split_path(template.path))
            if not (apart and template.aside)
        }
        asking = [path for path in _find_linked(item.value, (), apart) if path not in known]
    counted = {member.path: member for member in read}
    pods = 0 if counted else None
    found = [counted.pop(path, Member(item, path, pods, path)) for path in asking]
    for template in kind.templates:
        for path, entries in () if template.aside else _expand(item.value, split_path(template.path)):
            member = counted.pop(path, None)
            if member is None:
                number, field = _count(item.value, template, path, entries)
                member = Member(item, path, number if pods is None else 0, field, apart=place(template.spec, entries))
            found.append(member)
    return [*found, *counted.values()]


def _find_linked(value: Any, path: Path, in_part: bool = False) -> Iterator[Path]:
    """Where pods are linked, or ask for it; `in_part`: by templates too that leave the containers to an operator."""
    if isinstance(value, Mapping):
        spec = value.get("spec")
        marks = dig(value, "annotations") or dig(value, "metadata", "annotations")
        if path and isinstance(marks, Mapping) and POD_GROUP in marks:
            yield path
            return
        if isinstance(spec, Mapping) and ("containers" in spec or (in_part and not LINK_FIELDS.isdisjoint(spec))):
            if not LINK_FIELDS.isdisjoint(spec):
                yield path
            return
    for key, child in _list_children(value):
        if key != "metadata":
            yield from _find_linked(child, (*path, key), in_part)


def _list_children(value: Any) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()


def _expand(value: Any, steps: Path) -> Iterator[tuple[Path, Path]]:
    """The paths in `value` that the steps of a row stand for, each with what its `*` stand for."""
    if not steps:
        yield (), ()
        return
    step, *rest = steps
    for key, child in _list_children(value) if step == "*" else [(step, dig(value, step))]:
        for path, stars in _expand(child, tuple(rest)) if child is not None or step == "*" else ():
            yield (key, *path), (key, *stars) if step == "*" else stars


def _count(value: Any, template: TemplatePath, path: Path, entries: Path) -> tuple[int | None, Path]:
    """How many pods there are, None where that is not known, and the field that says so."""
    if not template.factors or template.factors[0].names:  # which entry names the role, the source knows
        return (1 if template.factors == () else None), path[:-1]
    factor, *others = template.factors
    field = place(template.counted, entries)
    written = dig(value, *field) if field else None
    number = as_int(factor.default if written is None else written)
    if number is None or (number > 0 and (others or any(factor[2:]))):  # where more decides, only 0 is certain
        return None, field
    return max(number, 0), field
