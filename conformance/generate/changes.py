"""One edit of a stored object, as people make them: the result may well be valid.

Each function returns the label of what it did, or None when it does not fit. Mistakes proper are in breakage.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from conformance.generate.breakage import MISFIT, pick
from conformance.generate.metadata import odd_metadata
from conformance.generate.settle import LISTS, templates
from conformance.generate.shapes import Fixed, Many, Number, Spot, Struct, Text, look, make, put, spots, take

Edit = Callable[[Any, Any, Random], str | None]


def change_once(root: Any, shape: Any, rng: Random) -> tuple[Any, str]:
    """A copy with one edit more, and its label."""
    for _ in range(50):
        edited = copy.deepcopy(root)
        try:
            label = rng.choice(EDITS)(edited, shape, rng)
        except MISFIT:
            continue
        if label:
            return edited, label
    return root, "same"


def find(root: Any, shape: Any, rng: Random, wanted: Callable[[Spot], bool]) -> Spot | None:
    found = [
        spot
        for spot in spots(shape, root)
        if spot.where and spot.where[0] != "metadata" and not isinstance(spot.shape, Fixed) and wanted(spot)
    ]
    return rng.choice(found) if found else None


def same(root: Any, shape: Any, rng: Random) -> str:
    return "same"


def renew(root: Any, shape: Any, rng: Random) -> str:
    """Another valid value in one place."""
    spot = pick(root, shape, rng)
    put(root, spot.where, make(spot.shape, rng))
    return "renew" if spot.present else "set"


def unset(root: Any, shape: Any, rng: Random) -> str | None:
    spot = pick(root, shape, rng)
    if not spot.present or isinstance(spot.where[-1], int) or len(spot.where) < 2:
        return None
    if rng.random() < 0.7:
        take(root, spot.where)
    else:
        put(root, spot.where, None)
    return "unset"


def blank(root: Any, shape: Any, rng: Random) -> str | None:
    """Absent, null and empty: often the same, sometimes not."""
    spot = find(root, shape, rng, lambda spot: not spot.present or not look(root, spot.where))
    if spot is None:
        return None
    empty: Any = {Many: [], Struct: {}, Text: ""}.get(type(spot.shape))
    if spot.present and rng.random() < 0.5 and isinstance(spot.where[-1], str):
        take(root, spot.where)
    else:
        put(root, spot.where, copy.deepcopy(rng.choice((None, empty, empty))))
    return "blank"


def count(root: Any, shape: Any, rng: Random) -> str | None:
    spot = find(root, shape, rng, lambda spot: spot.present and isinstance(spot.shape, Number))
    if spot is None:
        return None
    was = look(root, spot.where)
    put(
        root,
        spot.where,
        rng.choice((was + 1, max(1, was - 1), was * 2, rng.randint(1, 20), 0, -1, 2**31 - 1, was))
        if isinstance(was, int)
        else 1,
    )
    return "count"


def shuffle(root: Any, shape: Any, rng: Random) -> str | None:
    items = some_list(root, shape, rng, 2)
    if items is None:
        return None
    rng.shuffle(items)
    return "reorder"


def grow(root: Any, shape: Any, rng: Random) -> str | None:
    spot = find(
        root,
        shape,
        rng,
        lambda spot: spot.present and isinstance(spot.shape, Many) and isinstance(look(root, spot.where), list),
    )
    if spot is None:
        return None
    items = look(root, spot.where)
    for _ in range(rng.choice((1, 1, 2, 8))):
        items.insert(rng.randrange(len(items) + 1), make(spot.shape.item, rng))
    return "grow"


def shrink(root: Any, shape: Any, rng: Random) -> str | None:
    items = some_list(root, shape, rng, 1)
    if items is None:
        return None
    for _ in range(rng.randint(1, len(items))):
        items.pop(rng.randrange(len(items)))
    return "shrink"


def some_list(root: Any, shape: Any, rng: Random, least: int) -> list[Any] | None:
    def wanted(spot: Spot) -> bool:
        value = look(root, spot.where) if spot.present and isinstance(spot.shape, Many) else None
        return isinstance(value, list) and len(value) >= least

    spot = find(root, shape, rng, wanted)
    return look(root, spot.where) if spot else None


def rename(root: Any, shape: Any, rng: Random) -> str | None:
    """An item of a list gets another name, a free one or a neighbour's."""
    items = some_list(root, shape, rng, 1)
    if items is None or not all(isinstance(item, dict) and "name" in item for item in items):
        return None
    item = rng.choice(items)
    item["name"] = rng.choice(
        (f"renamed-{rng.randrange(100)}", rng.choice(items)["name"], "", f"{item['name']}x", "Bad")
    )
    return "rename"


