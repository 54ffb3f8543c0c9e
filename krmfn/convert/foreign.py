"""From the PodGroups of other schedulers to native ones of 1.36. Knows their fields and how pods join.

Source: the versions that krmfn/model/schedulers names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from krmfn.convert.board import Board, read_mapping
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.marks import GENERATED_FROM
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import Fields, Key, Value
from krmfn.reconcile.links import unlink
from krmfn.releases.release import GROUP as NATIVE

_KEPT: Final = frozenset({"minMember", "minSubGroup", "priorityClassName"})
_VERSION: Final = f"{NATIVE}/v1alpha2"


def to_native(board: Board) -> None:
    """Every PodGroup of theirs becomes a native one of 1.36 under its name, and its pods name it."""
    converted: dict[str, set[Key]] = {choice: set() for choice in SCHEDULERS}
    for choice, names in converted.items():
        for item in board.of(SCHEDULERS[choice].group, "PodGroup"):
            if board.find(NATIVE, "PodGroup", item.space, item.name):
                message = f"a PodGroup {item.name} of scheduling.k8s.io already exists: this one is unchanged"
                board.note(item, "convert-name-taken", message, hint="Rename one of them, or remove this one.")
                continue
            names.add((item.space, item.name))
            board.edit(item, _convert, board)
    choices = {row.link[1]: choice for choice, row in SCHEDULERS.items()}
    for item, site in board.sites():
        choice = choices.get(str(site.path[-1]), "")
        if choice and (item.space, site.value) in converted[choice]:
            board.edit(item, _join, site.path, site.value)
        elif choice:
            board.miss(item, site, f'{choice} PodGroup "{site.value}"')


def _convert(item: Item, board: Board) -> None:
    spec = read_mapping(item, ("spec",))
    for key in sorted(map(str, set(spec) - _KEPT)):
        if spec.get(key) not in (None, {}, [], ""):
            board.note(
                item, "convert-lost", (f"PodGroups of scheduling.k8s.io have no {key}; it was dropped"), ("spec", key)
            )
    least = _find_least(spec)
    policy = (
        {"gang": {"minCount": least}}
        if isinstance(least, int) and not isinstance(least, bool) and least > 0
        else {"basic": {}}
    )
    made: Fields = {"schedulingPolicy": policy}
    if spec.get("priorityClassName"):
        made["priorityClassName"] = spec["priorityClassName"]
    item.set(("apiVersion",), _VERSION)
    for key, value in made.items():
        item.set(("spec", key), value)
    for key in list(spec):
        if key not in made:
            item.remove(("spec", key))
    item.remove(("status",))
    if GENERATED_FROM in item.annotations:
        board.note(
            item,
            "convert-generate",
            "krmfn generated this object: run `krmfn generate` instead, which also creates its Workload",
        )


def _find_least(spec: Value) -> Any:
    """How many pods have to start together: of a group of KAI with sub-groups, those of all of them."""
    parts = spec.get("subGroups")
    if spec.get("minMember") is not None or not isinstance(parts, list):
        return spec.get("minMember")
    counts = [part.get("minMember") for part in parts if isinstance(part, Mapping)]
    return sum(count for count in counts if isinstance(count, int) and not isinstance(count, bool))


def _join(item: Item, path: Path, name: str) -> None:
    template = path[:-3]
    item.set((*template, "spec", "schedulingGroup", "podGroupName"), name)
    kept = {(*template, "spec", "schedulingGroup", "podGroupName")}
    unlink(item, {name}, kept)
