"""How a program of the rig ends: what it lacks is one line on stderr and exit status 2, not a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn


class Unable(RuntimeError):
    """Something that the rig needs is not there, or does not do its work; the message says what, and how to get it."""


def end(main: Callable[[list[str]], int]) -> NoReturn:
    """Runs `main` with the words of the command line, and ends the process with its status."""
    try:
        sys.exit(main(sys.argv[1:]))
    except Unable as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
