"""The pages of the front doors: each begins with a program that imports its door alone of krmfn, and runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import read_page

DOCS = Path(__file__).parents[2] / "docs"
#: The page, and the package that its program imports.
DOORS = {"gangs.md": "krmfn"}


@pytest.mark.parametrize(("page", "door"), DOORS.items())
def test_the_example_of_a_door_runs(page: str, door: str, tmp_path: Path) -> None:
    program, output = read_page(DOCS / page).blocks[:2]
    assert (program.title, output.title) == ("example.py", "output")
    assert len(program.text.splitlines()) <= 15
    done = subprocess.run(
        [sys.executable, "-"], input=program.text, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == (output.text, "")
    for node in ast.walk(ast.parse(program.text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            assert all(name == door or name in sys.stdlib_module_names for name in names)
