"""Builds kube-apiserver of a release from Go modules into the cache folder.

Kubernetes publishes its staging repositories as modules of their own (k8s.io/api v0.37.0 belongs to k8s.io/kubernetes
v1.37.0), but its go.mod points at the staging folders, which module zips do not contain. So a main module is written
here that replaces each of them by the published one; everything else is pinned by Kubernetes' own go.mod and checked by
the Go checksum database.
Must not know what the server is asked.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance.ending import Unable
from conformance.versions import HERE, Release

PROGRAM = "kube-apiserver"
#: Our own programs in go/, built against the types of a release.
THREEWAY = "threeway"
NUMBERS = "numbers"
#: Versions that a release names and the module proxy refuses to hand out, and what is built instead: a server with one
#: of them is not quite the release, which REHEARSALS.md says.
REFUSED = {"sigs.k8s.io/structured-merge-diff/v7 v7.0.1": "sigs.k8s.io/structured-merge-diff/v7 v7.0.0"}


class StandIn(NamedTuple):
    """Packages that were folders of the module `source` before they became a module of their own, which cannot be had.
    Files called as in `stayed` are there still; imports of other modules are `renamed`."""

    source: str
    version: str
    folders: tuple[str, ...]
    stayed: tuple[str, ...]
    renamed: Mapping[str, str]


STAND_INS = {
    "k8s.io/apiextensions-api": StandIn(
        "k8s.io/apiextensions-apiserver",
        "v0.37.2",
        ("pkg/apis/apiextensions/v1", "pkg/apis/apiextensions/v1beta1", "pkg/client"),
        ("conversion.go", "zz_generated.conversion.go"),
        {"sigs.k8s.io/structured-merge-diff/v6": "sigs.k8s.io/structured-merge-diff/v7"},
    ),
}


class BuildFailed(Unable):
    """The Go toolchain refused; the message ends with its last lines."""


def cache_folder() -> Path:
    """`krmfn` below `$XDG_CACHE_HOME` or `~/.cache`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "krmfn"


def find_server(release: Release) -> Path | None:
    """The built server: `$KRMFN_APISERVERS/<minor>/kube-apiserver` (built elsewhere) or the one in the cache."""
    places = [binary_folder(release) / PROGRAM]
    override = os.environ.get("KRMFN_APISERVERS")
    if override:
        places.insert(0, Path(override) / str(release.minor) / PROGRAM)
    return next((place for place in places if os.access(place, os.X_OK)), None)


def find_program(release: Release, name: str) -> Path | None:
    """A built program of go/, against the types of this release, if it was built from the text that is there now."""
    place = binary_folder(release) / name_binary(name)
    return place if os.access(place, os.X_OK) else None


def name_binary(name: str) -> str:
    """The name of a program in the cache: of our own ones, which are in go/, with a hash of their text."""
    folder = HERE / "go" / name
    if not folder.is_dir():
        return name
    texts = (path.read_bytes() for path in sorted(folder.iterdir()))
    return f"{name}-{hashlib.sha256(b''.join(texts)).hexdigest()[:16]}"


def binary_folder(release: Release) -> Path:
    return cache_folder() / "bin" / f"v{release.version}"


def build_programs(release: Release, again: bool = False) -> list[Path]:
    """Builds the server and our own programs unless they are there (or anew). Raises BuildFailed.

    Cold about five minutes on two cores, about one with a warm Go build cache.
    """
    programs = []
    for found, name, package in (
        (find_server(release), PROGRAM, f"k8s.io/kubernetes/cmd/{PROGRAM}"),
        *((find_program(release, name), name, f"./{name}") for name in (THREEWAY, NUMBERS)),
    ):
        programs.append(found if found and not again else compile_program(release, name, package))
    return programs


def compile_program(release: Release, name: str, package: str) -> Path:
    """Writes the main module, resolves it and compiles one package of it. Raises BuildFailed."""
    folder = cache_folder() / "modules" / f"v{release.version}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "servers.go").write_text(
        f'//go:build tools\n\npackage servers\n\nimport _ "k8s.io/kubernetes/cmd/{PROGRAM}/app"\n'
    )
    for own in (THREEWAY, NUMBERS):
        shutil.copytree(HERE / "go" / own, folder / own, dirs_exist_ok=True)
    (folder / "go.mod").write_text(write_module(release))
    # -e: test-only dependencies of dependencies may be unavailable; what the program itself needs is found out below.
    run_go(["mod", "tidy", "-e"], folder)
    target = binary_folder(release) / name_binary(name)
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        run_go(["build", "-mod=mod", "-trimpath", "-ldflags", link_flags(release), "-o", str(target), package], folder)
    except BuildFailed as failure:
        raise explain(failure, folder, release) from None
    return target


def write_module(release: Release) -> str:
    """The text of a go.mod that requires this Kubernetes with its staging modules at the matching v0 versions."""
    version = f"v{release.version}"
    described = json.loads(run_go(["mod", "download", "-json", f"k8s.io/kubernetes@{version}"], HERE))
    upstream = Path(described["GoMod"]).read_text()
    staging = sorted(set(re.findall(r"(k8s\.io/[a-z0-9-]+) => \./staging", upstream)))
    replaces = "".join(f"\t{module} => {find_staging(module, version)}\n" for module in staging)
    replaces += "".join(f"\t{wanted} => {had}\n" for wanted, had in REFUSED.items() if f"\t{wanted}" in upstream)
    language = find_language(Path(described["GoMod"]))
    return f"module servers\n\n{language}\n\nrequire k8s.io/kubernetes {version}\n\nreplace (\n{replaces})\n"


