"""The head of an item, as much as selection may read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Head(NamedTuple):
    """What an item tells without being parsed."""

    api_version: str
    kind: str
    name: str = "demo"
    namespace: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
