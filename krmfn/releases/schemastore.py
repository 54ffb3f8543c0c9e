"""Where the schemas lie and how one is read: `schemas/` inside the wheel, or beside the package in a checkout.

Must not know what a schema says, nor who asks. Imported on every build, so it takes `os.path` and imports `json` when a
file is read; `importlib.resources` or `functools` would cost more than reading the file.
"""

import os
from typing import Any

_READ: dict[str, dict[str, Any]] = {}


class SchemaMissing(LookupError):
    """No such file below the schema folder. The message names the path asked for."""


def root() -> str:
    """The folder that holds `kubernetes/`, `krmfn/`, `kuberay/` and `volcano/`, as an absolute path.

    In a wheel it is `krmfn/schemas`; in a checkout (also an editable install) it is `schemas` beside the package.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "schemas")
    if os.path.isdir(inside):
        return inside
    beside = os.path.join(os.path.dirname(package), "schemas")
    if os.path.isdir(beside):
        return beside
    raise SchemaMissing(f"krmfn is installed without its schemas (neither {inside} nor {beside} exists): reinstall it")


def load(path: str) -> dict[str, Any]:
    """One schema by its path below root(), such as `kubernetes/1.37/podgroup.json`.

    Read once per process and shared: do not change what it returns.
    Raises SchemaMissing when there is no such file.
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


def list_paths(folder: str = "") -> list[str]:
    """The paths of every `.json` file below a folder of root(), sorted, as load() takes them; maybe none."""
    top = os.path.join(root(), *folder.split("/")) if folder else root()
    found = []
    for directory, _, names in os.walk(top):
        relative = os.path.relpath(directory, root()).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        found += [prefix + name for name in names if name.endswith(".json")]
    return sorted(found)
