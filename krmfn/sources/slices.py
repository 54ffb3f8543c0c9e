"""Slices: pods of one template in nested groups, by their numbers. And minima of roles. What speaks against them,
before any is made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.model.tree import Group, Leaf, leaves
from krmfn.model.values import Fields, as_mapping
from krmfn.releases.release import first_release
from krmfn.releases.spelling import read_limits
from krmfn.sources.manifest import Manifest

#: How many PodGroups a resource can have: each is an object in Git. Nobody has more replicas or racks for one gang.
MOST_GROUPS = 5000
_ANNOTATIONS = ("metadata", "annotations")


def list_sliced(group: Group, largest: int) -> list[Leaf]:
    """The leaves that are cut: those whose pods have numbers. Of several, those that fill a slice: a head, a launcher,
    or a few parameter servers stay one group each."""
    every = [leaf for leaf in leaves(group) if leaf.min_count != 0]
    return [leaf for leaf in every if leaf.number and (leaf.pods >= largest or len(every) == 1)]


def check_slices(manifest: Manifest, group: Group) -> None:
    """Leave an error for the first reason for which the pods cannot be cut as the options say."""
    for case, about in _find_mistakes(manifest, group):
        manifest.tell("slices-impossible", (*_ANNOTATIONS, "krmfn.dev/slices"), case, **about)
        return


def _find_mistakes(manifest: Manifest, group: Group) -> Iterator[tuple[str, Fields]]:
    """What is wrong: cases of the rule, each with what there is to say."""
    release, options = manifest.settings.release, manifest.options
    keys, sizes = zip(*options.levels, strict=True)
    sliced = list_sliced(group, sizes[0])
    if not release.has("composite-groups"):
        yield "release", {"release": release, "later": first_release("composite-groups")}
    numbered = [leaf.pods for leaf in leaves(group) if leaf.number]
    if numbered and not sliced:
        yield "small", {"size": sizes[0], "most": max(numbered)}
    elif not sliced:
        yield "unnumbered", {}
    most = read_limits(release).levels - (len(leaves(group)) > 1) - bool(options.gang_group)
    if len(sizes) > most:
        way = f"Use at most {most} levels." if most > 0 else "Remove krmfn.dev/gang-group."
        yield "deep", {"levels": len(sizes), "release": release, "way": way}
    for key in keys:
        if keys.count(key) > 1:
            yield "label", {"key": key}
    for outer, inner in pairwise(sizes):
        if inner >= outer:
            yield "order", {"outer": outer, "inner": inner}
        elif outer % inner:
            inside, outside = _find_nearest(outer, inner, 1, outer - 1), _list_multiples(outer, inner)
            yield "levels", {"outer": outer, "inner": inner, "inside": inside, "outside": outside}
    for leaf in sliced:
        whole = "pods" if len(leaves(group)) == 1 else f"pods of group {leaf.name}"
        about: Fields = {"pods": leaf.pods, "size": sizes[0], "whole": whole}
        if leaf.pods % sizes[0]:
            nearest = _find_nearest(leaf.pods, sizes[0], sizes[1] if len(sizes) > 1 else 1, leaf.pods)
            sooner = f"slices of {nearest}, or " if nearest else ""
            yield "pods", {**about, "sooner": sooner, "later": _list_multiples(leaf.pods, sizes[0])}
        least = options.min_count if isinstance(options.min_count, int) else leaf.min_count
        if least and least % sizes[0]:
            yield "minimum", {**about, "least": least}
        number = leaf.pods // sizes[-1]
        if number > MOST_GROUPS:
            yield "many", {**about, "size": sizes[-1], "number": number, "most": MOST_GROUPS}


def check_minima(manifest: Manifest, group: Group) -> None:
    """Leave an error for each minimum that an annotation sets and the groups cannot have."""
    options, release = manifest.options, manifest.settings.release
    apart = options.granularity == "Replica"
    for key in as_mapping(manifest.get(_ANNOTATIONS)):
        nests = key == "krmfn.dev/min-groups" or (apart and key.startswith("krmfn.dev/min-count."))
        case = ""
        if nests and not release.has("composite-groups"):
            case = "nested"
        elif key == "krmfn.dev/min-count" and options.min_count == "MinReplicas":
            if apart and not options.nested and any(leaf.by for leaf in leaves(group)):
                case = "replicas"
            elif not _has_minimum(manifest):
                case = "kind"
        if case:
            later = first_release("composite-groups")
            manifest.tell("minimum-unused", (*_ANNOTATIONS, key), case, release=release, later=later)


def _has_minimum(manifest: Manifest) -> bool:
    """Whether the resource can have a lower bound: by its kind, by Kueue, or because others say what it is made of."""
    kind = manifest.kind
    others = kind.group == "ray.io" or kind.name in ("AppWrapper", "TrainJob")
    return (
        others
        or any(role.minimum for role in kind.templates)
        or KUEUE_MINIMUM in as_mapping(manifest.get(_ANNOTATIONS))
    )


def _find_nearest(whole: int, wanted: int, unit: int, largest: int) -> str:
    """The next smaller and larger slices than `wanted` that `whole` pods, and slices of `unit` pods, allow."""
    fitting = sorted(
        {
            size
            for small in range(1, int(whole**0.5) + 1)
            if whole % small == 0
            for size in (small, whole // small)
            if size % unit == 0 and size <= largest
        }
    )
    below, above = ([size for size in fitting if size < wanted], [size for size in fitting if size > wanted])
    return " or ".join(map(str, below[-1:] + above[:1]))


def _list_multiples(number: int, unit: int) -> str:
    """The nearest numbers that slices of `unit` pods fill."""
    below = number // unit * unit
    return f"{below} or {below + unit}" if below > unit else str(below + unit)
