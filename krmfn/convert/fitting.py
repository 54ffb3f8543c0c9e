"""What the schemas of an older release leave no room for: fields that it does not have, and lists that are too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krmfn.convert.board import Board
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import Release


def fit(board: Board, goal: Release, newer: Sequence[Release] | None = None) -> None:
    """Take out the fields that `goal` does not know, and say so; say which lists are too long for it, and which
    policies it does not have. With `newer`, only what one of these releases has room for: the rest is a mistake."""
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            if item.api_version.rpartition("/")[2] in goal.kinds[kind]:
                found = _list_misfits(item, goal)
                if found and newer is not None:
                    known = [_list_misfits(item, release).keys() for release in newer if kind in release.kinds]
                    found = {path: length for path, length in found.items() if any(path not in one for one in known)}
                for path, length in reversed(found.items()):
                    _settle(board, item, path, length, goal)


def _list_misfits(item: Item, release: Release) -> dict[Path, int]:
    schema = schemastore.load(f"kubernetes/{release}/{item.kind.lower()}.json")
    spec = {"properties": {"spec": schema["properties"]["spec"]}}
    return dict(_find_misfits({"spec": item.get(("spec",))}, spec, schema["$defs"], ()))


def _settle(board: Board, item: Item, path: Path, length: int, goal: Release) -> None:
    if length > 0:
        message = f"{len(item.get(path))} entries in {path[-1]}, but {goal} allows {length}; they are unchanged"
        hint = "Generate one group for all pods instead (granularity Cluster)."
        board.note(item, "convert-impossible", message, path, hint)
    elif length:
        words = ", ".join(map(str, item.get(path)))
        message = f"Kubernetes {goal} has no {path[-1]} {words}; it is unchanged"
        board.note(item, "convert-impossible", message, path, f"Write one that Kubernetes {goal} has.")
    else:
        field = ".".join(part for part in path[1:] if isinstance(part, str))
        board.note(item, "convert-lost", f"Kubernetes {goal} has no {field}: it was dropped", path)
        board.edit(item, Item.remove, path)


def _find_misfits(
    value: Any, schema: Mapping[str, Any], types: Mapping[str, Any], path: Path
) -> Iterator[tuple[Path, int]]:
    """The places of what does not fit: unknown fields with 0, long lists with the most that they may have. A union
    with a member that is not known goes as a whole; -1 for an object that cannot be missing, and would be empty."""
    needed = -1 if schema.get("x-kubernetes-always-written") else 0
    schema = types.get(str(schema.get("$ref")).rpartition("/")[2], schema)
    fields = schema.get("properties")
    if isinstance(value, Mapping) and fields:
        unknown = [key for key in value if key not in fields]
        if unknown and ("x-kubernetes-union" in schema or (needed and len(unknown) == len(value))):
            yield path, needed
            return
        for key, child in value.items():
            if key in unknown:
                yield (*path, key), 0
            else:
                yield from _find_misfits(child, fields[key], types, (*path, key))
    elif isinstance(value, list):
        longest = schema.get("maxItems", 0)
        if longest and len(value) > longest:
            yield path, longest
        for index, child in enumerate(value):
            yield from _find_misfits(child, schema.get("items", {}), types, (*path, index))
