"""Who may import whom, how long a file may be, what it may be called, and what the function's start may load."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "krmfn"
MODULES = sorted(PACKAGE.rglob("*.py"))
OURS = [
    p for d in ("krmfn", "tests", "benchmarks", "conformance", "examples", "release") for p in (ROOT / d).rglob("*.py")
]

#: Parts of the package, and the parts that each may import besides itself. What is not listed may import every part.
ARROWS = {
    "tree": {"krm"},  # for the base of records alone
    "krm": set[str](),
    "schemastore": set[str](),
    "sources": {"tree", "krm", "config", "findings", "schemastore", "names"},
    "targets": {"tree", "krm", "config", "findings", "schemastore", "names", "quantity"},
    "checks": {"tree", "krm", "config", "findings", "schemastore", "names", "quantity"},
    "config": {"krm", "findings", "schemastore"},
    "reports": {"krm", "catalogue", "findings", "forest", "plan"},
    "findings": {"krm"},
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc", "tools"}
#: What the function may not load when it has nothing to do: each costs milliseconds on every build.
HEAVY = {"click", "jsonschema", "ruamel", "yaml", "dataclasses", "inspect", "importlib.metadata", "importlib.resources"}
HEAVY |= {"pathlib", "argparse", "hashlib", "json", "logging", "subprocess", "tempfile"}
EMPTY = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"


def part_of(module: str) -> str:
    """`krmfn.krm.paths` is part `krm`; `krmfn` itself is part ``."""
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, also inside functions and for type checkers, with the line."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "krmfn":
                yield from ((node.lineno, f"krmfn.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    here = path.relative_to(PACKAGE).with_suffix("").parts[0]
    wrong = []
    for line, module in imports_of(path):
        if module.split(".")[0] == "click" and here != "cli":
            wrong.append(f"line {line}: only the command line imports click")
        target = part_of(module) if module.split(".")[0] == "krmfn" else here
        if target in {"", here} or target.startswith("__"):
            continue
        if here in ARROWS and target not in ARROWS[here]:
            wrong.append(f"line {line}: {here} may not import {module}")
        if target == "cli" and here not in {"cli", "__main__"}:
            wrong.append(f"line {line}: nothing but the entry point imports the command line")
    assert not wrong


@pytest.mark.parametrize("path", OURS, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_file_has_one_purpose(path: Path) -> None:
    text = path.read_text()
    assert len(text.splitlines()) < 300
    inside = path.is_relative_to(PACKAGE)
    assert not inside or not FORBIDDEN_NAMES & set(path.relative_to(PACKAGE).with_suffix("").parts)
    if not path.is_relative_to(ROOT / "examples"):
        assert not text.strip() or ast.get_docstring(ast.parse(text)), "opens with what it holds"


@pytest.mark.parametrize(
    "text", [EMPTY, EMPTY.replace("items: []", "items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a")]
)
def test_a_start_with_nothing_to_do_loads_nothing_heavy(text: str) -> None:
    program = (
        "import sys\n"
        "from krmfn.__main__ import main\n"
        "sys.argv = ['krmfn']\n"
        "code = main()\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not HEAVY & set(done.stderr.split())
