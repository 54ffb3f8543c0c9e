"""`krmfn help [COMMAND]`: the help of the command line, or of a command."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli import COMMANDS


def list_words() -> Iterable[str]:
    return COMMANDS


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    from krmfn.cli.app import main

    return main([*words, "--help"])
