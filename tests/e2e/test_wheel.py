"""What a user gets is whole, and made from this checkout alone: wheel, source archive, single file."""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from krmfn.cli import COMMANDS
from release.single_file import MINORS
from tests.e2e.tools import JOB, ROOT, function


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by pip from this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(command, check=True)
    (built,) = folder.glob("krmfn-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment that holds the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    interpreter = folder / "bin" / "python"
    subprocess.run([str(interpreter), "-m", "pip", "install", "--quiet", str(wheel)], check=True)
    return interpreter


def test_the_wheel_holds_the_schemas_and_nothing_of_the_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "krmfn/schemas/krmfn/v1alpha1/gangscheduling.json" in names
    assert "krmfn/schemas/kubernetes/1.37/podgroup.json" in names
    assert "krmfn/pages/minimum.md" in names
    assert "krmfn/py.typed" in names
    assert {name.split("/")[0] for name in names} == {"krmfn", f"krmfn-{wheel.name.split('-')[1]}.dist-info"}


def test_two_builds_give_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True)
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_installed_function_runs_anywhere_without_environment(python: Path, tmp_path: Path) -> None:
    request = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [JOB]}
    done = subprocess.run(
        [str(python.parent / "krmfn")],
        input=yaml.safe_dump({**request, "functionConfig": function()}),
        env={},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [item["kind"] for item in yaml.safe_load(done.stdout)["items"]] == ["Job", "Workload", "PodGroup"]


def test_the_installed_command_finds_its_schemas(python: Path, tmp_path: Path) -> None:
    group = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}}
    (tmp_path / "a.yaml").write_text(yaml.safe_dump({**group, "spec": {}}))
    command = [str(python.parent / "krmfn"), "validate", "a.yaml"]
    done = subprocess.run(command, env={}, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "spec.schedulingPolicy" in done.stdout


def test_the_oldest_versions_that_it_accepts_do(wheel: Path, tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    oldest = [each.replace(">=", "==") for each in project["project"]["dependencies"]]
    assert all("==" in each for each in oldest)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    program = tmp_path / "venv" / "bin" / "python"
    subprocess.run([str(program), "-m", "pip", "install", "--quiet", str(wheel), *oldest], check=True)
    for command in COMMANDS:
        done = subprocess.run(
            [str(program), "-m", "krmfn", "help", command], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert done.stdout.startswith(f"Usage: krmfn {command}")


def test_the_source_archive_makes_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "build", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (archive,) = tmp_path.glob("krmfn-*.tar.gz")
    with tarfile.open(archive) as content:
        assert not [name for name in content.getnames() if ".venv" in name or "__pycache__" in name]
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(archive)]
    subprocess.run(command, check=True)
    assert zipfile.ZipFile(tmp_path / wheel.name).namelist() == zipfile.ZipFile(wheel).namelist()
    assert (tmp_path / wheel.name).read_bytes() == wheel.read_bytes()


def test_the_single_file_runs_without_installation(tmp_path: Path) -> None:
    program = tmp_path / "krmfn.pyz"
    subprocess.run([sys.executable, str(ROOT / "release" / "single_file.py"), str(program)], check=True)
    request = yaml.safe_dump({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [JOB]})
    for _ in ("unpacks", "finds it unpacked"):
        done = subprocess.run(
            [sys.executable, "-S", str(program)],
            input=request,
            env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert [item["kind"] for item in yaml.safe_load(done.stdout)["items"]] == ["Job", "Workload", "PodGroup"]
    assert len(list((tmp_path / "cache" / "krmfn").iterdir())) == 1
    # As if an older Python ran it.
    older = f"import runpy, sys; sys.version_info = (3, 9, 2); runpy.run_path({str(program)!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-S", "-c", older], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done.stderr
    assert f"3.{sys.version_info[1]}" in done.stderr
    assert "here is Python 3.9 on " in done.stderr
    # On every Python of this machine: the newer ones run it, the older ones say with one line that they cannot.
    for python in find_pythons():
        done = subprocess.run(
            [python, str(program)],
            input=request,
            env={"XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            assert [item["kind"] for item in yaml.safe_load(done.stdout)["items"]] == ["Job", "Workload", "PodGroup"]
        else:
            assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), (python, done.stderr)
        supported = int(Path(python).name.partition(".")[2]) in MINORS
        assert (done.returncode == 0) == supported, (python, done.stderr)


def find_pythons() -> list[str]:
    """The Pythons from 3.6 on that work here, one of each minor version."""
    found = []
    for minor in range(6, 20):
        program = shutil.which(f"python3.{minor}")
        if program and subprocess.run([program, "-c", ""], check=False, capture_output=True).returncode == 0:
            found.append(program)
    return found


def test_the_lock_pins_what_the_image_is_built_with() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [Requirement(each) for each in (*project["project"]["dependencies"], *project["build-system"]["requires"])]
    lock = (ROOT / "release" / "requirements.txt").read_text().replace("\\\n", " ").splitlines()
    entries = [line.split() for line in lock if line[:1] not in {"", "#"}]
    pinned = {canonicalize_name(name): version for name, _, version in (entry[0].partition("==") for entry in entries)}
    assert all(entry[1:] and all(word.startswith("--hash=sha256:") for word in entry[1:]) for entry in entries)
    assert [str(each) for each in wanted if not each.specifier.contains(pinned[canonicalize_name(each.name)])] == []
