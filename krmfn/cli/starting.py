"""A command at work: by itself, or from what an earlier run has left. Imports what that takes when it is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

VARIABLE: Final = "KRMFN_CACHE"


def begin(
    command: Callable[[Sequence[str], Mapping[str, Any]], int], words: Sequence[str], options: Mapping[str, Any]
) -> int:
    """The exit code of a command with its words and options; where it has a cache, it says again what it said."""
    if "cache" in options and (folder := options["cache"] or os.environ.get(VARIABLE)):
        from krmfn.cli.caching import repeat

        return repeat(command, words, {**options, "cache": folder})
    return command(words, options)
