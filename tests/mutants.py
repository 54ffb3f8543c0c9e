"""`python -m tests.mutants`: plants mistakes in the code, one at a time, and says which of them no test notices.

A mutant changes one comparison, condition, constant, operator or result of a function, in a copy of the checkout. The
tests of its room run, and then those of whole runs; a mutant that lives is a line that could be wrong without anybody
knowing. The same seed plants the same mutants in the same code, so that two states of the tests can be compared:
`--tests` takes those of another checkout.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import NamedTuple

import yaml

ROOT = Path(__file__).parents[1]
#: What is run after the tests of the room: whole runs, which go through most rooms.
WHOLE = ("tests/test_goldens.py", "tests/test_golden_commands.py", "tests/cli", "tests/scheduler")
SECONDS = 400
#: How many seconds after now a file that is written seems to be.
_WRITTEN = count(1)
OPPOSITES: dict[type[ast.cmpop], type[ast.cmpop]] = {
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}


class Mutant(NamedTuple):
    """A change of one place: the file, the line and column, the old text and the new one."""

    path: str
    line: int
    column: int
    end: tuple[int, int]
    old: str
    new: str

    @property
    def room(self) -> str:
        """The package or module below krmfn/."""
        return Path(self.path).parts[1].removesuffix(".py")

    def apply(self, text: str) -> str:
        """The text of the file with the change."""
        lines = text.splitlines(keepends=True)
        start, stop = _offset(lines, self.line, self.column), _offset(lines, *self.end)
        data = text.encode()
        return (data[:start] + self.new.encode() + data[stop:]).decode()

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.old} -> {self.new}"


def _offset(lines: Sequence[str], line: int, column: int) -> int:
    return sum(len(each.encode()) for each in lines[: line - 1]) + column


def find_mutants(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        for target, new in _change(node):
            old = ast.unparse(target)
            if target.end_lineno is not None and target.end_col_offset is not None and new != old and "\n" not in old:
                end = (target.end_lineno, target.end_col_offset)
                place = path.relative_to(ROOT).as_posix()
                yield Mutant(place, target.lineno, target.col_offset, end, old, new)


def _change(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Expressions in a node, each with what stands for it in a mutant."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPPOSITES:
            yield node, ast.unparse(ast.Compare(left, [OPPOSITES[type(op)]()], [right]))
        case ast.BoolOp(op=op, values=values):
            other: ast.boolop = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield node, f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS and not _is_text(left, right):
            yield node, f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))})"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.Constant(value=bool() as found):
            yield node, str(not found)
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            yield node, str(number + 1)


def _is_text(*operands: ast.expr) -> bool:
    return any(isinstance(each, ast.JoinedStr | ast.List | ast.Tuple) or "'" in ast.unparse(each) for each in operands)


def choose(count: int, seed: int, rooms: Sequence[str]) -> list[Mutant]:
    """So many mutants of all files, chosen by the seed: first a file, so that long files are not all that is asked."""
    rng = Random(seed)
    files = sorted((ROOT / "krmfn").rglob("*.py"))
    chosen: list[Mutant] = []
    while len(chosen) < count:
        found = list(find_mutants(rng.choice(files)))
        mutant = rng.choice(found) if found else None
        if mutant and mutant not in chosen and (not rooms or mutant.room in rooms):
            chosen.append(mutant)
    return chosen


def list_tests(room: str, tests: Path) -> list[str]:
    """The tests of a room, as docs/rooms.yaml names them."""
    rows = yaml.safe_load((ROOT / "docs" / "rooms.yaml").read_text())
    return [path for path in rows[room]["tests"] if (tests / path).exists()]


def is_noticed(mutant: Mutant, copy: Path, tests: Path) -> bool:
    """Whether a test fails, or takes far too long, with the mutant in a copy of the checkout."""
    place = copy / mutant.path
    text = place.read_text()
    changed = mutant.apply(text)
    ast.parse(changed)
    try:
        write(place, changed)
        return any(run_tests(paths, copy) for paths in (list_tests(mutant.room, tests), WHOLE))
    finally:
        write(place, text)


def write(place: Path, text: str) -> None:
    """Writes a file with a time of its own: bytecode is known by its second, and by the size of the text."""
    place.write_text(text)
    second = int(place.stat().st_mtime) + next(_WRITTEN)
    os.utime(place, (second, second))


def run_tests(paths: Sequence[str], copy: Path) -> str:
    """The last lines of the first test that fails; empty where none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow"]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONPYCACHEPREFIX": str(copy.parent / "bytecode")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # some thousand starts compiled krmfn each
    try:
        done = subprocess.run(
            [*command, *paths],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"more than {SECONDS} s"
    return "" if done.returncode in (0, 5) else done.stdout[-500:] + done.stderr[-500:]


def main(words: list[str]) -> int:
    """Prints each mutant with its end, and a table; 1 where one lives."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--room", action="append", default=[], help="only in this room; repeatable")
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose tests run")
    given = parser.parse_args(words)
    ends: Counter[tuple[str, bool]] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        ignore = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".*_cache", "site", "dist")
        shutil.copytree(ROOT, copy, ignore=ignore)
        if given.tests != ROOT:
            shutil.rmtree(copy / "tests")
            shutil.copytree(given.tests / "tests", copy / "tests", ignore=ignore)
        chosen = choose(given.count, given.seed, given.room)
        rooms = {room: list_tests(room, given.tests) for room in sorted({mutant.room for mutant in chosen})}
        for name, paths in {**rooms, "whole runs": WHOLE}.items():
            if failing := run_tests(paths, copy):
                print(f"without a mutant the tests of {name} fail, so that all would seem to die:\n{failing}")
                return 2
        for mutant in chosen:
            noticed = is_noticed(mutant, copy, given.tests)
            ends[mutant.room, noticed] += 1
            print("dies " if noticed else "LIVES", mutant, flush=True)
    print(f"\n{'room':12} {'planted':>8} {'died':>6}")
    for room in sorted({room for room, _ in ends}):
        print(f"{room:12} {ends[room, True] + ends[room, False]:8} {ends[room, True]:6}")
    lived = sum(number for (_, noticed), number in ends.items() if not noticed)
    print(f"{'all':12} {ends.total():8} {ends.total() - lived:6}")
    return int(lived > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
