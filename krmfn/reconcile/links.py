"""Links in pod templates: where they are, whose they are, setting and removing them. Knows no tree."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from krmfn.krm.item import Item
from krmfn.krm.paths import Path, dig
from krmfn.model.marks import PATCHER, POD_GROUP, POD_GROUP_BY
from krmfn.model.schedulers import SCHEDULERS, Scheduler
from krmfn.model.values import Value, as_mapping
from krmfn.releases.spelling import LINK_FIELDS, LINKS

#: The keys under which pods name a group of another scheduler.
_KEYS = frozenset(row.link[1] for row in SCHEDULERS.values())
#: The keys that hold names of groups.
_NAMES = _KEYS | {POD_GROUP}
#: Every link is below one of these.
_WORDS = tuple(word.encode() for word in (*sorted(LINK_FIELDS), POD_GROUP, *sorted(_KEYS)))

#: The list of a TrainJob that patches pod templates, and what is left of a patch that says nothing any more.
_PATCHES = "runtimePatches"
_EMPTY: tuple[Any, ...] = ({}, [], None, {"manager": PATCHER})


#: What to do about an object that cannot be edited.
WRITE_OUT = "Write the field in this place itself, without a merge key (<<), an anchor or an alias."


class Site(NamedTuple):
    """A link that stands in a manifest: the path of its value, the name it gives, and what to remove with it. `field`
    is the path from the spec of a pod, where that holds the link."""

    path: Path
    value: str
    whole: tuple[Path, ...]
    field: Path = ()


def find_sites(value: Any, path: Path = ()) -> Iterator[Site]:
    """Every link to a group or Workload in a manifest, of every release and scheduler, in the order of the text.

    A pod template is known by its shape: a `spec` with a link in it, or metadata with one beside a `spec` with
    containers. A patch of a pod template (TrainJob) may be nothing but metadata.
    """
    if isinstance(value, list):
        for index, entry in enumerate(value):
            if isinstance(entry, dict | list):
                yield from find_sites(entry, (*path, index))
    if not isinstance(value, dict):
        return
    spec = value.get("spec")
    if isinstance(spec, dict):
        yield from _sites_of_pod(value, spec, path)
    elif _PATCHES in path:
        yield from _bridged_sites(as_mapping(value, "metadata"), path)
    for key, entry in value.items():
        if isinstance(entry, dict | list):
            yield from find_sites(entry, (*path, key))


def _sites_of_pod(template: Value, spec: Value, path: Path) -> Iterator[Site]:
    if "containers" not in spec and path[-1:] != ("template",):  # operators may add the containers (Spark)
        return
    for field in LINKS:
        name = dig(spec, *field)
        if isinstance(name, str):
            yield Site((*path, "spec", *field), name, ((*path, "spec", field[0]),), field)
    metadata = as_mapping(template, "metadata")
    yield from _bridged_sites(metadata, path)
    for row in SCHEDULERS.values():
        yield from _sites_of(row, metadata, spec, path)


def _bridged_sites(metadata: Value, path: Path) -> Iterator[Site]:
    """The annotations that the link bridge reads."""
    annotations = as_mapping(metadata, "annotations")
    if isinstance(annotations.get(POD_GROUP), str):
        places = ((*path, "metadata", "annotations", key) for key in (POD_GROUP, POD_GROUP_BY) if key in annotations)
        yield Site((*path, "metadata", "annotations", POD_GROUP), annotations[POD_GROUP], tuple(places))


def _sites_of(row: Scheduler, metadata: Value, spec: Value, path: Path) -> Iterator[Site]:
    """The link to a group of another scheduler, and what was set with it."""
    name = as_mapping(metadata.get(row.link[0])).get(row.link[1])
    if not isinstance(name, str):
        return
    place = (*path, "metadata", *row.link)
    # the scheduler's name was set together with the link: kube-scheduler would never see these pods
    scheduler = ((*path, "spec", "schedulerName"),) if spec.get("schedulerName") == row.name else ()
    yield Site(place, name, (place, *scheduler))
    for part, key in row.beside:
        if key in as_mapping(metadata.get(part)):
            also = (*path, "metadata", part, key)
            yield Site(also, name, (also,))


def is_name(path: Path) -> bool:
    """Whether a link's field holds the name of an object (others are set beside it: a template, a scheduler)."""
    return path[-1] in _NAMES or any(path[-len(field) :] == field for field in LINKS)


def may_be_linked(item: Item) -> bool:
    """Whether the text of an item, as it was read, leaves it open that links stand in it."""
    return item.may_hold(*_WORDS)


def unlink(item: Item, ours: Collection[str], keep: Collection[Path] = ()) -> None:
    """Remove every link to a name among `ours`, except at the paths `keep`. Raises EditRefused."""
    for site in reversed(list(find_sites(item.value))):  # from the end, because entries of lists may go
        if site.value in ours and site.path not in keep:
            for path in site.whole:
                if not any(kept[: len(path)] == path for kept in keep):
                    _remove_with_parents(item, path)


def _remove_with_parents(item: Item, path: Path) -> None:
    """Remove `path`, and what it leaves empty: the annotations, labels or metadata; a patch of ours as a whole."""
    item.remove(path)
    for end in range(len(path) - 1, 0, -1):
        patched = _PATCHES in path[:end]
        if not patched and path[end - 1] not in {"annotations", "labels", "metadata"}:
            return
        if item.get(path[:end], None) not in (*_EMPTY, {"name": item.get((*path[:end], "name"))} if patched else {}):
            return
        item.remove(path[:end])
