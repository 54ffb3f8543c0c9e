"""Who may import whom, how long a file may be, what it may be called, and what the function's start may load."""

import ast
import functools
import graphlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from krmfn.checks.rule import OF_PODS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "krmfn"
MODULES = sorted(PACKAGE.rglob("*.py"))
OURS = [
    p for d in ("krmfn", "tests", "benchmarks", "conformance", "examples", "release") for p in (ROOT / d).rglob("*.py")
]

#: The rooms, from the ground up, and those that each may import besides itself. Data flows one way: there is no circle.
ARROWS: dict[str, set[str]] = {
    room: set(row["imports"]) for room, row in yaml.safe_load((ROOT / "docs" / "rooms.yaml").read_text()).items()
}
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc", "tools"}
#: What the function may not load when it has nothing to do: each costs milliseconds on every build.
HEAVY = {"click", "jsonschema", "ruamel", "yaml", "dataclasses", "inspect", "importlib.metadata", "importlib.resources"}
HEAVY |= {"pathlib", "argparse", "hashlib", "json", "logging", "subprocess", "tempfile"}
#: What nothing that is run for one object may load either: a tenth of its time.
HEAVY_FOR_ONE = HEAVY - {"json", "hashlib"} | {"signal"}
EMPTY = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
_OWNER = "metadata:\n  name: a\n  annotations:\n    krmfn.dev/gang: 'true'\nspec:\n"
_PODS = "template:\n  spec:\n    restartPolicy: Never\n    containers:\n    - name: a\n      image: a\n"
ONE = {
    "Job": f"apiVersion: batch/v1\nkind: Job\n{_OWNER}  parallelism: 2\n" + textwrap.indent(_PODS, "  "),
    "RayCluster": f"apiVersion: ray.io/v1\nkind: RayCluster\n{_OWNER}  headGroupSpec:\n"
    + textwrap.indent(_PODS, "    "),
    "PodGroup": "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata:\n  name: a\n"
    "spec:\n  schedulingPolicy:\n    gang:\n      minCount: 4\n",
}


