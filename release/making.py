"""A release in a folder: `python release/making.py build FOLDER` makes it, `… verify FOLDER` checks what lies there.

Wheel, source archive, single file, the plugins of Helm and kubectl, the skill for agents, and with `--images BASE` the
images as OCI archives; bills of materials, checksums, provenance, and a signature with a key that exists for this
release alone. Two builds of one commit give the same bytes, save the key and the signature. Sends nothing anywhere.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from krmfn import __version__
from release import images
from release.single_file import pack

ROOT = Path(__file__).parents[1]
SUMS = "SHA256SUMS"
KREW = "krmfn.yaml"
PROVENANCE = "provenance.intoto.json"
BUNDLE = f"{SUMS}.sigstore.json"
KEY = "cosign.pub"
#: What is made for the signature, and differs from build to build.
SIGNED = (BUNDLE, KEY)
#: Folders that are released as archives, by name.
ARCHIVES = {"krmfn-helm": "integrations/helm", "krmfn-skill": ".agents/skills/krmfn"}
_STATEMENT = "https://in-toto.io/Statement/v1"
_PREDICATE = "https://slsa.dev/provenance/v1"


class NotReleased(Exception):
    """A release cannot be built, or is not what it says it is. The message says why."""


def build(folder: Path, base: str = "") -> None:
    """Make the release of the commit that is checked out, with images on a `base`. What is left out is said on stderr,
    and in the provenance. Raises NotReleased and CalledProcessError."""
    revision = _find_revision()
    _expect_changelog()
    if folder.exists() and any(folder.iterdir()):
        raise NotReleased(f"{folder} is not empty")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        source = Path(work, "source")
        source.mkdir()
        packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(source, filter="data")
        environment = {**os.environ, "SOURCE_DATE_EPOCH": _find_time()}
        words = [sys.executable, "-m", "build", "--outdir", str(folder), str(source)]
        subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
        (wheel,) = folder.glob("*.whl")
        pack(folder / "krmfn.pyz")
        _pack_plugin(folder, source / "LICENSE", Path(work, "kubectl"))
        for name, path in ARCHIVES.items():
            (folder / f"{name}-{__version__}.tar.gz").write_bytes(_archive(source / path))
        _write_bill(wheel, folder / "krmfn.cdx.json", Path(work))
        left_out, materials = _add_images(folder, source, base, revision, Path(work, "images"))
    names = sorted(path.name for path in folder.iterdir())
    statement = _state(folder, names, revision)
    definition = statement["predicate"]["buildDefinition"]
    definition["externalParameters"]["images"] = base
    definition["internalParameters"]["leftOut"] = left_out
    definition["resolvedDependencies"] += materials
    _write_json(folder / PROVENANCE, statement)
    (folder / SUMS).write_text("".join(f"{_digest(folder / name)}  {name}\n" for name in [*names, PROVENANCE]))
    _sign(folder)


def _add_images(
    folder: Path, source: Path, base: str, revision: str, work: Path
) -> tuple[list[str], list[dict[str, Any]]]:
    """The images, each with its bill of materials. What is left out, and what they are built on. Raises NotReleased."""
    left_out = []
    if not base:
        left_out.append("the images: --images BASE builds them on that image")
    elif not shutil.which(images.BUILDER):
        raise NotReleased(f"--images: {images.BUILDER} is missing: apt-get install {images.BUILDER}")
    else:
        work.mkdir()
        facts = {"version": __version__, "revision": revision, "time": _find_time(), **images.find_address(source)}
        for image in images.build_images(source, base, facts, work):
            if isinstance(image, images.Missing):
                left_out.append(str(image))
                continue
            with tarfile.open(folder / f"krmfn-{__version__}-{image.name}.oci.tar", "w") as archive:
                _fill(archive, image.layout, image.layout)
            _write_json(folder / f"krmfn-{image.name}.cdx.json", image.bill)
    for each in left_out:
        print(f"release: left out: {each}", file=sys.stderr)
    return left_out, [{"uri": f"oci:{base}", "digest": {"sha256": images.find_digest(base)}}] if base else []


def _pack_plugin(folder: Path, license: Path, work: Path) -> None:
    """The single file as a plugin of kubectl, which finds it by its name, and the manifest for krew. Its address is the
    name of the archive: who publishes the release puts in front where it lies."""
    work.mkdir()
    (work / "kubectl-krmfn").write_bytes((folder / "krmfn.pyz").read_bytes())
    (work / "kubectl-krmfn").chmod(0o755)
    (work / "LICENSE").write_bytes(license.read_bytes())
    archive = folder / f"kubectl-krmfn-{__version__}.tar.gz"
    archive.write_bytes(_archive(work))
    systems = [{"key": "os", "operator": "In", "values": ["darwin", "linux"]}]
    platform = {
        "selector": {"matchExpressions": systems},
        "uri": archive.name,
        "sha256": _digest(archive),
        "files": [{"from": "kubectl/*", "to": "."}],
        "bin": "kubectl-krmfn",
    }
    spec = {
        "version": f"v{__version__}",
        "shortDescription": "Write and check gang scheduling groups",
        "description": "Writes Workload, PodGroup and CompositePodGroup objects for manifests, checks them as the API "
        "server and the scheduler would, and explains why a gang of a dump does not start.",
        "caveats": "Needs Python 3.11 or later.",
        "platforms": [platform],
    }
    head = {"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin"}
    _write_json(folder / KREW, {**head, "metadata": {"name": "krmfn"}, "spec": spec})


def verify(folder: Path) -> list[str]:
    """The files of a release that is whole, signed, and what its provenance says. Raises NotReleased."""
    try:
        lines = (line.split("  ", 1) for line in (folder / SUMS).read_text().splitlines())
        told = {name: digest for digest, name in lines}
        statement = json.loads((folder / PROVENANCE).read_text())
    except (OSError, ValueError) as error:
        raise NotReleased(f"{folder}: {error}") from None
    there = {path.name for path in folder.iterdir()} - {SUMS, *SIGNED}
    for name in sorted(there ^ told.keys()):
        raise NotReleased(f"{name} is {'not listed in ' + SUMS if name in there else 'missing'}")
    for name, digest in told.items():
        if _digest(folder / name) != digest:
            raise NotReleased(f"{name} is not the file that {SUMS} lists")
    subjects = {each["name"]: each["digest"]["sha256"] for each in statement["subject"]}
    if subjects != {name: digest for name, digest in told.items() if name != PROVENANCE}:
        raise NotReleased(f"{PROVENANCE} is about other files")
    words = ["verify-blob", "--key", KEY, "--bundle", BUNDLE, "--insecure-ignore-tlog=true", SUMS]
    done = _run_cosign(folder, *words)
    if done.returncode:
        raise NotReleased(f"{SUMS}: the signature is not that of {KEY}: {done.stderr.strip().splitlines()[-1]}")
    return sorted(told)


def _find_revision() -> str:
    changed = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, check=True, capture_output=True, text=True)
    if changed.stdout:
        raise NotReleased("the checkout has changes that are not committed")
    words = ["git", "rev-parse", "HEAD"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _find_time() -> str:
    words = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def _expect_changelog() -> None:
    """The newest heading of the changelog is about this version. Raises NotReleased."""
    lines = (ROOT / "CHANGELOG.md").read_text().splitlines()
    heading = next((line for line in lines if line.startswith("## ")), "")
    if heading.removeprefix("## ").split(" ")[0] != __version__:
        raise NotReleased(f"CHANGELOG.md begins with {heading!r}, and the version is {__version__}")


def _archive(folder: Path) -> bytes:
    """A folder as a .tar.gz without owners and times."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as archive:
        _fill(archive, folder, folder.parent)
    return out.getvalue()


