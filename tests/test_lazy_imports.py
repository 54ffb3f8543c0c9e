"""An import in a function is there for a run that it spares the module: otherwise it stands at the top."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (ROOT / "krmfn").rglob("*.py")
}
#: click is for the commands that print help; what stands for a process of ours stays out of other people's.
SPARED_ELSEWHERE = {"krmfn.__main__", "krmfn.cli.about"}
JOB = (ROOT / "examples/job/job.yaml").read_text()
RAYCLUSTER = (ROOT / "examples/raycluster/raycluster.yaml").read_text()
CONFIG = "{apiVersion: krmfn.dev/v1alpha1, kind: GangScheduling, metadata: {name: a}, spec: {mode: @}}"
PROGRAM = """\
import io, json, sys
from krmfn.__main__ import main
sys.argv, sys.stdin = ["krmfn", *json.loads(sys.argv[1])], io.TextIOWrapper(io.BytesIO(sys.argv[2].encode()))
aside, sys.stdout = sys.stdout, io.TextIOWrapper(io.BytesIO())
main()
print(*(name for name in sys.modules if name.startswith("krmfn")), file=aside)
"""


def list_items(text: str, mode: str = "Generate") -> str:
    item = "- " + text.replace("\n", "\n  ").rstrip() if text else ""
    head = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: {CONFIG.replace('@', mode)}\n"
    return f"{head}items:\n{item}\n" if item else f"{head}items: []\n"


def list_runs(made: str) -> Iterator[tuple[list[str], str]]:
    """Commands with what they read; `made` is what generate makes of a Job."""
    yield [], "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
    yield from (([], list_items(text)) for text in ("", "apiVersion: v1\nkind: ConfigMap\n", JOB, RAYCLUSTER))
    yield [], list_items(JOB, "Validate")
    for text in (JOB, made, made.rpartition("---\n")[2], made.replace("minCount: 8", "minCount: 9")):
        yield ["validate", "-"], text
    yield from ((["validate", "-o", form, "-"], made) for form in ("json", "sarif"))
    yield from (([command, "-"], JOB) for command in ("generate", "tree", "fit"))
    yield ["convert", "--to", "1.36", "-"], made
    for words in (
        *("validate examples/job", "validate examples/raycluster", "generate examples/job", "rules", "schema podgroup"),
        *(
            "generate --write --check examples/job/job.yaml",
            "bridge",
            "kinds",
            "version",
            "diff examples/job examples/fit",
        ),
        "fit --cluster examples/fit/cluster.yaml examples/fit/jobs.yaml",
        "upgrade --kubernetes 1.36 --to 1.37 examples/job",
    ):
        yield words.split(), ""


def list_lazy() -> Iterator[tuple[str, int, set[str]]]:
    """The imports in functions: the module, the line, and what is imported."""
    for name, path in MODULES.items():
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                for node in ast.walk(function):
                    if isinstance(node, ast.ImportFrom) and str(node.module).startswith("krmfn"):
                        inner = (f"{node.module}.{alias.name}" for alias in node.names)
                        yield name, node.lineno, {each if each in MODULES else str(node.module) for each in inner}


def test_an_import_in_a_function_spares_somebody_the_module() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "krmfn", "generate", "-q", "-"], input=JOB, capture_output=True, text=True, check=True
    ).stdout
    loaded: list[set[str]] = []
    for words, text in list_runs(made):
        command = [sys.executable, "-c", PROGRAM, json.dumps(words), text]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        loaded.append(set(done.stdout.split()))
    vain = []
    for name, line, imported in list_lazy():
        having = [modules for modules in loaded if name in modules]
        if name not in SPARED_ELSEWHERE and having and all(imported <= modules for modules in having):
            vain.append(f"{name}:{line}: {', '.join(imported)}")
    assert not vain, "\n".join(vain)
