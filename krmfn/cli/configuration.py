"""From the command line and `krmfn.yaml` to settings. Must not know what settings mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from krmfn.cli.options import UsageError
from krmfn.config import ConfigError, Settings, check_feature_gates, read_settings
from krmfn.releases.gates import complete
from krmfn.releases.release import find_release

if TYPE_CHECKING:
    from krmfn.krm import Item

FILE = "krmfn.yaml"
API_GROUP = "krmfn.dev/"
KIND = "GangScheduling"


def load_settings(options: Mapping[str, Any], items: Iterable[Item] = (), as_cluster: bool = False) -> Settings:
    """The settings of --config, of the nearest krmfn.yaml, or of the one configuration among the manifests, with
    --kubernetes and --feature-gates on top.

    With `as_cluster`, gates are read as kube-apiserver reads its flag (checks.gates.complete).
    Raises UsageError for a file that cannot be read and ConfigError for one that says something wrong.
    """
    path = options.get("config") or _find()
    if path:
        value: Mapping[str, Any] | None = _read(path)
    else:
        # A kustomization's functionConfig lies beside its manifests; with several, none of them speaks for all.
        among = [item for item in items if item.kind == KIND and item.api_version.startswith(API_GROUP)]
        value = among[0].value if len(among) == 1 else None
    settings = read_settings(value)
    if options.get("kubernetes"):
        settings = settings._replace(release=find_release(options["kubernetes"]))
    if options.get("feature_gates"):
        gates = parse_gates(options["feature_gates"])
        check_feature_gates(gates)
        gates = complete(gates, settings.release) if as_cluster else gates
        settings = settings._replace(feature_gates={**settings.feature_gates, **gates})
    return settings


def parse_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false` as a mapping. Raises UsageError for anything else."""
    gates = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if not name or value.lower() not in {"true", "false"}:
            raise UsageError(f"--feature-gates: {part!r} is not of the form Name=true or Name=false")
        gates[name] = value.lower() == "true"
    return gates


def _find() -> str:
    folder = os.getcwd()
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return ""
        folder = above


def _read(path: str) -> Mapping[str, Any]:
    from krmfn.krm import Stream, Unreadable
    from krmfn.workspace.disk import Disk, read_stream
    from krmfn.workspace.trees import LeftOut

    try:
        data = read_stream(path)
        data = Disk(path).read(path) if data is None else data
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except LeftOut as left:
        raise UsageError(f"the configuration {left}") from None
    try:
        items = Stream.parse(data, path).items
    except Unreadable as error:
        raise UsageError(f"{path}: {error}") from None
    ours = [item for item in items if item.api_version.startswith(API_GROUP)]
    chosen = ours or items
    if len(chosen) != 1:
        raise UsageError(f"{path}: holds {len(chosen)} objects, and the configuration is one, of kind GangScheduling")
    value: Mapping[str, Any] = chosen[0].value
    return value


__all__ = ["ConfigError", "load_settings", "parse_gates"]
