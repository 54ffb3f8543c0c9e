"""From the PodGroups of Volcano and of scheduler-plugins to native ones of 1.36. Knows their fields and how pods join.

Source: volcano v1.15.1 `scheduling.volcano.sh/v1beta1`; scheduler-plugins `scheduling.x-k8s.io/v1alpha1`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.convert.board import NATIVE, Board, read_mapping
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.records import NamedTuple
from krmfn.model.marks import GENERATED_FROM
from krmfn.reconcile.links import GROUP_NAME, unlink

_PLUGINS_LABEL: Final = "scheduling.x-k8s.io/pod-group"
_PLUGINS_SCHEDULER: Final = "scheduler-plugins-scheduler"
_VOLCANO: Final = "scheduling.volcano.sh"
_PLUGINS: Final = "scheduling.x-k8s.io"
_KEPT: Final = frozenset({"minMember", "priorityClassName"})
_VERSION: Final = f"{NATIVE}/v1alpha2"


class Member(NamedTuple):
    """A pod template that carries scheduler-plugins' label: the path of the template, and the group."""

    path: Path
    value: str


def to_native(board: Board) -> None:
    """Every PodGroup of theirs becomes a native one of 1.36 under its name, and its pods name it."""
    converted: dict[str, set[tuple[str, str]]] = {_VOLCANO: set(), _PLUGINS: set()}
    for group, names in converted.items():
        for item in board.of(group, "PodGroup"):
            if board.find(NATIVE, "PodGroup", item.space, item.name):
                board.note(
                    item,
                    "convert-name-taken",
                    f"PodGroup {item.name} already exists: {item.ref} is unchanged",
                )
                continue
            names.add((item.space, item.name))
            board.edit(item, _convert, board)
    for item, site in board.sites():
        if site.path[-1] == GROUP_NAME:
            if (item.space, site.value) in converted[_VOLCANO]:
                board.edit(item, _join_from_volcano, site.path, site.value)
            else:
                message = (
                    f'no Volcano PodGroup "{site.value}" in the files converted: the link of these pods is unchanged'
                )
                board.note(item, "convert-unresolved", message, site.path)
    if converted[_PLUGINS]:
        for item in list(board.items):
            for member in list(_find_members(item.value)):
                if (item.space, member.value) in converted[_PLUGINS]:
                    board.edit(item, _join_from_plugins, member)


def _convert(item: Item, board: Board) -> None:
    spec = read_mapping(item, ("spec",))
    for key in sorted(map(str, set(spec) - _KEPT)):
        if spec.get(key) not in (None, {}, [], ""):
            board.note(
                item, "convert-lost", (f"PodGroups of scheduling.k8s.io have no {key}; it was dropped"), ("spec", key)
            )
    least = spec.get("minMember")
    policy = (
        {"gang": {"minCount": least}}
        if isinstance(least, int) and not isinstance(least, bool) and least > 0
        else {"basic": {}}
    )
    made: dict[str, Any] = {"schedulingPolicy": policy}
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
            ("krmfn generated this object: run `krmfn generate` instead, which also creates its Workload"),
        )


def _join_from_volcano(item: Item, path: Path, name: str) -> None:
    template = path[:-3]
    item.set((*template, "spec", "schedulingGroup", "podGroupName"), name)
    kept = {(*template, "spec", "schedulingGroup", "podGroupName")}
    unlink(item, {name}, kept)


def _find_members(value: Any, path: Path = ()) -> Iterator[Member]:
    if isinstance(value, list):
        for index, entry in enumerate(value):
            yield from _find_members(entry, (*path, index))
    if not isinstance(value, Mapping):
        return
    labels = (value.get("metadata") or {}).get("labels") if isinstance(value.get("metadata"), Mapping) else None
    spec = value.get("spec")
    if isinstance(labels, Mapping) and isinstance(spec, Mapping) and "containers" in spec and _PLUGINS_LABEL in labels:
        yield Member(path, str(labels[_PLUGINS_LABEL]))
    for key, entry in value.items():
        yield from _find_members(entry, (*path, key))


def _join_from_plugins(item: Item, member: Member) -> None:
    item.set((*member.path, "spec", "schedulingGroup", "podGroupName"), member.value)
    item.remove((*member.path, "metadata", "labels", _PLUGINS_LABEL))
    if item.get((*member.path, "spec", "schedulerName")) == _PLUGINS_SCHEDULER:
        item.remove((*member.path, "spec", "schedulerName"))
