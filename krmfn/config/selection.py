"""Which resources become gangs, and with which options. Decides by the head of an item (kind, name, labels,
annotations), so that nothing else is ever parsed for a resource that does not concern us.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from krmfn.config.problems import suggest
from krmfn.config.reading import snake
from krmfn.config.schema import Schema, descend, find_problems, load_schema, resolve
from krmfn.config.settings import GangOptions, Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Texts
from krmfn.model.findings import Note, NoteTuple
from krmfn.model.gotext import parse_int
from krmfn.model.marks import PREFIX
from krmfn.model.values import Fields, Names
from krmfn.model.wording import find_nearest

OPT_IN = "krmfn.dev/gang"
#: Says which findings do not count, and nothing about a gang.
IGNORE = "krmfn.dev/ignore"

#: The label that KubeRay's own batch schedulers read; KubernetesWAS compares it without regard to case.
KUBERAY_LABEL = "ray.io/gang-scheduling-enabled"
#: Annotations of KubeRay's proof of concept (ray-project/kuberay#4723), before and after its renaming.
KUBERAY_ANNOTATIONS = ("ray.io/native-workload-scheduling", "ray.io/k8s-workload-scheduling")

Why: TypeAlias = 'Literal["selected", "not selected", "opted out", "invalid"]'


class Selection(NamedTuple):
    """The options of a selected resource, or None and why not. `notes` are mistakes in its annotations."""

    options: GangOptions | None
    why: Why
    notes: NoteTuple = ()


def is_selected(item: Item, settings: Settings) -> bool:
    """Whether `item` gets a gang, by its own opt-in or by the configuration."""
    return options_for(settings, item).options is not None


def options_for(settings: Settings, item: Item) -> Selection:
    """Whether `item` becomes a gang, and with which options.

    Defaults, then every override that matches, then the annotations of the resource. `krmfn.dev/gang` decides
    alone; without it the settings' `select` does. Whether an operator makes the gang itself depends on the spec of
    the resource and is told by its source.
    """
    annotations = item.annotations
    ours = [key for key in annotations if key.startswith(PREFIX) and key != IGNORE]
    notes: list[Note] = []
    changes: Fields = {}
    if ours:
        changes, notes = _read_annotations({key: annotations[key] for key in ours})
    why, requested = _decide(settings, item)
    if why != "selected":
        if changes and why == "not selected" and settings.select.mode == "OptIn":
            key = next(key for key in ours if key != OPT_IN)
            message = f"{key} has no effect: krmfn.dev/gang is not set"
            notes.append(Note("annotation-without-gang", _path(key), message, hint=f'Add {OPT_IN}: "true".'))
        return Selection(None, why, tuple(notes))
    if notes:
        return Selection(None, "invalid", tuple(notes))
    options = settings.gang
    for override in settings.overrides:
        if override.selector.matches(item):
            options = options._replace(**override.changes)
    for field in {"group_topology_keys", "group_min_counts"} & changes.keys():
        changes[field] = {**getattr(options, field), **changes[field]}
    return Selection(options._replace(requested=requested, **changes), why)


@cache
def known_annotations() -> Mapping[str, Schema]:
    """Every annotation of ours by name, with the schema of its value. `<group>` in a name stands for a group's."""
    return {**load_schema()["x-krmfn-annotations"], **{key: schema for key, (_, schema) in _list_settable().items()}}


def _decide(settings: Settings, item: Item) -> tuple[Why, bool]:
    """Whether the item is selected, and whether somebody meant it in particular."""
    opt_in = item.annotations.get(OPT_IN)
    if opt_in == "false":
        return "opted out", True
    if opt_in == "true" or (settings.select.mode != "Explicit" and _has_kuberay_opt_in(item)):
        return "selected", True
    if settings.select.selector is not None:
        selected = settings.select.selector.matches(item)
        return ("selected" if selected else "not selected"), True
    return ("selected" if settings.select.mode == "All" else "not selected"), False


def _has_kuberay_opt_in(item: Item) -> bool:
    if not item.api_version.startswith("ray.io/"):
        return False
    if str(item.labels.get(KUBERAY_LABEL, "")).lower() == "true":
        return True
    return any(item.annotations.get(key) == "true" for key in KUBERAY_ANNOTATIONS)


def _read_annotations(given: Texts) -> tuple[Fields, list[Note]]:
    """The options that annotations set, by field name, and a note for each one that is wrong."""
    known, fields = known_annotations(), _list_settable()
    changes: Fields = {}
    notes: list[Note] = []
    for key, text in given.items():
        pattern, group = _match_annotation(key, known)
        if not pattern:
            nearest = find_nearest(key, known).replace("<group>", "GROUP")
            hint = f"Did you mean {nearest}?" if nearest else suggest(key, known)
            notes.append(Note("unknown-annotation", _path(key), f"unknown annotation {key}", text, hint=hint))
            continue
        schema = resolve(known[pattern])
        element = schema["additionalProperties"] if group else schema
        value = _read_value(str(text), element)
        problems = list(find_problems(value, element))
        if problems:
            message = f"annotation {key}: {problems[0].message}"
            is_number = resolve(element).get("type") == "integer" and isinstance(value, str)
            hint = "Write a whole number." if is_number else problems[0].hint  # which is about YAML
            notes.append(Note("annotation-value", _path(key), message, text, hint=hint))
        elif group:
            changes.setdefault(fields[pattern][0], {})[group] = value
        elif pattern in fields:
            changes[fields[pattern][0]] = value
    return changes, notes


@cache
def _list_settable() -> Mapping[str, tuple[str, Schema]]:
    """The field of GangOptions that each annotation sets, and the schema of its value."""
    gang = descend(load_schema(), "spec", "gang")["properties"]
    return {child["x-krmfn-annotation"]: (snake(name), child) for name, child in gang.items()}


def _match_annotation(key: str, known: Mapping[str, Schema]) -> tuple[str, str]:
    """The known annotation that `key` is, and the group named in it; empty when there is none."""
    if key in known and "<group>" not in key:
        return key, ""
    for pattern in known:
        stem, found, _ = pattern.partition("<group>")
        if found and key.startswith(stem) and len(key) > len(stem):
            return pattern, key[len(stem) :]
    return "", ""


def _read_value(text: str, schema: Schema) -> Any:
    """Annotations hold text: a number where the schema takes one."""
    number = parse_int(text)
    takes_integer = any(resolve(branch).get("type") == "integer" for branch in schema.get("anyOf", (schema,)))
    return text if number is None or not takes_integer else number


def _path(key: str) -> Names:
    return ("metadata", "annotations", key)
