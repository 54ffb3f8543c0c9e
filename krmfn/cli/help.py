"""`krmfn help [COMMAND]`: the help of the command line, or of a command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli import COMMANDS
from krmfn.cli.options import Argument

SUMMARY = "Prints the help of a command."
ARGUMENTS = Argument("[COMMAND]", "The command. [default: all of them, with their summaries]", 0, 1)
OPTIONS = ()


def list_words() -> Iterable[str]:
    return COMMANDS


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    from krmfn.cli.app import main

    return main([*words, "--help"])
