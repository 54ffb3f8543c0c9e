"""Slices: pods of one template in nested groups, by their numbers. And minima of roles. What speaks against them,
before any is made."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from krmfn.model.marks import KUEUE_MINIMUM
from krmfn.model.tree import Group, Leaf, leaves
from krmfn.model.values import as_mapping
from krmfn.releases.release import first_release
from krmfn.releases.spelling import read_limits
from krmfn.sources.manifest import Manifest

#: So many PodGroups one resource can have: each is an object in Git. Nobody has more replicas or racks for one gang.
MOST_GROUPS: Final = 5000
_ANNOTATIONS: Final = ("metadata", "annotations")
_NUMBERED: Final = (
    "Use an Indexed Job with completions equal to parallelism, a StatefulSet, a LeaderWorkerSet, a JobSet of such "
    "Jobs, or worker groups of KubeRay 1.6."
)


def list_sliced(group: Group, largest: int) -> list[Leaf]:
    """The leaves that are cut: those whose pods have numbers. Of several, those that fill a slice: a head, a launcher,
    or a few parameter servers stay one group each."""
    every = [leaf for leaf in leaves(group) if leaf.min_count != 0]
    return [leaf for leaf in every if leaf.number and (leaf.pods >= largest or len(every) == 1)]


def check_slices(manifest: Manifest, group: Group) -> None:
    """Leave an error for the first reason for which the pods cannot be cut as the options say."""
    for message, hint in _find_mistakes(manifest, group):
        place = ("metadata", "annotations", "krmfn.dev/slices")
        manifest.note("slices-impossible", place, message, hint)
        return


def _find_mistakes(manifest: Manifest, group: Group) -> Iterator[tuple[str, str]]:
    """What is wrong, and the way out."""
    release, options = manifest.settings.release, manifest.options
    keys, sizes = zip(*options.levels, strict=True)
    sliced = list_sliced(group, sizes[0])
    if not release.has("composite-groups"):
        message = f"slices are nested groups, which Kubernetes {release} does not have"
        yield message, f"Remove the slices, or use Kubernetes {first_release('composite-groups')}."
    numbered = [leaf.pods for leaf in leaves(group) if leaf.number]
    if numbered and not sliced:
        message = f"no group of this {manifest.ref.kind} has the {sizes[0]} pods of a slice"
        yield message, f"Use slices of at most {max(numbered)} pods."
    elif not sliced:
        yield f"the pods of this {manifest.ref.kind} have no numbers by which they could be cut into slices", _NUMBERED
    most = read_limits(release).levels - (len(leaves(group)) > 1) - bool(options.gang_group)
    if len(sizes) > most:
        message = f"{len(sizes)} levels of slices are nested deeper than a Workload of Kubernetes {release} can be"
        yield message, f"Use at most {most} levels." if most > 0 else "Remove krmfn.dev/gang-group."
    for key in keys:
        if keys.count(key) > 1:
            message = f"two levels of slices have the label {key}: the smaller slices share its value already"
            yield message, "Remove the smaller level, or give it another label."
    for outer, inner in pairwise(sizes):
        message = f"slices of {outer} pods cannot be cut into slices of {inner}"
        if inner >= outer:
            yield message, "Write the largest slices first."
        elif outer % inner:
            inside, outside = _find_nearest(outer, inner, 1, outer - 1), _list_multiples(outer, inner)
            yield message, f"Use {inside} instead of {inner}, or {outside} instead of {outer}."
    for leaf in sliced:
        whole = "pods" if len(leaves(group)) == 1 else f"pods of group {leaf.name}"
        if leaf.pods % sizes[0]:
            nearest = _find_nearest(leaf.pods, sizes[0], sizes[1] if len(sizes) > 1 else 1, leaf.pods)
            message = f"{leaf.pods} {whole} cannot be cut into slices of {sizes[0]}"
            sooner = f"slices of {nearest}, or " if nearest else ""
            yield message, f"Use {sooner}{_list_multiples(leaf.pods, sizes[0])} pods."
        least = options.min_count if isinstance(options.min_count, int) else leaf.min_count
        if least and least % sizes[0]:
            message = f"a minimum of {least} {whole} does not fill slices of {sizes[0]} pods"
            yield message, f"Use a multiple of {sizes[0]}."
        if leaf.pods // sizes[-1] > MOST_GROUPS:
            message = f"{leaf.pods} {whole} in slices of {sizes[-1]} are {leaf.pods // sizes[-1]} groups"
            yield message, f"Use slices that make at most {MOST_GROUPS} groups."


def check_minima(manifest: Manifest, group: Group) -> None:
    """Leave an error for each minimum that an annotation sets and the groups cannot have."""
    options, release, kind = manifest.options, manifest.settings.release, manifest.ref.kind
    apart = options.granularity == "Replica"
    for key in as_mapping(manifest.get(_ANNOTATIONS)):
        nests = key == "krmfn.dev/min-groups" or (apart and key.startswith("krmfn.dev/min-count."))
        message, hint = "", "Remove the annotation."
        if nests and not release.has("composite-groups"):
            message = f"groups that wait for each other are nested, which Kubernetes {release} cannot do"
            hint = f"Remove the annotation, or use Kubernetes {first_release('composite-groups')}."
        elif key == "krmfn.dev/min-count" and options.min_count == "MinReplicas":
            if apart and not options.nested and any(leaf.by for leaf in leaves(group)):
                message = "with granularity Replica every replica is a gang of all its pods: MinReplicas has no effect"
                hint = "Set krmfn.dev/min-groups, or krmfn.dev/min-count.<group> for a single role."
            elif not _has_minimum(manifest):
                message = f"no field of this {kind} says how many of its pods are enough: MinReplicas has no effect"
                hint = "Set a number, or remove the annotation."
        if message:
            manifest.note("minimum-unused", (*_ANNOTATIONS, key), message, hint)


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
    below = [size for size in fitting if size < wanted][-1:]
    above = [size for size in fitting if size > wanted][:1]
    return " or ".join(map(str, below + above))


def _list_multiples(number: int, unit: int) -> str:
    """The nearest numbers that slices of `unit` pods fill."""
    below = number // unit * unit
    return f"{below} or {below + unit}" if below > unit else str(max(below, unit) + unit * (below == unit))
