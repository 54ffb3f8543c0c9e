"""`krmfn help [COMMAND]`: the help of the command line, or of a command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli.options import Argument

SUMMARY = "Prints the help of a command."
ARGUMENTS = Argument("[COMMAND]", "The command. [default: all of them, with their summaries]", 0, 1)
OPTIONS = ()


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Prints what --help prints."""
    from krmfn.cli.app import main

    return main([*words, "--help"])
