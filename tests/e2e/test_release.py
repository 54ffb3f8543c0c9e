"""A release, built twice in clean clones: the same bytes, and whoever changes one is found out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from release.making import ARCHIVES, BUNDLE, KEY, KREW, PROVENANCE, SIGNED, SUMS
from tests.e2e.tools import PATH, ROOT, require

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]


def call(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": PATH, "PYTHONPATH": str(checkout)}
    command = [sys.executable, str(checkout / "release" / "making.py"), *words]
    return subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)


def clone(folder: Path) -> Path:
    """This checkout as one commit, whatever is committed here."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    time = {**os.environ, "GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*who, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=folder, check=True, env=time)
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A checkout, and the release that was built of it."""
    require("git", "apt-get install git")
    require("cosign", "./dev setup builds it into the cache")
    checkout = clone(tmp_path_factory.mktemp("checkout"))
    target = tmp_path_factory.mktemp("releases") / "first"
    done = call(checkout, "build", str(target))
    assert done.returncode == 0, done.stderr
    return checkout, target


def test_two_builds_give_the_same_bytes(release: tuple[Path, Path], tmp_path: Path) -> None:
    _, first = release
    again = clone(tmp_path / "elsewhere")
    assert call(again, "build", str(tmp_path / "second")).returncode == 0
    files = {path.name: path.read_bytes() for path in first.iterdir() if path.name not in SIGNED}
    others = {path.name: path.read_bytes() for path in (tmp_path / "second").iterdir() if path.name not in SIGNED}
    assert sorted(files) == sorted(others)
    assert [name for name, data in files.items() if others[name] != data] == []


def test_kubectl_runs_it_as_a_plugin(release: tuple[Path, Path], tmp_path: Path) -> None:
    """As krew installs it, which checks the manifest on the way."""
    _, folder = release
    krew = require("krew", "./dev setup builds it into the cache")
    kubectl = require("kubectl", "https://kubernetes.io/docs/tasks/tools", packaged=False)
    environment = {**os.environ, "KREW_ROOT": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    (archive,) = folder.glob("kubectl-krmfn-*")
    words = ["install", f"--manifest={folder / KREW}", f"--archive={archive}"]
    done = subprocess.run([krew, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = subprocess.run([kubectl, "krmfn", "version"], env=environment, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("krmfn ")


def test_what_is_in_it(release: tuple[Path, Path]) -> None:
    _, folder = release
    names = {path.name for path in folder.iterdir()}
    assert {SUMS, PROVENANCE, BUNDLE, KEY, "krmfn.pyz", "krmfn.cdx.json"} <= names
    assert sum(name.endswith((".whl", ".tar.gz")) for name in names) == 3 + len(ARCHIVES)
    bill = json.loads((folder / "krmfn.cdx.json").read_text())
    assert {each["name"].lower() for each in bill["components"]} == {"python", "krmfn", "pyyaml", "click"}
    statement = json.loads((folder / PROVENANCE).read_text())
    assert statement["predicateType"] == "https://slsa.dev/provenance/v1"
    checked = subprocess.run(["sha256sum", "--check", "--quiet", SUMS], cwd=folder, check=False)
    assert checked.returncode == 0


@pytest.mark.parametrize("name", ["krmfn.pyz", "krmfn.cdx.json", SUMS, PROVENANCE, BUNDLE, KEY, "more.txt", ""])
def test_what_somebody_changed_is_found(name: str, release: tuple[Path, Path], tmp_path: Path) -> None:
    checkout, folder = release
    copied = tmp_path / "copied"
    shutil.copytree(folder, copied)
    if name == SUMS:  # with sums that fit
        (copied / SUMS).write_text((copied / SUMS).read_text() + f"{'0' * 64}  extra\n")
    elif name == KEY:  # what stands behind a key is not read
        text = (copied / KEY).read_text()
        (copied / KEY).write_text(text.replace(text[60], "A" if text[60] != "A" else "B", 1))
    elif name:
        with (copied / name).open("ab") as stream:
            stream.write(b"x")
    else:
        next(copied.glob("*.whl")).unlink()
    done = call(checkout, "verify", str(copied))
    assert done.returncode == 1
    assert done.stderr.startswith("release: ")
    assert call(checkout, "verify", str(folder)).returncode == 0


def test_what_is_not_committed_is_not_released(release: tuple[Path, Path], tmp_path: Path) -> None:
    checkout, _ = release
    (checkout / "README.md").write_text("changed\n")
    try:
        done = call(checkout, "build", str(tmp_path / "third"))
    finally:
        subprocess.run(["git", "checkout", "-q", "README.md"], cwd=checkout, check=True)
    assert done.returncode == 1
    assert "not committed" in done.stderr
