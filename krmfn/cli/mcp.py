"""`krmfn mcp`: the commands as tools for coding agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.options import UsageError


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Serves until stdin ends. Raises UsageError where the package of the protocol is missing."""
    try:
        from krmfn.mcp import server
    except ModuleNotFoundError as missing:
        raise UsageError(f"krmfn mcp needs the package {missing.name}: pip install 'krmfn[mcp]'") from None
    server.run("stdio")
    return 0
