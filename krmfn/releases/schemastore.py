"""Where the schemas lie and how one is read: `schemas/` inside the wheel, or beside the package in a checkout.

Must not know what a schema says, nor who asks. Imported on every build, so it takes `os.path` and imports `json` when a
file is read; `importlib.resources` or `functools` would cost more than reading the file.
"""

from __future__ import annotations

import os
from typing import Any

_READ: dict[str, dict[str, Any]] = {}


class SchemaMissing(LookupError):
    """No such file below the schema folder. The message names the path asked for."""


def root() -> str:
    """The folder that holds `kubernetes/`, `krmfn/`, `kuberay/` and `volcano/`, as an absolute path."""
    return find_folder("schemas", "schemas")


def find_folder(inside: str, beside: str) -> str:
    """A folder of data: `krmfn/<inside>` in a wheel, `<beside>` next to the package in a checkout (also an editable
    install). Raises SchemaMissing."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    places = (os.path.join(package, inside), os.path.join(os.path.dirname(package), *beside.split("/")))
    for place in places:
        if os.path.isdir(place):
            return place
    missing = " nor ".join(places)
    raise SchemaMissing(f"the installation of krmfn lacks its {inside} (neither {missing} exists): reinstall it")


def load(path: str) -> dict[str, Any]:
    """One schema by its path below root(), such as `kubernetes/1.37/podgroup.json`.

    Read once per process and shared: do not change what it returns. Raises SchemaMissing when there is no such file.
    """
    schema = _READ.get(path)
    if schema is None:
        import json

        try:
            with open(os.path.join(root(), *path.split("/")), "rb") as stream:
                schema = _READ[path] = json.load(stream)
        except FileNotFoundError:
            raise SchemaMissing(f"no schema {path}") from None
    return schema


def read_text(path: str) -> str:
    """A file of data by its path below root(). Raises OSError."""
    with open(os.path.join(root(), *path.split("/")), encoding="utf-8") as stream:
        return stream.read()


def list_paths(folder: str = "") -> list[str]:
    """The paths of every schema below a folder of root(), sorted, as load() takes them; maybe none. Not listed is what
    is no schema: the tables at the top and of releases, and those of types in the folders `others` and `crds`."""
    top = os.path.join(root(), *folder.split("/")) if folder else root()
    found = []
    for directory, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in ("others", "crds")]
        relative = os.path.relpath(directory, root()).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        found += [prefix + name for name in names if prefix and name.endswith(".json") and name != "release.json"]
    return sorted(found)
