"""On a machine with an empty cache every documented command of the rig and of `./dev` starts, as far as the first thing
that it would download, build or start; what it lacks is one line, never a traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "conformance/README.md",
    "conformance/scheduler/README.md",
    "renderer/README.md",
    "simulator/README.md",
)
#: Words of a documented command, beside those that every command has.
WORDS = {
    "serve": ["1.37-was"],
    "again": ["conformance/data/recorded/1.37-was.jsonl.xz"],
    "foreign": ["schemas/crds/volcano.json"],
    "next": ["1.37.1"],
    "repositories": ["examples"],
    "accept": ["1.37", "examples/job"],
    "scheduler record": ["1.37", "--first", "9000", "--count", "1"],
    "bridge changes": ["1.37"],
    "live.dumps": ["1.37"],
    "kueue record": ["0", "1"],
    "tags": ["--extract"],
    "upgrade": ["1.36-1.37"],
}
#: What needs neither Go nor etcd; other tests run it.
COMPLETE = {"compare", "definitions", "evidence", "scheduler pack", "scheduler replay"}
#: Words of each documented `./dev` command that asks for something; what others do is
#: tried by tests/e2e, tests/docs and release, or installs Python packages only.
DEVELOPER = {"live": ["1.37"], "renderer": [], "simulator": ["1.37"], "image": ["--simulator"], "bench": ["start-up"]}
ELSEWHERE = {"docs", "example", "file", "fuzz", "lock", "new", "setup", "site", "test"}
#: Programs that download, build or serve: each notes that it was started, and fails as it does without a network.
FAKES = ("go", "etcd", "apt-get", "npm", "docker", "podman")
FAKE = """\
#!/bin/sh
[ "$*" != "env GOVERSION" ] || {{ echo go1.30.0; exit; }}
echo "{name} $*" >>"{folder}/started"
echo "no network" >&2
exit 1
"""


def list_commands() -> dict[str, list[str]]:
    """The words of each documented command, by a short name."""
    text = "\n".join(Path(ROOT, page).read_text() for page in PAGES)
    table = re.findall(r"^\| `(\w+)[ `]", text, re.MULTILINE)
    found = {name: ["-m", "conformance", name] for name in table if name in _list_choices()}
    for module, name in re.findall(r"python -m conformance\.([\w.]+)(?: ([a-z]\w+))?", text):
        short = f"{module} {name}".rstrip()
        found[short] = ["-m", f"conformance.{module}", *([name] if name else [])]
    return {name: [*words, *WORDS.get(name, ())] for name, words in found.items() if name not in COMPLETE}


def _list_choices() -> set[str]:
    text = (ROOT / "conformance" / "commands.py").read_text()
    return set(re.findall(r'command\(\s*"(\w+)"', text))


def test_every_command_of_the_rig_is_documented() -> None:
    assert _list_choices() <= {*list_commands(), *COMPLETE}


@pytest.fixture
def nothing(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty cache and with the programs above."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in FAKES:
        program = folder / name
        program.write_text(FAKE.format(name=name, folder=tmp_path))
        program.chmod(0o755)
    (folder / "sleep").symlink_to("/bin/true")  # what fails is tried again at once
    cache = str(tmp_path / "cache")
    path = os.pathsep.join([str(folder), str(Path(sys.executable).parent), "/usr/bin", "/bin"])
    known = {key: value for key, value in os.environ.items() if key not in ("KRMFN_APISERVERS", "CI")}
    return {**known, "PATH": path, "XDG_CACHE_HOME": cache, "HOME": str(tmp_path)}


def check(command: list[str], env: dict[str, str], folder: Path) -> None:
    """Something was started, or what is missing is said; and that is all."""
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (1, 2), done.stdout + done.stderr
    said = done.stderr.strip().splitlines()
    assert (folder / "started").exists() or re.search(r"no kube-apiserver|is missing|not installed", said[-1]), said


@pytest.mark.parametrize("name", list_commands())
def test_a_command_of_the_rig_starts(name: str, nothing: dict[str, str], tmp_path: Path) -> None:
    check([sys.executable, *list_commands()[name]], nothing, tmp_path)


@pytest.mark.parametrize("words", ["image", *(" ".join([name, *words]) for name, words in DEVELOPER.items())])
def test_a_command_of_the_developer_starts(words: str, nothing: dict[str, str], tmp_path: Path) -> None:
    check(["./dev", *words.split()], nothing, tmp_path)


def test_no_page_names_a_command_that_is_not_tried() -> None:
    pages = [ROOT / page for page in PAGES] + sorted(ROOT.glob("docs/**/*.md")) + [ROOT / "playground" / "README.md"]
    text = "\n".join(page.read_text() for page in pages)
    assert set(re.findall(r"(?:^\s*|\$ |`)\./dev ([a-z]+)", text, re.MULTILINE)) <= {*DEVELOPER, *ELSEWHERE}
    rig = {
        f"{module} {name}".strip()
        for module, name in re.findall(r"-m conformance(?:\.([\w.]+))?(?: ([a-z]\w+))?", text)
    }
    assert rig - {""} <= {*list_commands(), *COMPLETE, *(name.split()[0] for name in list_commands())}