@functools.cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def part_of(module: str) -> str:
    """`krmfn.krm.paths` is part `krm`; `krmfn` itself is part ``."""
    return module.split(".")[1] if "." in module else ""


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports, also inside functions and for type checkers, with the line."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            if node.module == "krmfn":
                yield from ((node.lineno, f"krmfn.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def test_imports_follow_the_arrows() -> None:
    wrong = []
    for path in MODULES:
        here = path.relative_to(PACKAGE).with_suffix("").parts[0]
        assert here in ARROWS, f"a new part: say in docs/rooms.yaml whom {here} may import"
        for line, module in imports_of(path):
            if module.split(".")[0] == "click" and here != "cli":
                wrong.append(f"{path}:{line}: only the command line imports click")
            target = part_of(module) if module.split(".")[0] == "krmfn" else here
            if target not in {"", here, "__version__"} and target not in ARROWS[here]:
                wrong.append(f"{path}:{line}: {here} may not import {module}")
    assert wrong == []


def test_the_arrows_form_no_circle() -> None:
    order = list(ARROWS)
    for part, targets in ARROWS.items():
        assert {target for target in targets if order.index(target) >= order.index(part)} <= {"api", "function", "cli"}


def test_files_form_no_circle() -> None:
    """Within a room, too, and whether an import stands at the top, in a function or is for type checkers only."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    arrows: dict[str, set[str]] = {name: set() for name in names}
    for name, path in names.items():
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.Import):
                arrows[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):  # of a package a name, or a module in it
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                arrows[name] |= inside & names.keys() or {str(node.module)}
        arrows[name] = arrows[name] & names.keys() - {name, "krmfn"}
    graphlib.TopologicalSorter(arrows).prepare()


def test_private_names_are_used() -> None:
    assert {path: unused for path in MODULES if (unused := find_unused(parse(path)))} == {}


def find_unused(tree: ast.Module) -> set[str]:
    """The private names of a module that nothing in it reads."""
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    used |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    defined: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            defined |= {target.id for target in targets if isinstance(target, ast.Name)}
    quoted = " ".join(
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return {name for name in defined - used if name[0] == "_" != name[1] and name not in quoted}


def test_a_class_has_a_name_of_its_own() -> None:
    """Who reads or searches for a class finds one."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name.strip("_"), []).append(path.relative_to(PACKAGE).as_posix())
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}


def test_a_key_is_written_down_once() -> None:
    """Labels, annotations and other words with a slash: one constant, which the others import."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in parse(path).body if path.is_relative_to(PACKAGE) else ():
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and "/" in value.value:
                found.setdefault(value.value, []).append(path.relative_to(PACKAGE).as_posix())
    assert len(found) > 20
    assert {key: paths for key, paths in found.items() if len(paths) > 1} == {}


def test_a_list_of_words_is_written_down_once() -> None:
    """Kinds, stages, names of files: the second copy is the one that somebody forgets."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in parse(path).body:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            if isinstance(value, ast.Tuple | ast.List | ast.Dict):
                parts = value.keys if isinstance(value, ast.Dict) else value.elts
                if len(parts) > 2 and all(isinstance(part, ast.Constant) for part in parts):
                    found.setdefault(ast.unparse(value), []).append(path.relative_to(PACKAGE).as_posix())
    assert len(found) > 50
    assert {key: paths for key, paths in found.items() if len(paths) > 1} == {}


#: Who may do what with the world outside: each is a gate that everybody else uses. Schemas and pages are our own files.
GATES = {
    "files": {
        *("workspace/disk.py", "workspace/replacing.py", "workspace/staging.py", "workspace/rendering.py"),
        *("workspace/witness.py", "workspace/storing.py"),
        *("releases/schemastore.py", "reports/pages.py", "cli/streams.py", "krm/running.py"),
        "workspace/fleet.py",
        "workspace/helm.py",  # the copies that helm reads
        "model/schedules.py",  # the time zones of the system
    },
    "processes": {"workspace/processes.py", "krm/sharing.py", "mcp.py"},
    "streams": {
        *(
            "__main__.py",
            "cli/streams.py",
            "cli/findings.py",
            "workspace/manifests.py",
            "krm/running.py",
        ),
    },
}
_FILES = {
    "open",
    "remove",
    "unlink",
    "rename",
    "replace",
    "mkdir",
    "makedirs",
    "rmdir",
    "symlink",
    "link",
    "chmod",
    "dup2",
}


def list_doors(path: Path) -> Iterator[tuple[int, str]]:
    """Every line at which a module opens or changes files, starts processes, or takes a standard stream."""
    for node in ast.walk(parse(path)):
        match node:
            case ast.Call(func=ast.Name(id="open")):
                yield node.lineno, "files"
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in _FILES:
                yield node.lineno, "files"
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name.startswith(
                ("exec", "spawn", "popen", "system", "fork")
            ):
                yield node.lineno, "processes"
            case ast.Import(names=names) if any(alias.name == "subprocess" for alias in names):
                yield node.lineno, "processes"
            case ast.Attribute(value=ast.Name(id="sys"), attr="stdin" | "stdout" | "stderr"):
                yield node.lineno, "streams"
            case ast.Call(func=ast.Name(id="print")):
                yield node.lineno, "streams"


def test_the_world_outside_is_behind_gates() -> None:
    doors = [(path.relative_to(PACKAGE).as_posix(), *found) for path in MODULES for found in list_doors(path)]
    assert [(here, line, door) for here, line, door in doors if here not in GATES[door]] == []


def test_a_function_fits_on_a_screen() -> None:
    functions = [
        (path, node) for path in MODULES for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef)
    ]
    assert [(path, each.name) for path, each in functions if (each.end_lineno or 0) - each.lineno >= 60] == []


