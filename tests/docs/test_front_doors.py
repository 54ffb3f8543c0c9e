"""The pages of the front doors: each begins with a program that imports its door alone of krmfn, and prints this."""

from __future__ import annotations

import ast
import sys

import pytest

from tests.docs.pages import matches, read_page, read_steps
from tests.docs.sessions import ROOT, run_commands

DOCS = ROOT / "docs"
#: The page, and the package that its program imports.
DOORS = {"gangs.md": "krmfn", "server.md": "krmfn.server", "reference/krm-sdk.md": "krmfn.krm"}


@pytest.mark.parametrize(("page", "door"), DOORS.items())
def test_the_page_of_a_door_begins_with_a_program_that_runs(page: str, door: str) -> None:
    program, session = read_page(DOCS / page).blocks[:2]
    assert session.text.startswith(f"$ python {program.title}")
    assert len(program.text.splitlines()) <= 15
    (step,) = read_steps(session)
    (done,) = run_commands([step.command], ROOT / read_page(DOCS / page).start)
    assert matches(step.output, done.output), done.output
    assert (ROOT / read_page(DOCS / page).start / program.title).read_text() == program.text
    imported: list[str] = []
    for node in ast.walk(ast.parse(program.text)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported += [str(node.module)] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    assert door in imported
    assert {name for name in imported if name not in sys.stdlib_module_names} == {door}
