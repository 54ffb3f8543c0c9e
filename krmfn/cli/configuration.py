"""From the command line and `krmfn.yaml` to settings. Must not know what settings mean."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from krmfn.cli.options import UsageError
from krmfn.config import ConfigError, Settings, check_feature_gates, read_settings
from krmfn.releases.gates import complete
from krmfn.releases.release import find_release
from krmfn.workspace.disk import Disk, read_stream
from krmfn.workspace.trees import LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krmfn.workspace.trees import Tree
    from krmfn.workspace.worlds import World

FILE = "krmfn.yaml"
API_GROUP = "krmfn.dev/"
KIND = "GangScheduling"


def load_settings(options: Mapping[str, Any], world: World, as_cluster: bool = False) -> Settings:
    """The settings of a world, with --kubernetes and --feature-gates on top.

    They are those of --config; else of the function that the world was rendered with; else of the krmfn.yaml in its
    folder or above, in the same state; else of the one configuration among its objects. With `as_cluster`, gates are
    read as kube-apiserver reads its flag (releases.gates.complete).

    Raises UsageError for a file that cannot be read and ConfigError for one that says something wrong.
    """
    settings = read_settings(_find_configuration(options, world))
    if options.get("kubernetes"):
        settings = settings._replace(release=find_release(options["kubernetes"]), assumed=False)
    if options.get("feature_gates"):
        gates = parse_gates(options["feature_gates"])
        check_feature_gates(gates)
        gates = complete(gates, settings.release) if as_cluster else gates
        settings = settings._replace(feature_gates={**settings.feature_gates, **gates})
    if options.get("facts"):
        from krmfn.workspace.clusters import merge

        settings = settings._replace(cluster=merge([settings.cluster, options["facts"]]))
    return settings


def read_facts(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with what --cluster names read, once for all worlds. Raises InputMissing."""
    if not options["cluster"]:
        return dict(options)
    from krmfn.workspace.clusters import read_clusters

    return {**options, "facts": read_clusters(options["cluster"])}


def check_options(options: Mapping[str, Any]) -> None:
    """Raises what load_settings() would raise for the command line itself, also where there is nothing to check."""
    if options.get("kubernetes"):
        find_release(options["kubernetes"])
    if options.get("feature_gates"):
        check_feature_gates(parse_gates(options["feature_gates"]))
    if options.get("config"):
        read_settings(_read_named(options["config"]))


def parse_gates(text: str) -> dict[str, bool]:
    """`A=true,B=false` as a mapping. Raises UsageError for anything else."""
    gates = {}
    for part in text.split(","):
        name, _, value = part.strip().partition("=")
        if not name or value.lower() not in {"true", "false"}:
            raise UsageError(f"--feature-gates: {part!r} is not Name=true or Name=false")
        gates[name] = value.lower() == "true"
    return gates


def _find_configuration(options: Mapping[str, Any], world: World) -> Mapping[str, Any] | None:
    if options.get("config"):
        return _read_named(options["config"])
    here = Disk(".")
    tree = world.tree or here
    if world.configurations and all(each == world.configurations[0] for each in world.configurations):
        return _include(world.configurations[0], tree, world.folder)
    path = _find_above(tree, world.folder)
    if not path and not tree.where:  # the work tree, somewhere else
        tree, path = here, _find_above(here, ".")
    if path:
        return _include(_read(tree.read(path), path), tree, posixpath.dirname(path))
    # A kustomization's functionConfig lies beside its manifests; with several, none of them speaks for all.
    among = [item for item in world.items if item.kind == KIND and item.api_version.startswith(API_GROUP)]
    return _include(among[0].value, tree, world.folder) if len(among) == 1 else None


def _include(value: Mapping[str, Any], tree: Tree, folder: str) -> Mapping[str, Any]:
    """The configuration with the files of `spec.cluster.from`, which are named as seen from its folder."""
    spec = value.get("spec")
    cluster = spec.get("cluster") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(cluster, dict) or not isinstance(cluster.get("from"), list):
        return value
    paths = [path for path in cluster["from"] if isinstance(path, str)]
    if len(paths) < len(cluster["from"]):
        return value  # the configuration's schema says what is wrong with it
    from krmfn.workspace.clusters import merge, read_cluster_in

    found = read_cluster_in(tree, [posixpath.normpath(posixpath.join(folder, path)) for path in paths])
    own = {key: entry for key, entry in cluster.items() if key != "from"}
    return {**value, "spec": {**spec, "cluster": merge([found, own])}}


def _find_above(tree: Tree, folder: str) -> str:
    """The krmfn.yaml in a folder of a tree, or in the nearest one above; empty when there is none."""
    while True:
        path = posixpath.normpath(posixpath.join(folder, FILE))
        if tree.kind(path) == "file":
            return path
        above = posixpath.normpath(posixpath.join(folder, ".."))
        try:
            if tree.resolve(above) == tree.resolve(folder):
                return ""
        except (LeftOut, FileNotFoundError):
            return ""
        folder = above


def _read_named(path: str) -> Mapping[str, Any]:
    try:
        data = read_stream(path)
        disk = Disk(path)
        return _include(_read(disk.read(path) if data is None else data, path), disk, posixpath.dirname(path))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except LeftOut as left:
        raise UsageError(f"the configuration {left}") from None


def _read(data: bytes, path: str) -> Mapping[str, Any]:
    from krmfn.krm import Stream, Unreadable

    try:
        items = Stream.parse(data, path).items
    except Unreadable as error:
        raise UsageError(f"{path}: {error}") from None
    ours = [item for item in items if item.api_version.startswith(API_GROUP)]
    chosen = ours or items
    if len(chosen) != 1:
        raise UsageError(
            f"{path}: contains {len(chosen)} objects; the configuration is one object of kind GangScheduling"
        )
    value: Mapping[str, Any] = chosen[0].value
    return value


__all__ = ["ConfigError", "load_settings", "parse_gates"]
