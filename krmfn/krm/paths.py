"""Field paths: a tuple of keys and indices inside the program, `spec.groups[3].name` for people and orchestrators.

Knows nothing about what the fields mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]
#: A mapping of plain data; and one of texts, such as labels.
Fields = dict[str, Any]
Texts = Mapping[str, str]


def dig(value: object, *path: str | int, default: Any = None) -> Any:
    """The part of plain data at `path`, or `default` where the path leads nowhere.

    >>> dig({"a": [{"b": 1}]}, "a", 0, "b")
    1
    """
    for part in path:
        if isinstance(value, dict):
            if part not in value:
                return default
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value):
            value = value[part]
        else:
            return default
    return value


def walk_values(value: object) -> Iterator[Any]:
    """A part of plain data and all that is in it, each mapping and list before what it holds, however deep.

    >>> list(walk_values({"a": [1], "b": 2}))
    [{'a': [1], 'b': 2}, 2, [1], 1]
    """
    waiting = [value]
    while waiting:
        each = waiting.pop()
        yield each
        waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()


def format_path(path: Path) -> str:
    """Spell `path` the way the API server does: `spec.topology[0].key`.

    Keys are written as they are, because the API server quotes none of them.

    >>> format_path(("spec", "workerGroupSpecs", 3, "replicas"))
    'spec.workerGroupSpecs[3].replicas'
    """
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text