def find_language(module: Path) -> str:
    """The go directive of a go.mod. Raises BuildFailed."""
    found = re.search(r"^go \S+$", module.read_text(), re.M)
    if found is None:
        raise BuildFailed(f"{module}: no go directive")
    return found[0]


def find_staging(module: str, version: str) -> str:
    """The staging module that belongs to a version of Kubernetes, with its version. Of a pre-release not all of them
    can be had: then it is the newest release before it, a folder with what stands in for it, or its own version: what
    only tests need may lack."""
    wanted = f"v0.{version.split('.', 1)[1]}"
    if "-" in wanted and not can_be_had(module, wanted):
        minor = int(wanted.split(".")[1])
        older = (f"v0.{number}.0" for number in (minor, minor - 1))
        found = next((each for each in older if can_be_had(module, each)), "")
        if not found and module in STAND_INS:
            return str(write_stand_in(module, STAND_INS[module]))
        return f"{module} {found or wanted}"
    return f"{module} {wanted}"


def write_stand_in(module: str, made_of: StandIn) -> Path:
    """A folder that is the module, for a replace directive."""
    described = json.loads(run_go(["mod", "download", "-json", f"{made_of.source}@{made_of.version}"], HERE))
    target = cache_folder() / "modules" / f"{module.rpartition('/')[2]}-{made_of.version}"
    for folder in made_of.folders:
        for path in sorted(Path(described["Dir"], folder).rglob("*.go")):
            if path.name.endswith("_test.go"):
                continue
            text = path.read_text()
            if path.name in made_of.stayed:  # but for what the others need of it
                text = "\n".join(re.findall(r"^package .*|^(?:var|const) \w+ = \S+$", text, re.M))
            moved = {f"{made_of.source}/{each}": f"{module}/{each}" for each in made_of.folders}
            for old, new in {**moved, **made_of.renamed}.items():
                text = re.sub(rf'(?<="){old}(?=[/"])', new, text)
            place = target / path.relative_to(described["Dir"])
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
    (target / "go.mod").write_text(f"module {module}\n\n{find_language(Path(described['GoMod']))}\n")
    return target


def explain(failure: BuildFailed, folder: Path, release: Release) -> BuildFailed:
    """The failure of a build, as a sentence where a module of the go.mod in `folder` cannot be had."""
    for module, version in re.findall(r"=> (\S+) (v\S+)", (folder / "go.mod").read_text()):
        if module in str(failure) and not can_be_had(module, version):
            return BuildFailed(
                f"{module} {version} is missing: the module proxy does not have it, so Kubernetes {release.version} "
                "cannot be built. Set KRMFN_APISERVERS to servers built elsewhere, or see what stood in for a module "
                "in REHEARSALS.md"
            )
    return failure


def can_be_had(module: str, version: str) -> bool:
    """Whether a module can be downloaded in this version."""
    try:
        run_go(["mod", "download", f"{module}@{version}"], HERE)
    except BuildFailed:
        return False
    return True


def link_flags(release: Release) -> str:
    """The version stamp: without it the server calls itself v0.0.0 and its emulated version is wrong."""
    flags = ["-s", "-w"]
    for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version"):
        for name, value in {
            "gitVersion": f"v{release.version}",
            "gitMajor": "1",
            "gitMinor": str(release.minor),
            "gitTreeState": "clean",
            "gitCommit": "0" * 40,
            "buildDate": "2026-01-01T00:00:00Z",
        }.items():
            flags.append(f"-X {package}.{name}={value}")
    return " ".join(flags)


def unpack_sources(repository: str, tag: str, paths: Sequence[str], folder: Path) -> None:
    """Puts files of a Git repository into a folder, from the clone that `$KRMFN_<NAME>` names, or from one in the
    cache. Raises Unable."""
    name = repository.rpartition("/")[2].partition("-")[0]
    clone = os.environ.get(f"KRMFN_{name.upper()}")
    try:
        if not clone:
            clone = str(cache_folder() / "definitions" / f"{name.lower()}.git")
            if not Path(clone).exists():
                run_git("clone", "--quiet", "--bare", "--filter=blob:none", repository, clone)
        made = run_git("-C", clone, "archive", tag, *paths)
    except subprocess.CalledProcessError as failure:
        last = failure.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise Unable(f"{repository} at {tag} is missing: {last}") from None
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "x"], cwd=folder, input=made, check=True)


def run_git(*words: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", *words], capture_output=True, check=True).stdout


def run_go(arguments: list[str], folder: Path, stdin: str = "") -> str:
    """Output of a go command that reads `stdin`. Raises BuildFailed when it fails or Go is not installed."""
    # auto: a release is built with the Go that its go.mod needs, which may be newer than the one that is installed.
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOTOOLCHAIN": "auto"}
    try:
        done = subprocess.run(
            ["go", *arguments],
            cwd=folder,
            env=environment,
            input=stdin,
            text=True,
            capture_output=True,
            check=False,
        )
    except FileNotFoundError:
        raise BuildFailed("go is not installed (https://go.dev/dl)") from None
    if done.returncode:
        lines = "\n".join((done.stderr or done.stdout).splitlines()[-20:])
        raise BuildFailed(f"go {arguments[0]} {arguments[1]} failed in {folder}:\n{lines}")
    return done.stdout
