"""`./dev example` on machines that lack kustomize or Go, or have an old one: it does what it can and says the rest."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.tools import ROOT

OLD_GO = "echo go1.19.8"
OFFLINE_GO = """case "$1" in env) echo go1.26.1 ;; *) echo "dial tcp: lookup proxy: no such host" >&2; exit 1 ;; esac"""
OLD_KUSTOMIZE = "echo '{Version:kustomize/v4.5.7 GitCommit:56d8}'"
NEW_KUSTOMIZE = 'test "$1" = version && echo v5.0.3 || echo "kustomize $*"'


def run_example(folder: Path, **programs: str) -> subprocess.CompletedProcess[str]:
    """`./dev example examples/job` in a copy of what it needs, with `programs` and without other kustomizes and Gos."""
    shutil.copy(ROOT / "dev", folder)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "examples" / "job", folder / "examples" / "job")
    for name in ("krmfn", "schemas"):
        (folder / name).symlink_to(ROOT / name)
    place = folder / "bin"
    place.mkdir()
    for name in ("bash", "cat", "chmod", "cksum", "dirname", "env", "grep", "mkdir", "mktemp", "rm", "sh", "sort"):
        (place / name).symlink_to(shutil.which(name) or name)
    for name, script in programs.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
        (place / name).chmod(0o755)
    if "python3" not in programs:
        install(folder)
    environment = {**os.environ, "PATH": str(place), "XDG_CACHE_HOME": str(folder / "cache")}
    environment.pop("PYTHON", None)
    command = [str(folder / "dev"), "example", "examples/job"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def install(folder: Path, extras: str = "") -> None:
    """What `./dev` makes of a checkout: the packages, and the stamp that says for which pyproject.toml they are."""
    packages = folder / ".venv" / "bin"
    packages.mkdir(parents=True)
    for name in ("python", "krmfn"):
        program = sys.executable if name == "python" else str(Path(sys.executable).with_name(name))
        (packages / name).symlink_to(program)
    stamp = subprocess.run(["cksum", "pyproject.toml"], cwd=folder, capture_output=True, text=True, check=True).stdout
    (folder / ".venv" / "krmfn-stamp").write_text(f"{stamp.strip()} {extras}")


#: A Python that makes environments whose pip has no network, and does everything else as `python` does.
OFFLINE = """case "$*" in
"-m venv .venv") mkdir -p .venv/bin
  echo '#!/bin/sh' > .venv/bin/python
  echo 'echo "NewConnectionError: Temporary failure in name resolution" >&2; exit 1' >> .venv/bin/python
  chmod +x .venv/bin/python ;;
*) exec {python} "$@" ;;
esac"""


@pytest.mark.parametrize(
    "programs", [{}, {"go": OLD_GO}, {"kustomize": OLD_KUSTOMIZE}, {"go": OLD_GO, "kustomize": OLD_KUSTOMIZE}]
)
def test_without_kustomize_5_and_go_the_groups_are_generated_all_the_same(
    programs: dict[str, str], tmp_path: Path
) -> None:
    done = run_example(tmp_path, **programs)
    assert done.returncode == 0, done.stderr
    assert "kind: PodGroup" in done.stdout
    assert [line for line in done.stderr.splitlines() if line.startswith("dev: ")] == [
        "dev: cannot build kustomize: it needs Go 1.24 or newer; install Go from https://go.dev/dl",
        "dev: left out: kustomize build; this is krmfn generate examples/job. With kustomize 5 or newer on the PATH, "
        "its functions run",
    ]


def test_without_a_network_the_packages_of_the_machine_do(tmp_path: Path) -> None:
    done = run_example(tmp_path, python3=OFFLINE.format(python=sys.executable), go=OFFLINE_GO)
    assert done.returncode == 0, done.stderr
    assert "kind: PodGroup" in done.stdout
    lines = [line for line in done.stderr.splitlines() if line.startswith("dev: ")]
    assert "dev: no network: .venv/bin/python -m pip install --quiet --editable . failed" in lines
    assert "dev: left out: .venv; krmfn runs with the Python packages of this machine" in lines
    assert "dev: cannot build kustomize: go install failed" in lines
    assert not any("trying again" in line or "install Go" in line for line in lines)


def test_without_a_network_and_packages_it_says_which(tmp_path: Path) -> None:
    done = run_example(tmp_path, python3=OFFLINE.format(python=f"{sys.executable} -I -S"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-2:] == [
        "dev: pip could not install the packages: connect to the network, or set up pip for a mirror",
        "dev: or use this machine's own packages, without .venv: apt-get install python3-click python3-yaml",
    ]


def test_a_kustomize_on_the_path_that_is_new_enough_is_used(tmp_path: Path) -> None:
    done = run_example(tmp_path, kustomize=NEW_KUSTOMIZE, go=OLD_GO)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "kustomize build --enable-alpha-plugins --enable-exec examples/job\n"


def test_paths_are_for_pytest_alone(tmp_path: Path) -> None:
    for name in ("dev", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    install(tmp_path, "[test,docs]")
    for name in ("pytest", "ruff", "mypy"):
        program = tmp_path / ".venv" / "bin" / name
        program.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        program.chmod(0o755)
    command = [str(tmp_path / "dev"), "test", "tests/krm", "-k", "anchors"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "pytest -q -n 2 tests/krm -k anchors\n", "")


def test_the_second_image_is_the_first_and_the_simulators(tmp_path: Path) -> None:
    """Which commands `./dev image --simulator` gives the engine, and what lies beside the Dockerfile then."""
    log, cache = tmp_path / "log", tmp_path / "cache" / "krmfn" / "bin"
    cache.mkdir(parents=True)
    releases = sorted(path.name for path in (ROOT / "simulator").iterdir() if path.is_dir())
    for release in releases:
        (cache / f"krmfn-simulator-{release}").touch(0o755)
    (tmp_path / "docker").write_text(
        f'#!/bin/sh\necho "$@" >> {log}\nfor last; do :; done\n[ -d "$last" ] && ls "$last" >> {log} || :\n'
    )
    (tmp_path / "docker").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environment.pop("KRMFN_BUILD", None)
    command = [str(ROOT / "dev"), "image", "--simulator", "--build-arg", "A=b"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = log.read_text()
    assert "-t krmfn:dev --build-arg A=b ." in said
    second = said[said.index("build --build-arg BASE_IMAGE=krmfn:dev -f simulator/Dockerfile -t krmfn:dev-simulator") :]
    assert second.splitlines()[1:] == [f"krmfn-simulator-{release}" for release in releases]


PROGRAMS = re.compile(r'\brun\(\s*\[?"(git|jq|kubectl|kpt|kustomize|podman)"')


def test_a_test_that_starts_a_program_is_skipped_without_it() -> None:
    """`./dev test` on a bare machine: no errors. The helpers `git` and `commit` ask for git."""
    for path in (ROOT / "tests").rglob("test_*.py"):
        text = path.read_text()
        for program in PROGRAMS.findall(text):
            assert re.search(rf'require(_{program}\(|\("{program}")', text) or (
                program == "git" and re.search(r"\b(git|commit)\(", text)
            ), (path, program)
