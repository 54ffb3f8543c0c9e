"""A release, built twice in clean clones: the same bytes, and whoever changes one is found out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from krmfn import __version__
from release import images
from release.making import ARCHIVES, BUNDLE, KEY, KREW, PROVENANCE, SIGNED, SUMS
from tests.e2e.conftest import BASE, make_base
from tests.e2e.tools import PATH, ROOT, require

pytestmark = pytest.mark.slow


def call(checkout: Path, *words: str, path: str = PATH) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(checkout)}
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


def test_images_are_left_out_aloud(release: tuple[Path, Path], tmp_path: Path) -> None:
    checkout, folder = release
    definition = json.loads((folder / PROVENANCE).read_text())["predicate"]["buildDefinition"]
    assert definition["internalParameters"]["leftOut"] == ["the images: --images BASE builds them on that image"]
    (tmp_path / "bin").mkdir()
    for name in ("git", "cosign"):
        (tmp_path / "bin" / name).symlink_to(require(name, "./dev setup"))
    done = call(checkout, "build", str(tmp_path / "other"), "--images", "a", path=str(tmp_path / "bin"))
    assert done.returncode == 1
    assert done.stderr.endswith("release: --images: buildah is missing: apt-get install buildah\n")


def test_images_have_the_same_bytes_and_run(tmp_path: Path) -> None:
    """Those that a release of one clone holds, and those of another clone."""
    buildah, _ = (require(name, f"apt-get install {name}") for name in ("buildah", "podman"))
    for name in ("cosign", "helm", "kustomize", "go"):
        require(name, "./dev setup builds it into the cache", packaged=False)
    make_base(tmp_path / "base", {**os.environ, "PATH": PATH})
    folder = tmp_path / "release"
    done = call(clone(tmp_path / "one"), "build", str(folder), "--images", BASE)
    assert done.returncode == 0, done.stderr
    statement = json.loads((folder / PROVENANCE).read_text())
    definition = statement["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"][1]["uri"] == f"oci:{BASE}"
    assert len(definition["resolvedDependencies"][1]["digest"]["sha256"]) == 64
    archives = sorted(path.name for path in folder.glob("*.oci.tar"))
    assert len(archives) + len(definition["internalParameters"]["leftOut"]) == 3
    assert {*archives, "krmfn-image.cdx.json"} <= {each["name"] for each in statement["subject"]}

    again = clone(tmp_path / "two")
    revision = definition["resolvedDependencies"][0]["digest"]["gitCommit"]
    facts = {
        "version": __version__,
        "revision": revision,
        "time": definition["internalParameters"]["SOURCE_DATE_EPOCH"],
    }
    (tmp_path / "work").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", PATH)
        found = images.build_images(again, BASE, facts, tmp_path / "work")
        made = [each for each in found if isinstance(each, images.Image)]
    made.sort(key=lambda image: f"{image.name}.oci.tar")
    assert [f"krmfn-{__version__}-{image.name}.oci.tar" for image in made] == archives
    programs = {"image": ["krmfn"], "image-tools": ["krmfn", "git", "kustomize", "helm"]}
    for image, archive in zip(made, archives, strict=True):
        files = {
            str(path.relative_to(image.layout)): path.read_bytes() for path in image.layout.rglob("*") if path.is_file()
        }
        with tarfile.open(folder / archive) as packed:
            streams = {each.name: packed.extractfile(each) for each in packed if each.isfile()}
            assert {name: stream.read() for name, stream in streams.items() if stream} == files
        labels = images.read_labels(image.layout)
        assert labels["org.opencontainers.image.revision"] == revision
        assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
        assert "org.opencontainers.image.source" not in labels  # the project has no address
        names = {
            each["name"].lower()
            for each in json.loads((folder / f"krmfn-{image.name}.cdx.json").read_text())["components"]
        }
        expected = {"python", "krmfn", "pyyaml"} | (
            {"git", "helm.sh/helm/v4"} if image.name == "image-tools" else set()
        )
        assert expected <= names
        started = subprocess.run(
            [buildah, "from", f"oci-archive:{folder / archive}"], capture_output=True, text=True, check=True
        )
        container = started.stdout.strip()
        for program in programs.get(image.name, ["krmfn"]):
            asked = "--version" if program in ("git", "krmfn") else "version"
            words = [buildah, "run", "--isolation", "chroot", container, "--", program, asked]
            ran = subprocess.run(words, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, ran.stderr
        subprocess.run([buildah, "rm", container], capture_output=True, check=True)


def test_an_address_of_the_sources_comes_from_the_metadata(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\n')
    assert images.find_address(tmp_path) == {}
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\nurls = {Source = "https://example.com/a"}\n')
    assert images.find_address(tmp_path) == {"source": "https://example.com/a"}


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
