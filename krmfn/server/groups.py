"""The rules that the server's authors wrote by hand for the scheduling kinds; schemas call them by name.

Each is one pure function (kind, new object, old object or None, the schema's argument if any) that yields causes. They
see the whole object, on creates and on every update, without the declarative rules' "unchanged is not looked at again".

Source: k8s.io/kubernetes/pkg/apis/scheduling/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Names, Value
from krmfn.releases.spelling import TEMPLATES, find_word
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import read_written, to_internal, write_json
from krmfn.server.verdict import Causes, duplicate, invalid, invalid_text, required

_COMPOSITES = "compositePodGroupTemplates"
_LEAVES = "podGroupTemplates"


class _Level(NamedTuple):
    """A list of templates in a Workload: those of groups, or (`composite`) of composite groups, below `parent`."""

    path: Path
    templates: Sequence[Value]
    composite: bool
    parent: Value | None


def _walk(holder: Value, path: Path = ("spec",), parent: Value | None = None) -> Iterator[_Level]:
    """Every list of templates, those of parents first."""
    for name in (_LEAVES, _COMPOSITES):
        field, templates = _find(holder, name)
        yield _Level((*path, field), templates, name == _COMPOSITES, parent)
    for index, composite in enumerate(templates):
        yield from _walk(composite, (*path, field, index), composite)


def check_unique_names(kind: Kind, new: Value, old: Stored) -> Causes:
    """A template's name is free in the whole tree. Twins in one list are the declarative rules' business."""
    lists: dict[str, Path] = {}
    for path, templates, _, _ in _walk(new.get("spec", {})):
        for index, name in enumerate(template.get("name", "") for template in templates):
            if lists.setdefault(name, path) != path:
                yield duplicate((*path, index, "name"), quote(name), "unique-template-names")


def check_depth(kind: Kind, new: Value, old: Stored, argument: int) -> Causes:
    """At most `argument` levels, a flat list being one."""
    field, composites = _find(new.get("spec", {}), _COMPOSITES)
    for index, composite in enumerate(composites):
        if _is_deeper(composite, argument - 1):
            of = kind.root.fields["spec"].type.fields[field].type
            below = to_internal(of, composite.get(field, []), read_written(new, "spec", field, index, field))
            detail = f"maximum template hierarchy depth is {argument}"
            yield invalid_text(("spec", field, index), write_json(below), detail, "max-tree-depth")


def _is_deeper(composite: Value, levels: int) -> bool:
    return levels == 0 or any(_is_deeper(child, levels - 1) for child in _find(composite, _COMPOSITES)[1])


def check_single_priority(kind: Kind, new: Value, old: Stored, argument: Any = None) -> Causes:
    """All templates have the same class and the same priority; an absent one differs from 0. `argument` (1.38):
    further fields that are the same in all."""
    spec = new.get("spec", {})
    fields = ("priorityClassName", "priority", *(argument or ()))
    lists = [{_read(each, fields) for each in level.templates} for level in _walk(spec)]
    words = (
        "priority and priorityClassName" if argument is None else "priority, priorityClassName, and preemptionPolicy"
    )
    detail = f"all {words} values must be identical, detected multiple values"
    if argument is None and len(lists[0]) > 1:
        detail = "detected multiple priority configurations"
    if len(lists[0].union(*lists)) > 1:
        yield invalid(("spec",), None, detail, "single-priority")


def _find(fields: Value, name: str) -> tuple[str, Any]:
    """A field by its word in the release, and its value: a list, unless `name` is that of a plain field."""
    word = find_word(fields, name)
    return word, fields.get(word, () if name.endswith("s") else None)


def _read(template: Value, fields: Names) -> tuple[Any, ...]:
    """What a template says of priority; no class and an empty one are the same."""
    class_name, *others = (_find(template, field)[1] for field in fields)
    return (class_name or "", *others)


def check_children(kind: Kind, new: Value, old: Stored, argument: Any = None) -> Causes:
    """A composite has a child in one of its lists. `argument` (1.38): also which modes go together in a tree, and
    if it is true, as in a create, that only a gang is disrupted as a whole."""
    for level in _walk(new.get("spec", {})):
        for index, template in enumerate(level.templates):
            at = (*level.path, index)
            if level.composite and not (_find(template, _COMPOSITES)[1] or _find(template, _LEAVES)[1]):
                detail = "must have at least one child PodGroupTemplate or CompositePodGroupTemplate"
                yield invalid(at, template.get("name", ""), detail, "composite-has-children")
            if argument:
                yield from _check_whole(template, at)
            if level.parent is not None and argument is not None:
                yield from _check_child(level.parent, template, at)


def _check_child(composite: Value, child: Value, path: Path) -> Causes:
    """What a composite demands of all below it."""
    for field, mode, words in (
        ("schedulingPolicy", "gang", "scheduling policy"),
        ("disruptionMode", "all", "disruption mode"),
    ):
        if _has_mode(composite, field, mode) and not _has_mode(child, field, mode):
            detail = f'must have "{mode}" {words} when parent compositePodGroupTemplate has "{mode}" {words}'
            yield invalid_text((*path, find_word(child, field)), detail, "", "mixed-modes")


def check_disruption(kind: Kind, new: Value, old: Stored) -> Causes:
    """1.38: only a gang is disrupted as a whole."""
    yield from _check_whole(new.get("spec", {}), ("spec",))


def _check_whole(group: Value, path: Path) -> Causes:
    if _has_mode(group, "disruptionMode", "all") and not _has_mode(group, "schedulingPolicy", "gang"):
        detail = 'cannot have "all" disruption mode when scheduling policy is other than "gang"'
        yield invalid_text((*path, find_word(group, "disruptionMode")), detail, "", "mixed-modes")


def _has_mode(group: Value, field: str, mode: str) -> bool:
    return mode in (_find(group, field)[1] or {})


def check_parent_needs_workload(kind: Kind, new: Value, old: Stored) -> Causes:
    """A group below a composite one names its Workload; what an update leaves as it was is not looked at."""
    spec = new.get("spec", {})
    field = find_word(spec, "parentCompositePodGroupName")
    if field not in spec or (old and old.get("spec") == spec):
        return
    known = kind.root.fields["spec"].type.fields
    reference = next((path[0] for path in reversed(TEMPLATES) if path[0] in known), "")
    if reference and reference not in spec:
        detail = f"must be set when {field} is set"
        yield required(("spec", reference), detail, "parent-needs-workload-ref")


def check_v1alpha1_change(kind: Kind, new: Value, old: Stored) -> Causes:
    """The controller stays once set, the groups stay. The paths lack `spec.`, as the server's do."""
    spec, before = new.get("spec", {}), (old or {}).get("spec", {})
    for name, field in kind.root.fields["spec"].type.fields.items():
        if spec.get(name) != before.get(name) and (name in before or name != "controllerRef"):
            shown = to_internal(field.type, spec.get(name), read_written(new, "spec", name), field.pointer)
            yield invalid_text((name,), write_json(shown), "field is immutable", "immutable")
