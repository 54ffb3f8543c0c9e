"""What the schemas of an older release leave no room for: fields that it does not have, and lists that are too long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.convert.board import Board
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import Release


def fit(board: Board, goal: Release) -> None:
    """Take out the fields that `goal` does not know, and say so; say which lists are too long for it."""
    for kind in goal.kinds:
        schema = schemastore.load(f"kubernetes/{goal}/{kind.lower()}.json")
        for item in board.of(NATIVE, kind):
            if item.api_version.rpartition("/")[2] in goal.kinds[kind]:
                spec = {"properties": {"spec": schema["properties"]["spec"]}}
                value = {"spec": item.get(("spec",))}
                for path, length in reversed(list(_find_misfits(value, spec, schema["$defs"], ()))):
                    _settle(board, item, path, length, goal)


def _settle(board: Board, item: Item, path: Path, length: int, goal: Release) -> None:
    if length:
        message = f"{len(item.get(path))} entries in {path[-1]}, but {goal} allows {length}; they are unchanged"
        hint = "Generate one group for all pods instead (granularity Cluster)."
        board.note(item, "convert-impossible", message, path, hint)
    else:
        field = ".".join(part for part in path[1:] if isinstance(part, str))
        board.note(item, "convert-lost", f"the earlier release has no {field}: it was dropped", path)
        board.edit(item, Item.remove, path)


def _find_misfits(
    value: Any, schema: Mapping[str, Any], types: Mapping[str, Any], path: Path
) -> Iterator[tuple[Path, int]]:
    """The places of what does not fit: unknown fields with 0, long lists with the most that they may have. A union
    with a member that is not known goes as a whole."""
    schema = types.get(str(schema.get("$ref")).rpartition("/")[2], schema)
    fields = schema.get("properties")
    if isinstance(value, Mapping) and fields:
        unknown = [key for key in value if key not in fields]
        if unknown and "x-kubernetes-union" in schema:
            yield path, 0
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
