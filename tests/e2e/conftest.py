"""A container engine that works where these tests run: docker, or podman told how to do without what it lacks."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.tools import PATH, ROOT, require

#: For root inside another container or sandbox: no control groups, no user namespaces, modest limits.
CONTAINERS_CONF = """[containers]
cgroups = "no-conmon"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
"""
BASE = "localhost/krmfn-test-base"


class Engine(NamedTuple):
    """`docker` on `env`'s PATH runs containers, `env` is what it needs. `image` is our image's tag, `arguments` what it
    was built with."""

    image: str
    env: Mapping[str, str]
    arguments: tuple[str, ...] = ()

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """`docker run --rm -i …`, never raises for its exit code."""
        return call("docker", "run", "--rm", "-i", *words, env=self.env, stdin=stdin)


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Builds the image from this checkout, with an engine that works here."""
    env = {**os.environ, "PATH": PATH}
    if shutil.which("docker") and call("docker", "info", env=env).returncode == 0:
        build_image(env)
        return Engine("krmfn:dev", env)
    podman = require("podman", "apt-get install podman (or a docker that runs)")
    folder = tmp_path_factory.mktemp("engine")
    shim = folder / "docker"
    shim.write_text(f'#!/bin/sh\n# kustomize knows the name docker only\nexec {podman} "$@"\n')
    shim.chmod(0o755)
    env["PATH"] = f"{folder}{os.pathsep}{PATH}"
    arguments: list[str] = []
    if os.geteuid() == 0:
        require("runc", "apt-get install runc")
        require("buildah", "apt-get install buildah")
        (folder / "containers.conf").write_text(CONTAINERS_CONF)
        env["CONTAINERS_CONF"] = str(folder / "containers.conf")
        env["KRMFN_BUILD"] = "buildah bud --isolation chroot"
        make_base(folder / "base", env)
        arguments = ["--build-arg", f"BASE_IMAGE={BASE}"]
    build_image(env, *arguments)
    return Engine("localhost/krmfn:dev", env, tuple(arguments))


def call(*command: str, env: Mapping[str, str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, env=env, input=stdin, capture_output=True, text=True, check=False)


def build_image(env: Mapping[str, str], *arguments: str) -> None:
    """`./dev image`, as a user calls it."""
    done = call(str(ROOT / "dev"), "image", *arguments, env=env)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def make_base(folder: Path, env: Mapping[str, str]) -> None:
    """A Debian with Python and nothing else, made by debootstrap from where this machine gets its own packages.

    So no image registry is needed. Made once: the engine keeps it.
    """
    if call("podman", "image", "exists", BASE, env=env).returncode == 0:
        return
    debootstrap = require("debootstrap", "apt-get install debootstrap")
    listed = call("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME)", "Identifier: Packages", env=env).stdout
    site, codename = next(iter(listed.splitlines()), "missing missing").split()
    command = [debootstrap, "--variant=minbase", "--include=python3,python3-venv", codename, str(folder), site]
    made = call(*command, env=env)
    assert made.returncode == 0, made.stdout[-3000:]
    tar = call("sh", "-c", 'tar -C "$1" -c . | podman import --quiet - "$2"', "sh", str(folder), BASE, env=env)
    shutil.rmtree(folder)
    assert tar.returncode == 0, tar.stderr
