"""krmfn without a process of its own: for tests that ask many questions."""

from __future__ import annotations

import contextlib
import io
import subprocess

from krmfn.cli.app import main


def krmfn(*words: str) -> subprocess.CompletedProcess[str]:
    """What a command prints to its output, and its exit status."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(out):
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.buffer.getvalue().decode(), "")
