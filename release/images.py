"""The images of a release: the function, the same with git, kustomize and helm, the same with the simulators.

buildah builds them, without a daemon, on a base that the caller names. One commit, one base and the same programs give
the same bytes: times are those of the commit. `python release/images.py COMMAND…` runs the command of any other builder
with what pip needs on this machine; `./dev image` does so.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

BUILDER = "buildah"
BILL = "usr/share/krmfn/bom.cdx.json"
#: What an image has beside the function: the programs that are copied into it. Those of a pattern: all that there are.
PROGRAMS = {"tools": ("kustomize", "helm"), "simulators": ("krmfn-simulator-*",)}


class Image(NamedTuple):
    """An image as an OCI layout in a folder, and its bill of materials."""

    name: str
    layout: Path
    bill: dict[str, Any]


class Missing(Exception):
    """An image cannot be built here. The message says what to install."""


def build_images(source: Path, base: str, facts: Mapping[str, str], work: Path) -> Iterator[Image | Missing]:
    """Those that can be built of the folder `source` on the image `base`. `facts` are `version`, `revision`, `time` (in
    seconds) and maybe `source`, the address of the sources. Raises CalledProcessError."""
    with_base = ("--build-arg", f"BASE_IMAGE={base}", "--build-arg", f"VERSION={facts['version']}")
    function = _build(source, source / "Dockerfile", facts, *with_base)
    yield _take("image", function, facts, work)
    files = {"tools": source / "release" / "tools.Dockerfile", "simulators": source / "simulator" / "Dockerfile"}
    for name, file in files.items():
        context = work / name
        context.mkdir()
        try:
            copied = [shutil.copy(each, context) for wanted in PROGRAMS[name] for each in _find(wanted)]
        except Missing as missing:
            yield missing
            continue
        shutil.copy(source / "release" / "bill_of_materials.py", context)
        identity = _build(context, file, facts, "--build-arg", f"BASE_IMAGE={function}")
        image = _take(f"image-{name}", identity, facts, work)
        known = {each["purl"] for each in image.bill["components"]}
        modules = {each["purl"]: each for path in copied for each in _list_modules(Path(path))}
        image.bill["components"] += [modules[purl] for purl in sorted(modules.keys() - known)]
        yield image


def find_digest(base: str) -> str:
    """The digest of the manifest of a base that was built on."""
    words = [BUILDER, "inspect", "--type", "image", "--format", "{{.FromImageDigest}}", base]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip().removeprefix("sha256:")


def find_address(source: Path) -> dict[str, str]:
    """The address of the sources, if the metadata of the project has one."""
    urls = tomllib.loads((source / "pyproject.toml").read_text())["project"].get("urls", {})
    return {"source": urls["Source"]} if "Source" in urls else {}


def _build(context: Path, file: Path, facts: Mapping[str, str], *words: str) -> str:
    """The id of an image. Its labels are those of the file, and the commit that it is of."""
    labels = [f"org.opencontainers.image.{name}={facts[name]}" for name in ("revision", "source") if name in facts]
    with tempfile.TemporaryDirectory() as folder:
        secrets = write_secrets(Path(folder))
        written = Path(folder, "id")
        # Chroot: works also inside of containers, and for users without ranges of identities.
        command = [
            BUILDER,
            "build",
            "--isolation",
            "chroot",
            "--layers=false",
            "--identity-label=false",
            f"--timestamp={facts['time']}",
        ]
        command += [*secrets, *(f"--label={label}" for label in labels), *words, f"--iidfile={written}"]
        subprocess.run([*command, "--file", str(file), str(context)], check=True, stdout=sys.stderr)
        return written.read_text().strip()


def _take(name: str, identity: str, facts: Mapping[str, str], work: Path) -> Image:
    layout = work / f"krmfn-{name}"
    subprocess.run([BUILDER, "push", "--quiet", identity, f"oci:{layout}:{facts['version']}"], check=True)
    return Image(name, layout, json.loads(read_file(layout, BILL)))


def read_file(layout: Path, path: str) -> bytes:
    """A file of an image, from the last layer that has it. Raises KeyError."""
    for layer in reversed(read_manifest(layout)["layers"]):
        with tarfile.open(_locate(layout, layer)) as archive:
            if found := [each for each in archive if each.name.removeprefix("./") == path]:
                stream = archive.extractfile(found[-1])
                assert stream is not None
                return stream.read()
    raise KeyError(path)


def read_manifest(layout: Path) -> dict[str, Any]:
    """The manifest of the only image of a layout."""
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest: dict[str, Any] = json.loads(_locate(layout, entry).read_text())
    return manifest


def read_labels(layout: Path) -> dict[str, str]:
    """The labels of the only image of a layout."""
    labels: dict[str, str] = json.loads(_locate(layout, read_manifest(layout)["config"]).read_text())["config"][
        "Labels"
    ]
    return labels


def _locate(layout: Path, entry: Mapping[str, Any]) -> Path:
    return layout.joinpath("blobs", entry["digest"].replace(":", "/"))


def _find(wanted: str) -> list[str]:
    """A program of the PATH, or those of a pattern. Raises Missing."""
    if "*" not in wanted:
        found = shutil.which(wanted)
        if found is None:
            raise Missing(f"the image with tools: {wanted} is missing: ./dev setup builds it")
        return [found]
    releases = sorted(path.name for path in (Path(__file__).parents[1] / "simulator").glob("[0-9]*"))
    programs = {release: shutil.which(wanted.replace("*", release)) for release in releases}
    if lacking := [release for release, path in programs.items() if path is None]:
        raise Missing(
            f"the image with simulators: those of {', '.join(lacking)} are missing: ./dev simulator builds them"
        )
    return [path for path in programs.values() if path is not None]


def _list_modules(program: Path) -> Iterator[dict[str, Any]]:
    """What a program is built of, as Go has written it into the program. Raises Missing."""
    if not shutil.which("go"):
        raise Missing("go is missing: install it from https://go.dev/dl")
    listed = subprocess.run(["go", "version", "-m", program], check=True, capture_output=True, text=True).stdout
    for kind, name, version in re.findall(r"^\t(mod|dep|=>)\t(\S+)\t(\S+)", listed, re.MULTILINE):
        yield {
            "type": "application" if kind == "mod" else "library",
            "name": program.name if name == "command-line-arguments" else name,
            "version": version,
            "purl": f"pkg:golang/{name}@{version}",
        }


def write_secrets(folder: Path) -> list[str]:
    """This machine's configuration of pip, without its paths, and its certificates: a builder's options for them."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^.*\.([a-z-]+)='(.*)'$", listed, re.MULTILINE)
    kept = [
        f"{key} = {value}" for key, value in found if key in ("index-url", "extra-index-url", "trusted-host", "timeout")
    ]
    (folder / "pip.conf").write_text("\n".join(["[global]", *kept, ""]))
    certificates = [value for key, value in found if key == "cert"]
    (folder / "certificates.pem").write_bytes(Path(certificates[-1]).read_bytes() if certificates else b"")
    files = {"pip": "pip.conf", "certificates": "certificates.pem"}
    return [word for name, file in files.items() for word in ("--secret", f"id={name},src={folder / file}")]


def main(words: list[str]) -> int:
    """Runs a builder: its command and first word, such as `docker build`, then the secrets, then what it is given."""
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([*words[:2], *write_secrets(Path(folder)), *words[2:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