def test_a_file_has_one_purpose() -> None:
    assert [path for path in OURS if len(path.read_text().splitlines()) > 500] == []
    assert [path for path in MODULES if FORBIDDEN_NAMES & set(path.relative_to(PACKAGE).with_suffix("").parts)] == []
    silent = [
        path for path in OURS if not path.is_relative_to(ROOT / "examples") and not ast.get_docstring(parse(path))
    ]
    assert [path for path in silent if path.read_text().strip()] == [], "opens with what it holds"


@pytest.mark.parametrize(
    "text", [EMPTY, EMPTY.replace("items: []", "items:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a")]
)
def test_a_start_with_nothing_to_do_loads_nothing_heavy(text: str) -> None:
    assert sorted(HEAVY.intersection(list_loaded([], text))) == []


#: What every build pays for: of `krm` nothing but reading, and the names of annotations.
START = """__main__ function krm krm.dialect krm.errors krm.fast_reading krm.frames krm.item krm.listing krm.lookup
krm.nodes krm.paths krm.places krm.reading krm.results krm.running krm.sharing
krm.source krm.splitting krm.style model model.marks"""


def test_a_start_with_nothing_to_do_loads_what_it_always_did() -> None:
    ours = [name.removeprefix("krmfn.") for name in list_loaded([], EMPTY) if name.startswith("krmfn.")]
    assert ours == START.split(), "import it in the function that needs it; every build pays for START"


@pytest.mark.parametrize("words", [[], ["validate", "-"]], ids=["function", "validate"])
@pytest.mark.parametrize("kind", ONE)
def test_a_run_over_one_object_loads_nothing_heavy(words: list[str], kind: str) -> None:
    one = ONE[kind]
    text = one if words else EMPTY.replace(" []", "\n- " + one.replace("\n", "\n  ").rstrip() + "\n")
    assert sorted(HEAVY_FOR_ONE.intersection(list_loaded(words, text))) == []


def test_dev_new_finds_the_places_where_it_writes() -> None:
    calls = [node for node in ast.walk(parse(ROOT / "release" / "new.py")) if isinstance(node, ast.Call)]
    marks = [
        (ast.literal_eval(call.args[0]), ast.literal_eval(call.args[1]))
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "_insert"
    ]
    assert len(marks) > 3
    gone = [f"{path}: {mark!r}" for path, mark in marks if mark not in (ROOT / path).read_text()]
    assert not gone, "./dev new writes behind these texts: lay the file out so, or mend release/new.py"


def test_a_recipe_names_functions_that_are_there() -> None:
    """The recipe of a room is in its docstring: `layout.lay_out_whole` in krmfn/targets is a function of that file."""
    named = [
        (path.parent / f"{file}.py", name)
        for path in PACKAGE.glob("*/__init__.py")
        if "To add a " in (told := ast.get_docstring(parse(path)) or "")
        for file, name in re.findall(r"`([a-z_]+)\.([a-z_]+)`", told)
    ]
    assert len(named) > 3
    assert not [f"{path.name}: {name}" for path, name in named if not path.exists() or name not in list_functions(path)]


def test_groups_alone_load_nothing_of_pods() -> None:
    loaded = list_loaded(["validate", "-"], ONE["PodGroup"])
    of_pods = ("krmfn.capacity.pods", "krmfn.checks.operator", "krmfn.server.pods", *OF_PODS)
    assert not [name for name in loaded if name.startswith(of_pods)]


def list_functions(path: Path) -> set[str]:
    return {node.name for node in parse(path).body if isinstance(node, ast.FunctionDef)}


def list_loaded(words: list[str], text: str) -> list[str]:
    """The modules that a run with `text` on stdin has loaded when it ends."""
    program = (
        "import sys\n"
        "from krmfn.__main__ import main\n"
        f"sys.argv = ['krmfn', *{words}]\n"
        "code = main()\n"
        "print(*sorted(sys.modules), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stderr.splitlines()[-1].split()
