"""How a generated object is brought up to date: the fields that we write are ours, everything else is the user's. And
an emission under the names that its objects have after a renaming."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.krm.item import Item
from krmfn.model.marks import GENERATED_FROM, MANAGED_BY, POD_GROUP_LABEL, RECREATE, REVISION, SYNC_WAVE
from krmfn.model.names import slug
from krmfn.model.schedulers import NODE_POOL, SCHEDULERS
from krmfn.model.tree import Gang
from krmfn.model.values import Fields, Names, Value
from krmfn.reconcile.ledger import Renaming
from krmfn.reconcile.links import is_name
from krmfn.releases.spelling import TEMPLATES, list_words
from krmfn.targets.emission import PHASES, Emission, Link

#: Fields of `spec` and of templates that targets write. What is not named here (claims, for example) survives.
OWNED = list_words(
    (
        "controllerRef", "podGroupTemplates", "compositePodGroupTemplates",
        *(path[0] for path in TEMPLATES),
        "parentCompositePodGroupName", "schedulingPolicy", "schedulingConstraints",
        "disruptionMode", "priorityClassName", "preemptionPolicy",
        *(field for row in SCHEDULERS.values() for field in row.writes),
    )
)  # fmt: skip
_TEMPLATE_LISTS = list_words(("podGroupTemplates", "compositePodGroupTemplates"))
_ANNOTATIONS = (GENERATED_FROM, *PHASES, REVISION, *RECREATE)
#: What is written where there is nothing: a value that stands there is the user's.
_SUGGESTED = frozenset({MANAGED_BY, SYNC_WAVE, *RECREATE})


def update(item: Item, desired: Value) -> None:
    """Set and remove what differs, and nothing else. Raises EditRefused."""
    if item.api_version != desired["apiVersion"]:
        item.set(("apiVersion",), desired["apiVersion"])
    metadata = desired["metadata"]
    if not metadata.get("namespace"):
        item.remove(("metadata", "namespace"))
    elif item.namespace != metadata["namespace"]:
        item.set(("metadata", "namespace"), metadata["namespace"])
    labels = (MANAGED_BY, NODE_POOL) if item.group == SCHEDULERS["KAI"].group else (MANAGED_BY,)
    _update_marks(item, "labels", labels, metadata["labels"])
    _update_marks(item, "annotations", _ANNOTATIONS, metadata["annotations"])
    _update_spec(item, desired["spec"])


def _update_marks(item: Item, place: str, keys: Names, desired: Mapping[str, str]) -> None:
    for key in keys:
        current = getattr(item, place).get(key)
        if key in desired and current != desired[key] and (current is None or key not in _SUGGESTED):
            item.set(("metadata", place, key), desired[key])
        if key not in desired and current is not None and current == RECREATE.get(key, current):
            item.remove(("metadata", place, key))


def _update_spec(item: Item, desired: Value) -> None:
    current = item.get(("spec",))
    if not isinstance(current, Mapping):
        item.set(("spec",), dict(desired))
        return
    for key in [key for key in current if key in OWNED and key not in desired]:
        item.remove(("spec", key))
    for key, value in desired.items():
        merged = _keep_foreign(key, current.get(key), value)
        if current.get(key) != merged:
            item.set(("spec", key), merged)


def _keep_foreign(key: str, current: Any, desired: Any) -> Any:
    """`desired` with what users added to the templates of the same name."""
    if key not in _TEMPLATE_LISTS or not isinstance(current, list):
        return desired
    old = {str(entry.get("name")): entry for entry in current if isinstance(entry, Mapping)}
    return [_merge_template(old.get(entry["name"], {}), entry) for entry in desired]


def _merge_template(current: Value, desired: Value) -> Fields:
    merged = {key: _keep_foreign(key, current.get(key), value) for key, value in desired.items()}
    return merged | {key: value for key, value in current.items() if key not in OWNED and key not in merged}


#: Keys of `spec` whose text is the name of a generated object, and of a template, at any depth.
_OBJECTS = list_words(("workloadName", "parentCompositePodGroupName"))
_TEMPLATES = frozenset({*(path[-1] for path in TEMPLATES), POD_GROUP_LABEL})
_LISTS = _TEMPLATE_LISTS | {"subGroupPolicy"}
#: Last parts of links whose text is the name of a template.
_LABELS = frozenset({"podGroup", POD_GROUP_LABEL})


class _Names:
    """New names for old: of objects by the renaming, of templates where they are called after an owner."""

    def __init__(self, gang: Gang, emission: Emission, renaming: Renaming) -> None:
        prefix, old, suffix = renaming
        end = -len(suffix) or None
        self._members = [
            (slug(f"{owner.kind.lower()}-{owner.name}"), slug(f"{owner.kind.lower()}-{old_name}"))
            for owner in (gang.owners if len(gang.owners) > 1 else ())
            if (old_name := owner.name[len(prefix) : end])
        ]
        self._objects: dict[str, str] = {}
        for value in emission.objects:
            name = value["metadata"]["name"]
            rest, template = name.removeprefix(gang.name), _find_template(value["spec"])
            if name.startswith(gang.name):
                if template and rest.endswith(f"-{template}"):
                    rest = rest[: -len(template)] + self.of_template(template)
                self._objects[name] = prefix + old + rest + suffix

    def of_template(self, name: str) -> str:
        for now, then in self._members:
            if name == now or name.startswith(f"{now}-"):
                return then + name[len(now) :]
        return name

    def of_object(self, name: str) -> str:
        return self._objects.get(name, name)


def _find_template(spec: Any) -> str:
    """The name of the template that a group refers to."""
    if not isinstance(spec, Mapping):
        return ""
    found = next((spec[key] for key in _TEMPLATES if key in spec), "")
    return found or next((name for child in spec.values() if (name := _find_template(child))), "")


def rename(
    gang: Gang, emission: Emission, renaming: Renaming, sources: str
) -> tuple[tuple[Fields, ...], tuple[Link, ...]]:
    """The objects and links of `emission`, named as they would be had they been made before `renaming`."""
    names = _Names(gang, emission, renaming)
    objects = []
    for value in emission.objects:
        metadata = value["metadata"]
        annotations = {**metadata["annotations"], GENERATED_FROM: sources}
        metadata = {**metadata, "name": names.of_object(metadata["name"]), "annotations": annotations}
        objects.append({**value, "metadata": metadata, "spec": _rename_references(value["spec"], names)})
    return tuple(objects), tuple(_rename_link(link, names) for link in emission.links)


def _rename_link(link: Link, names: _Names) -> Link:
    if is_name(link.path):
        return link._replace(value=names.of_object(link.value))
    return link._replace(value=names.of_template(link.value)) if link.path[-1] in _LABELS else link


def _rename_references(value: Any, names: _Names) -> Any:
    if not isinstance(value, Mapping):
        return value
    made: Fields = {}
    for key, entry in value.items():
        if key in _OBJECTS:
            made[key] = names.of_object(entry)
        elif key in _TEMPLATES:
            made[key] = names.of_template(entry)
        elif key in _LISTS:
            made[key] = [
                _rename_references({**child, "name": names.of_template(child["name"])}, names) for child in entry
            ]
        else:
            made[key] = _rename_references(entry, names)
    return made
