"""An installation of krmfn of its own with one release more, made as CONTRIBUTING describes it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from krmfn.releases.release import list_releases, newest_release

ROOT = Path(__file__).parents[2]
OLD = newest_release().name
NEXT = f"1.{int(list_releases()[-1].split('.')[1]) + 1}"
LONGER = 16


class Done(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Done]


def add_release(schemas: Path) -> None:
    """What a person does: copy the folder of the newest release, and change what differs."""
    folder = schemas / "kubernetes" / NEXT
    shutil.copytree(schemas / "kubernetes" / OLD, folder)
    release = json.loads((folder / "release.json").read_text())
    (folder / "release.json").write_text(json.dumps(release | {"version": f"{NEXT}.0"}))
    workload = json.loads((folder / "workload.json").read_text())
    assert sum(map(lengthen, workload["$defs"].values())) == 2
    (folder / "workload.json").write_text(json.dumps(workload))


def lengthen(schema: dict[str, Any]) -> bool:
    field = schema.get("properties", {}).get("podGroupTemplates", {})
    return bool(field) and bool(field.update(maxItems=LONGER) or True)


def installed(*changes: Callable[[Path], None]) -> Any:
    """A fixture: krmfn with the next release, changed like this."""

    @pytest.fixture(scope="module")
    def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
        return install(tmp_path_factory, add_release, *changes)

    return run


def install(tmp_path_factory: pytest.TempPathFactory, *changes: Callable[[Path], None]) -> Run:
    place = tmp_path_factory.mktemp("installation")
    (place / "krmfn").symlink_to(ROOT / "krmfn")
    (place / "docs").symlink_to(ROOT / "docs")
    shutil.copytree(ROOT / "schemas", place / "schemas")
    for change in changes:
        change(place / "schemas")
    work = tmp_path_factory.mktemp("work")

    def run(*words: str, data: str = "", program: tuple[str, ...] = ("-m", "krmfn")) -> Done:
        environment = {**os.environ, "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
        command = [sys.executable, *program, *words]
        done = subprocess.run(
            command, input=data, capture_output=True, text=True, check=False, cwd=work, env=environment
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
