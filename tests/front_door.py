"""The console script in this process: words and bytes in, bytes and an exit status out. Knows no command.

A process of its own for every call would take minutes; tests/test_goldens.py proves with a few that nothing differs.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from krmfn.__main__ import main

ROOT = Path(__file__).parent.parent


class Done(NamedTuple):
    """What a call wrote and how it ended."""

    out: bytes
    err: bytes
    code: int


def call(data: bytes = b"", words: Sequence[str] = (), folder: Path = ROOT) -> Done:
    """The console script with `words` in `folder`, with `data` on stdin; without words it is the function."""
    out, err = io.BytesIO(), io.BytesIO()
    kept = sys.argv, sys.stdin, sys.stdout, sys.stderr, Path.cwd()
    sys.argv = ["krmfn", *words]
    sys.stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8")
    sys.stdout = io.TextIOWrapper(out, "utf-8", newline="")
    sys.stderr = io.TextIOWrapper(err, "utf-8", newline="")
    os.chdir(folder)
    try:
        code = main()
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(out.getvalue(), err.getvalue(), code)
    finally:
        sys.argv, sys.stdin, sys.stdout, sys.stderr, _ = kept
        os.chdir(kept[-1])
