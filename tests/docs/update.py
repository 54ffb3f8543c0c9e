"""Writes the files and outputs that pages show into them: `python -m tests.docs.update docs/tutorial.md`.

Without names, all pages. Outputs that hold `...` and still match are left alone. Read the difference before committing.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.docs.pages import Page, matches, read_page
from tests.docs.sessions import ROOT, run_page, source

#: What differs from run to run.
DURATION = re.compile(r"\bin [0-9.]+m?s\b")


def main(names: list[str]) -> None:
    """Update the named pages in place."""
    for path in map(Path.resolve, map(Path, names)) if names else sorted((ROOT / "docs").rglob("*.md")):
        update_files(path, read_page(path))
        if "```console" in path.read_text():
            update_outputs(path, read_page(path))


def update_files(path: Path, page: Page) -> None:
    """Put the text of the repository's files into the blocks that show them."""
    lines = path.read_text().splitlines(keepends=True)
    for block in reversed(page.blocks):
        file = source(path, page, block)
        if not block.title or not file.is_file():
            continue
        opening = lines[block.line - 1]
        indent = opening[: len(opening) - len(opening.lstrip())]
        shown = [indent + line if line.strip() else line for line in file.read_text().splitlines(keepends=True)]
        lines[block.line : block.line + len(block.text.splitlines())] = shown
    path.write_text("".join(lines))


def update_outputs(path: Path, page: Page) -> None:
    """Put what the commands print behind them."""
    with tempfile.TemporaryDirectory() as folder:
        runs = run_page(path, page, Path(folder))
    lines = path.read_text().splitlines(keepends=True)
    for step, outcome in reversed(runs):
        if not step.line_of_output or matches(step.output, outcome.output):
            continue
        first = step.line_of_output - 1
        shown = DURATION.sub("in ...", outcome.output)
        lines[first : first + len(step.output.splitlines())] = shown.splitlines(keepends=True)
        print(f"{path.name}:{step.line}: {step.command}")
    path.write_text("".join(lines))


if __name__ == "__main__":
    main(sys.argv[1:])
