"""How a generated object is brought up to date: the fields that we write are ours, everything else is the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.krm.item import Item
from krmfn.model.marks import GENERATED_FROM, HOOKS, MANAGED_BY, RECREATE, REVISION, SYNC_WAVE
from krmfn.model.schedulers import SCHEDULERS
from krmfn.releases.spelling import TEMPLATES, list_words

#: Fields of `spec` and of templates that targets write. What is not named here (claims, for example) survives.
OWNED: Final = list_words(
    (
        "controllerRef", "podGroupTemplates", "compositePodGroupTemplates",
        *(path[0] for path in TEMPLATES),
        "parentCompositePodGroupName", "schedulingPolicy", "schedulingConstraints",
        "disruptionMode", "priorityClassName", "preemptionPolicy",
        *(field for row in SCHEDULERS.values() for field in row.writes),
    )
)  # fmt: skip
_TEMPLATE_LISTS: Final = list_words(("podGroupTemplates", "compositePodGroupTemplates"))
_PHASES: Final = tuple(key for keys in HOOKS for key in keys if key)
#: Annotations that are written where there are none: a value that stands there is the user's.
_SUGGESTED: Final = frozenset({SYNC_WAVE, *RECREATE})


def update(item: Item, desired: Mapping[str, Any]) -> None:
    """Set and remove what differs, and nothing else. Raises EditRefused."""
    if item.api_version != desired["apiVersion"]:
        item.set(("apiVersion",), desired["apiVersion"])
    metadata = desired["metadata"]
    if not metadata.get("namespace"):
        item.remove(("metadata", "namespace"))
    elif item.namespace != metadata["namespace"]:
        item.set(("metadata", "namespace"), metadata["namespace"])
    if MANAGED_BY not in item.labels:
        item.set(("metadata", "labels", MANAGED_BY), metadata["labels"][MANAGED_BY])
    _update_annotations(item, metadata["annotations"])
    _update_spec(item, desired["spec"])


def _update_annotations(item: Item, desired: Mapping[str, str]) -> None:
    for key in (GENERATED_FROM, SYNC_WAVE, REVISION, *RECREATE, *_PHASES):
        current = item.annotations.get(key)
        if key in desired and current != desired[key] and (current is None or key not in _SUGGESTED):
            item.set(("metadata", "annotations", key), desired[key])
        if key not in desired and current is not None and current == RECREATE.get(key, current):
            item.remove(("metadata", "annotations", key))


def _update_spec(item: Item, desired: Mapping[str, Any]) -> None:
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


def _merge_template(current: Mapping[str, Any], desired: Mapping[str, Any]) -> dict[str, Any]:
    merged = {key: _keep_foreign(key, current.get(key), value) for key, value in desired.items()}
    return merged | {key: value for key, value in current.items() if key not in OWNED and key not in merged}
