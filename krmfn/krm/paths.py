"""Field paths: a tuple of keys and indices inside the program, `spec.groups[3].name` for people and orchestrators.

Knows nothing about what the fields mean.
"""

from __future__ import annotations

Path = tuple[str | int, ...]


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
