"""What the configuration's facts say about priority classes. Knows both spellings of the facts, and no other fact."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.krm.types import Any
from krmfn.model.values import as_list


def find_policy(cluster: Mapping[str, Any], name: str) -> str:
    """The preemption policy of the class `name`, "" when the facts do not tell.

    Facts are what `kubectl get priorityclasses -o yaml` prints, or `priorityClasses:` with objects, by name or listed.
    """
    if not name:
        return ""
    for entry in _list_classes(cluster):
        if (entry.get("metadata") or entry).get("name") == name:
            return str(entry.get("preemptionPolicy") or "")
    return ""


def _list_classes(cluster: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = cluster.get("priorityClasses")
    if isinstance(given, Mapping):
        for name, entry in given.items():
            yield {"name": name, **entry} if isinstance(entry, Mapping) else {"name": name}
    for entry in (*_entries(given), *_entries(cluster.get("items"))):
        if entry.get("kind", "PriorityClass") == "PriorityClass":
            yield entry


def _entries(value: Any) -> Iterator[Mapping[str, Any]]:
    return (entry for entry in as_list(value) if isinstance(entry, Mapping))
