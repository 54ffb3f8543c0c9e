"""How evenly --shard deals out the worlds of repositories: python -m benchmarks.shards FOLDER...

What a world costs is taken to be the bytes of all files that its kustomization is built from. For each number of shards
the largest one against the mean: as the hash deals, and as somebody would who knew all costs.
"""

import os
import sys

from krmfn.workspace.disk import Disk
from krmfn.workspace.gathering import Gathering
from krmfn.workspace.overlays import find_overlay
from krmfn.workspace.sharding import Shard
from krmfn.workspace.world import Rendering


def weigh(folder: str) -> dict[str, int]:
    """The bytes of each world, by its key; nothing is rendered."""
    os.chdir(folder)
    tree, found = Disk("."), {}
    for world in Gathering(tree, ".", Rendering(shard=Shard(0, 1))).worlds:
        waiting, size = [world.folder], 0
        for each in waiting:  # it grows
            overlay = find_overlay(tree, each)
            if overlay is not None:
                size += sum(len(tree.find(path) or b"") for path in overlay.list_files())
                waiting += [below for below in overlay.list_uses() if below not in waiting]
        found[world.key] = size
    return found


def main() -> None:
    """Prints a row for each folder."""
    print("| repository | worlds | the largest | 2 | 7 | 16 |\n|---|---:|---:|---:|---:|---:|")
    for folder in map(os.path.abspath, sys.argv[1:]):
        sizes = weigh(folder)
        whole = sum(sizes.values())
        cells = [os.path.basename(folder), str(len(sizes)), f"{max(sizes.values()) / whole:.0%}"]
        for of in (2, 7, 16):
            dealt, known = [0] * of, [0] * of
            for key, size in sizes.items():
                dealt[next(number for number in range(of) if Shard(number + 1, of).owns(key))] += size
            for size in sorted(sizes.values(), reverse=True):
                known[known.index(min(known))] += size
            cells.append(" / ".join(f"{max(each) * of / whole:.2f}" for each in (dealt, known)))
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
