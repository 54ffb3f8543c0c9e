"""Writes what the commands of pages really print into the pages: `python -m tests.docs.update docs/tutorial.md`.

Outputs that hold `...` and still match are left alone. Read the difference before you commit it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.docs.pages import matches, read_page
from tests.docs.sessions import run_page


def main(names: list[str]) -> None:
    """Update the named pages in place."""
    for name in names:
        path = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            runs = run_page(path, read_page(path), Path(folder))
        lines = path.read_text().splitlines(keepends=True)
        for step, outcome in reversed(runs):
            if not step.line_of_output or matches(step.output, outcome.output):
                continue
            first = step.line_of_output - 1
            lines[first : first + len(step.output.splitlines())] = outcome.output.splitlines(keepends=True)
            print(f"{name}:{step.line}: {step.command}")
        path.write_text("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
