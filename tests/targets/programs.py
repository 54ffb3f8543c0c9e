"""Programs that the tests of targets run, and where they are looked for."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.tools import require_kustomize


def build(folder: Path, *flags: str, **environment: str) -> list[dict[str, Any]]:
    """The objects that `kustomize build` prints."""
    command = [require_kustomize(), "build", str(folder), *flags]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def write(folder: Path, **files: Any) -> None:
    """Files of a kustomization: `resources` becomes resources.yaml; text is written as it is."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(content if isinstance(content, str) else _spell(content))


def _spell(content: Any) -> str:
    if isinstance(content, list):
        return yaml.safe_dump_all(content, sort_keys=False)
    return yaml.safe_dump(content, sort_keys=False)
