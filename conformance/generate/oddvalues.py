"""The values of the hand-made cases, read from oddvalues.json: a table that people extend.

In the file an object with the key `$` stands for what JSON cannot say shortly: {"$": "gone"} takes a field away,
{"$": "repeat", "text": "v", "times": 9} is a long string.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

GONE = object()


def read_table() -> dict[str, Any]:
    """Sections: wholes, counts, policies, names, lists, owners (lists of values); fields, metadata (lists by name)."""
    table: dict[str, Any] = revive(json.loads(Path(__file__).with_suffix(".json").read_text()))
    return table


def revive(value: Any) -> Any:
    if isinstance(value, list):
        return [revive(content) for content in value]
    if isinstance(value, dict):
        if value.get("$") == "gone":
            return GONE
        if value.get("$") == "repeat":
            return value["text"] * value["times"]
        return {name: revive(content) for name, content in value.items()}
    return value


_TABLE = read_table()
WHOLES: list[Any] = _TABLE["wholes"]
COUNTS: list[Any] = _TABLE["counts"]
POLICIES: list[Any] = _TABLE["policies"]
SHORT_NAMES: list[Any] = _TABLE["names"]
LISTS: list[list[Any]] = _TABLE["lists"]
OWNERS: list[Any] = _TABLE["owners"]

# Field and value, tried in every object that group fields live in, whether it has that field or not.
FIELDS: list[tuple[str, Any]] = [(name, value) for name, values in _TABLE["fields"].items() for value in values]

# Odd but possible content of ObjectMeta, each put in as a whole: (label, key, value).
ODD_METADATA: list[tuple[str, str, Any]] = [
    (label, name, value) for label, rows in _TABLE["metadata"].items() for name, value in rows
]