def _fill(archive: tarfile.TarFile, folder: Path, start: Path) -> None:
    """What is in a folder, with names that begin at `start`."""
    for path in sorted(folder.rglob("*")):
        info = archive.gettarinfo(path, str(path.relative_to(start)))
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644
        if path.is_file():
            with path.open("rb") as stream:
                archive.addfile(info, stream)
        else:
            archive.addfile(info)


def _write_bill(wheel: Path, target: Path, work: Path) -> None:
    """The bill of materials of an environment with the wheel and what it needs."""
    python = work / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", str(work / "venv")], check=True)
    quiet = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*quiet, str(wheel)], check=True)
    subprocess.run([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True)
    code = (ROOT / "release" / "bill_of_materials.py").read_text()
    code = code.replace('DPKG = Path("/var/lib/dpkg/status")', 'DPKG = Path("/nowhere")')  # not the machine's packages
    bill = subprocess.run([str(python), "-c", code], check=True, capture_output=True).stdout
    target.write_bytes(bill)


def _state(folder: Path, names: list[str], revision: str) -> dict[str, Any]:
    """What was made from what, in the form of SLSA."""
    subject = [{"name": name, "digest": {"sha256": _digest(folder / name)}} for name in names]
    materials = [{"uri": "git+file:.", "digest": {"gitCommit": revision}}]
    definition = {
        "buildType": "urn:krmfn:release:1",
        "externalParameters": {"command": "./dev release build", "version": __version__},
        "internalParameters": {"SOURCE_DATE_EPOCH": _find_time()},
        "resolvedDependencies": materials,
    }
    details = {"builder": {"id": "urn:krmfn:dev"}, "metadata": {"invocationId": revision}}
    predicate = {"buildDefinition": definition, "runDetails": details}
    return {"_type": _STATEMENT, "subject": subject, "predicateType": _PREDICATE, "predicate": predicate}


def _sign(folder: Path) -> None:
    """Signs the checksums with a key that is thrown away; its public half stays. Raises NotReleased."""
    with tempfile.TemporaryDirectory() as work:
        for words in (
            ("generate-key-pair", "--output-key-prefix", os.path.join(work, "cosign")),
            (
                *("sign-blob", "--yes", "--key", os.path.join(work, "cosign.key"), "--tlog-upload=false"),
                *("--use-signing-config=false", "--bundle", BUNDLE, SUMS),
            ),
        ):
            done = _run_cosign(folder, *words)
            if done.returncode:
                raise NotReleased(f"cosign {words[0]}: {done.stderr.strip()}")
        (folder / KEY).write_bytes(Path(work, "cosign.pub").read_bytes())


def _run_cosign(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "COSIGN_PASSWORD": ""}
    try:
        return subprocess.run(
            ["cosign", *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise NotReleased("cosign is missing: ./dev release builds it with Go") from None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1) + "\n")


def _spell(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        yield f"{path.stat().st_size:>10} {path.name}"


def main(arguments: list[str]) -> int:
    """The command line: 0 for a release that is built, or whole."""
    parser = argparse.ArgumentParser(prog="./dev release", description=__doc__)
    parser.add_argument("step", choices=["build", "verify"])
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist" / "release")
    parser.add_argument(
        "--images", metavar="BASE", default="", help="with images on this one, such as python:3.13-slim"
    )
    given = parser.parse_args(arguments)
    try:
        if given.step == "build":
            build(given.folder, given.images)
        names = verify(given.folder)
    except NotReleased as reason:
        print(f"release: {reason}", file=sys.stderr)
        return 1
    print("\n".join(_spell(given.folder)))
    print(f"verified: {len(names)} files of krmfn {__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
