"""Where a kustomization that runs the function should run it: in the outermost ones, which see what patches change.

Plans files, writes none. Knows kustomizations, nothing about gangs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from krmfn.workspace.deployers import Deployment, find_deployments
from krmfn.workspace.disk import Disk
from krmfn.workspace.kustomization import (
    CONFIG_FILE,
    NAMES_FILE,
    SCHEMA_FILE,
    find_kustomization,
    list_configurations,
    plan_init,
    remove_entries,
    write_names,
)
from krmfn.workspace.manifests import load, read_tree
from krmfn.workspace.overlays import find_below, index_uses, list_folders, reach
from krmfn.workspace.replacing import FileChange
from krmfn.workspace.trees import WriteFailed

#: The fields of a kustomization that change how many pods its resources have, or may.
_CHANGING = ("patches", "patchesStrategicMerge", "patchesJson6902", "replicas", "replacements", "components")


def list_above(folder: str) -> dict[str, bool]:
    """The outermost kustomizations that build on one, of the repository or of the working directory: their folders,
    each with whether it, or one on the way, may change pods there."""
    tree = Disk(folder)
    overlays = find_below(tree, list_folders(read_tree(tree, tree.locate(".")).files), ())
    uses = index_uses(overlays)
    home = next((each for each in overlays if tree.resolve(each) == tree.resolve(folder)), None)
    users = {each for each in overlays if each != home and home in reach([each], uses)}
    used = {below for each in users for below in uses[each]}
    return {
        each: any(overlays[one].value.get(field) for one in reach([each], uses) & users for field in _CHANGING)
        for each in sorted(users)
        if each not in used and not overlays[each].is_component
    }


def find_deployer(folder: str) -> Deployment | None:
    """What deploys the kustomization in a folder, as an object of Flux or Argo CD in the repository says."""
    tree = Disk(folder)
    files = read_tree(tree, tree.locate(".")).files
    read = load([file for file in files if b".toolkit.fluxcd.io/" in file.data or b"argoproj.io/" in file.data])
    found = find_deployments(tree, read.items, lambda *_: None)
    return next((each for each in found if tree.resolve(each.folder) == tree.resolve(folder)), None)


def plan_move(folder: str, above: Iterable[str], release: str) -> list[FileChange]:
    """The files after which the outermost kustomizations above a folder run the function, and the folder's own does
    not. They get the configuration that it had. Raises WriteFailed, and InputMissing for a missing folder."""
    if not above:
        raise WriteFailed(f"{folder}: no kustomization of the repository builds on it, so it is the place for krmfn")
    target = find_kustomization(folder)
    if target is None:
        raise WriteFailed(f"{folder}: contains no kustomization")
    tree = Disk(folder)
    listed = list_configurations(target)
    files = [path for path in (os.path.join(folder, entry) for entry in listed) if tree.kind(path) == "file"]
    if len(files) != len(listed) or len(files) > 1:
        raise WriteFailed(f"{target}: krmfn is listed in a way that only you can move: see transformers")
    config = tree.read(files[0]) if files else None
    changes = [change for each in above for change in plan_init(each, release, config=config)]
    old = tree.read(target)
    gone = {"transformers": listed}
    removed = [FileChange(path, config, None) for path in files if os.path.basename(path) == CONFIG_FILE]
    if removed and (schema := tree.find(place := os.path.join(folder, SCHEMA_FILE))):
        removed.append(FileChange(place, schema, None))
    names, written = os.path.join(folder, NAMES_FILE), write_names().encode()
    if tree.find(names) == written:
        gone["configurations"] = [NAMES_FILE]
        removed.append(FileChange(names, written, None))
    return [*changes, *removed, FileChange(target, old, remove_entries(old, target, gone))]


def spell_advice(folder: str, above: Mapping[str, bool]) -> str:
    """What to say of a folder that runs the function before others change what is in it; empty where none does."""
    changing = [os.path.normpath(each) for each, changes in above.items() if changes]
    if not changing:
        return ""
    names = changing[0] + (f" and {len(changing) - 1} more" if len(changing) > 1 else "")
    return f"{names} can change the pods of {os.path.normpath(folder)} after krmfn has counted them"
