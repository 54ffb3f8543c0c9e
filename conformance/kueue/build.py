"""Builds the manager of Kueue from its Go module, and reads the manifests that the module carries.

Kueue's go.mod pins what it needs and replaces nothing, so a main module that requires it with the same versions
compiles its command. Must not know what the manager is asked.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from conformance.build import BuildFailed, cache_folder, run_go
from conformance.versions import HERE

VERSION: Final = "0.19.2"
MODULE: Final = "sigs.k8s.io/kueue"
PACKAGE: Final = f"{MODULE}/cmd/kueue"
#: What of the manifests a control plane without pods of its own needs.
_KINDS: Final = (
    *("Namespace", "Secret", "Service", "CustomResourceDefinition"),
    *("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
)


def find_manager() -> Path:
    """The manager in the cache, built when it is missing: ten minutes on two cores. Raises BuildFailed."""
    target = cache_folder() / "bin" / f"kueue-{VERSION}" / "kueue"
    return target if os.access(target, os.X_OK) else _compile(target)


def _compile(target: Path) -> Path:
    return compile_package(PACKAGE, target, f"-s -w -X {MODULE}/pkg/version.GitVersion=v{VERSION}")


def compile_package(
    package: str, target: Path, flags: str = "-s -w", module: str = MODULE, version: str = VERSION
) -> Path:
    """Compiles a command of Kueue, or of another module that replaces nothing. Raises BuildFailed."""
    source = find_source(module, version)
    folder = cache_folder() / "modules" / target.parent.name
    folder.mkdir(parents=True, exist_ok=True)
    pinned = (source / "go.mod").read_text().replace(f"module {module}\n", "module manager\n", 1)
    required = f"require (\n\t{module} v{version}\n"
    (folder / "go.mod").write_text(pinned.replace("require (\n", required, 1))
    shutil.copyfile(source / "go.sum", folder / "go.sum")
    (folder / "go.sum").chmod(0o644)
    (folder / "manager.go").write_text(f'//go:build tools\n\npackage manager\n\nimport _ "{package}"\n')
    target.parent.mkdir(parents=True, exist_ok=True)
    run_go(["build", "-mod=mod", "-trimpath", "-ldflags", flags, "-o", str(target), package], folder)
    return target


def find_source(module: str = MODULE, version: str = VERSION) -> Path:
    """The folder of the module. Raises BuildFailed."""
    return Path(json.loads(run_go(["mod", "download", "-json", f"{module}@v{version}"], HERE))["Dir"])


def list_manifests(port: int, source: Path | None = None) -> Iterator[dict[str, Any]]:
    """What `kubectl apply` of the release of Kueue creates, or of a project with the same layout at `source`, as far as
    this control plane needs it. Its service of webhooks leads to `port` of this machine. Raises BuildFailed without
    kustomize."""
    program = shutil.which("kustomize")
    if program is None:
        raise BuildFailed("kustomize is not installed: ./dev test installs it")
    folder = (source or find_source()) / "config" / "default"
    done = subprocess.run([program, "build", str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"kustomize build {folder} failed:\n{done.stderr[-500:]}")
    for value in yaml.load_all(done.stdout, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if value["kind"] not in _KINDS or (value["kind"] == "Service" and "webhook" not in value["metadata"]["name"]):
            continue
        if value["kind"] == "Service":
            value["spec"] = {"type": "ExternalName", "externalName": "localhost"}
        for config in _list_clients(value):
            config["service"]["port"] = port
        yield value


def _list_clients(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Where an API server finds webhooks."""
    yield from (hook["clientConfig"] for hook in value.get("webhooks", ()))
    conversion = value.get("spec", {}).get("conversion", {})
    if conversion.get("webhook"):
        yield conversion["webhook"]["clientConfig"]
