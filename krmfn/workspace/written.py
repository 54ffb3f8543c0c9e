"""The worlds of files as they are written, nothing rendered: what `generate` edits.

The files of a kustomization's folder are one world. Where a kustomization lists our function, the function does the
work.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from krmfn.model.patterns import read_patterns
from krmfn.model.values import Value, group_by
from krmfn.workspace.loose import leave_out_fragments, split
from krmfn.workspace.manifests import Watch, load, open_tree, read_paths
from krmfn.workspace.overlays import (
    BUILDS_ON,
    USES,
    Overlay,
    Overlays,
    find_below,
    find_overlay,
    index_uses,
    is_ours,
    is_path,
    list_entries,
    list_folders,
    reach,
    read_objects,
)
from krmfn.workspace.sharding import Shard
from krmfn.workspace.trees import ManifestFile, NotRendered, Tree, find_around
from krmfn.workspace.worlds import Worlds, make_world


def find_written(arguments: Sequence[str], excluded: Sequence[str], shard: Shard | None, watch: Watch) -> Worlds:
    """The worlds of the files that arguments name.

    A folder that kustomizations of the arguments build on counts with the files that its own kustomization lists.
    `configurations` are the functionConfigs of ours that the kustomization, or one that builds on it, lists. Raises
    InputMissing.
    """
    inputs = read_paths(arguments, excluded)
    opened = map(open_tree, filter(is_path, arguments))
    tree = next((tree for tree, path in opened if tree.kind(path) == "folder"), None)
    if tree is None:
        read = load(watch(inputs.files), inputs.left_out, set(arguments))
        elsewhere = shard is not None and not shard.owns("")
        worlds = [make_world(read.files, None, ".")._replace(elsewhere=elsewhere)] if read.files else []
        return Worlds(worlds, read.problems, read.files)
    folders = list_folders(inputs.files)
    patterns = [pattern for text in excluded for pattern in read_patterns(text, ".")]
    overlays = find_below(tree, folders, USES, patterns)
    borrowed = _borrow(tree, inputs.files, [each for folder, each in overlays.items() if folder not in folders])
    named = {each for each in arguments if tree.kind(each) != "folder"}
    read = load(watch([*inputs.files, *borrowed]), inputs.left_out, named)
    files, told = leave_out_fragments(read.files, folders, tree)
    configurations = _list_configurations(overlays)
    owners = group_by(lambda file: find_around(file.path, overlays), files)
    worlds = [
        make_world(own, tree, folder)._replace(folder=folder, configurations=configurations[folder])
        for folder, own in owners.items()
        if folder is not None
    ]
    worlds += [make_world(own, tree, ".") for _, own in split(owners.get(None, ()))]
    if shard:
        worlds = [world._replace(elsewhere=not shard.owns(world.files[0].path)) for world in worlds]
    outside = {file.path for file in borrowed}
    affixed = _list_affixed(overlays)
    return Worlds(worlds, [*read.problems, *told], files, borrowed=outside, affixed=affixed)


def _borrow(tree: Tree, files: Iterable[ManifestFile], overlays: Iterable[Overlay]) -> list[ManifestFile]:
    """What is not among `files` of kustomizations: each itself, and the files that it lists."""
    known = {tree.resolve(file.path) for file in files if tree.kind(file.path)}
    found = []
    for overlay in overlays:
        for path, kind in ((overlay.path, "file"), *overlay.follow_all(BUILDS_ON)):
            data = tree.find(path) if kind == "file" and tree.resolve(path) not in known else None
            if data is not None:
                known.add(tree.resolve(path))
                found.append(ManifestFile(path, data))
    return sorted(found)


def _list_configurations(overlays: Overlays) -> dict[str, list[Value]]:
    """The folders of kustomizations, each with the functionConfigs that reach what is in it."""
    found = {folder: [*_list_own(overlay)] for folder, overlay in overlays.items()}
    users: dict[str, set[str]] = {}
    for folder, used in index_uses(overlays, ("components",)).items():
        for component in used:
            users.setdefault(component, set()).add(folder)
    # The functions of a component get what those who list it have.
    for ways in (users, index_uses(overlays)):
        for folder in [folder for folder, configurations in found.items() if configurations]:
            for reached in reach([folder], ways):
                found[reached] = found[reached] or found[folder]
    return found


def _list_own(overlay: Overlay) -> Iterator[Value]:
    """The functionConfigs of ours that a kustomization lists: in its own text, in files, or in folders of them."""
    tree = overlay.tree
    seen = {tree.resolve(overlay.folder)}
    waiting = [(overlay, "transformers")]
    while waiting:
        here, listed = waiting.pop()
        for entry in list_entries(here.value, listed):
            path, kind = here.follow(entry)
            try:
                if kind == "folder" and tree.resolve(path) not in seen:
                    seen.add(tree.resolve(path))
                    waiting += [(inner, use) for inner in [find_overlay(tree, path)] if inner for use in USES]
                data = tree.find(path) if kind == "file" else b"" if path else entry.encode("utf-8", "replace")
                yield from filter(is_ours, read_objects(data or b"", path))
            except NotRendered:
                continue


def _list_affixed(overlays: Overlays) -> dict[str, set[str]]:
    """The kustomizations that rename objects and list no `configurations`, by their paths, each with the folders whose
    objects it renames. A folder with `configurations` of its own is not among them: they hold above it, too."""
    bare = {folder: each for folder, each in overlays.items() if not each.value.get("configurations")}
    uses = index_uses(bare)
    return {
        overlay.path: reach([folder], uses) if folder in bare else set()
        for folder, overlay in overlays.items()
        if any(overlay.value.get(field) for field in ("namePrefix", "nameSuffix"))
    }
