"""`krmfn lsp`: findings, explanations and edits in an editor, over the Language Server Protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.options import UsageError


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Serves until the editor ends. Raises UsageError where the package of the protocol is missing."""
    try:
        from krmfn.cli.lsp.server import server
    except ModuleNotFoundError as missing:
        raise UsageError(f"krmfn lsp needs the package {missing.name}: pip install 'krmfn[lsp]'") from None
    server.start_io()
    return 0