def swap(root: Any, shape: Any, rng: Random) -> str | None:
    """The other member of a union."""
    spot = find(
        root, shape, rng, lambda spot: spot.present and isinstance(spot.shape, Struct) and bool(spot.shape.one_of)
    )
    if spot is None or not isinstance(look(root, spot.where), dict):
        return None
    value = look(root, spot.where)
    group = rng.choice(spot.shape.one_of)
    there = [name for name in group if name in value]
    free = [name for name in group if name not in value]
    if not free:
        return None
    for name in there:
        del value[name]
    chosen = rng.choice(free)
    value[chosen] = make(spot.shape.fields[chosen], rng)
    return "swap"


def move(root: Any, shape: Any, rng: Random) -> str | None:
    """A template goes below another parent, or to another place in the tree."""
    lists = [
        owner[name]
        for owner in [root["spec"], *templates(root["spec"])]
        for name in LISTS
        if isinstance(owner.get(name), list)
    ]
    if len(lists) < 2:
        return None
    source, target = rng.sample(lists, 2)
    if not source:
        return None
    target.append(source.pop(rng.randrange(len(source))))
    return "move"


def priorities(root: Any, shape: Any, rng: Random) -> str | None:
    """All templates at once, so that they still agree."""
    found = list(templates(root["spec"])) if isinstance(root["spec"], dict) else []
    if not found or not all(isinstance(template, dict) for template in found):
        return None
    name, value = rng.choice(
        (("priorityClassName", "low"), ("priorityClassName", ""), ("priority", 5), ("priority", 0), ("priority", None))
    )
    for template in found:
        template[name] = value
    return "priorities"


def metadata(root: Any, shape: Any, rng: Random) -> str | None:
    if not isinstance(root.get("metadata"), dict):
        return None
    name, value = rng.choice(
        (
            ("labels", {"app": "x"}),
            ("labels", {}),
            ("labels", None),
            ("annotations", {"example.com/a": "b"}),
            ("finalizers", ["example.com/hold"]),
            ("finalizers", []),
            ("ownerReferences", []),
            ("labels", {"a b": "c"}),
            ("annotations", {"A.b/c": "é"}),
        )
    )
    if rng.random() < 0.5:
        _, name, value = odd_metadata(rng)
        if name == "namespace":
            return None
    root["metadata"][name] = copy.deepcopy(value)
    return "metadata"


def parallelism(root: Any, shape: Any, rng: Random) -> str | None:
    """A Job's pod count, alone or together with its gang."""
    spec = root["spec"].get("jobTemplate", {}).get("spec") if root.get("kind") == "CronJob" else root["spec"]
    if root.get("kind") not in ("Job", "CronJob") or not isinstance(spec, dict):
        return None
    spec["parallelism"] = rng.choice((0, 1, 2, 7, 20, -1, None, spec.get("parallelism", 1)))
    scheduling = spec.get("scheduling")
    if isinstance(scheduling, dict) and rng.random() < 0.6:
        scheduling["schedulingPolicy"] = {
            "gang": rng.choice(({}, {"minCount": 1}, {"minCount": spec["parallelism"]}, {"minCount": 8}))
        }
    return "parallelism"


POD_EDITS: tuple[tuple[str, Any], ...] = (
    ("containers", [{"name": "c", "image": "busybox:2"}]),
    ("containers", [{"name": "c", "image": "busybox:2"}]),
    ("containers", [{"name": "d", "image": "busybox:1"}]),
    ("tolerations", [{"key": "example.com/t", "operator": "Exists"}]),
    ("activeDeadlineSeconds", 60),
    ("terminationGracePeriodSeconds", 5),
    ("nodeSelector", {"a": "b"}),
    ("schedulingGates", []),
    ("schedulingGates", [{"name": "example.com/wait"}]),
    ("schedulerName", "other"),
    ("nodeName", "n"),
    ("hostNetwork", True),
    ("priorityClassName", "high"),
    ("priority", 1000),
    ("preemptionPolicy", "Never"),
)


def pod_content(root: Any, shape: Any, rng: Random) -> str | None:
    """What a pod holds besides its link: an image, a toleration and the like."""
    where = {
        "Pod": ("spec",),
        "PodTemplate": ("template", "spec"),
        "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    }
    if root.get("kind") in ("Workload", "PodGroup", "CompositePodGroup"):
        return None
    spec = look(root, where.get(root["kind"], ("spec", "template", "spec")))
    name, value = rng.choice(POD_EDITS)
    spec[name] = copy.deepcopy(value)
    return "pod"


EDITS: tuple[Edit, ...] = (
    same, renew, renew, renew, unset, unset, blank, blank, count, count, count, shuffle, grow, shrink, rename, swap,
    swap, move, priorities, metadata, parallelism, parallelism, pod_content, pod_content,
)  # fmt: skip
