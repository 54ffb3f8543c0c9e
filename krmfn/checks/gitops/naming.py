"""Names that differ in the cluster from what the files say: references that kustomize did not rename with their object,
variables of Flux, and generated objects whose source is gone. And objects that are defined twice under one name.
"""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from krmfn.checks.rule import Matches, rule, tell
from krmfn.checks.scheduler.trees import list_groups
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.marks import GENERATED_FROM, list_sources, name_source
from krmfn.model.names import NAME_LIMIT
from krmfn.model.tree import Path
from krmfn.model.values import Key, as_list, as_text, identify
from krmfn.survey.census import Census
from krmfn.survey.groups import find_reference

#: With these annotations Config Sync applies each object only to the clusters or namespaces that it is meant for.
_SELECTORS = ("configmanagement.gke.io/cluster-selector", "configmanagement.gke.io/namespace-selector")
#: The group of the object from which operator-sdk makes a bundle, with examples of each version beside it.
_BUNDLE = "scorecard.operatorframework.io"
#: Namespace, kind and name.
_Named: TypeAlias = tuple[str, str, str]


@rule("renamed-reference")
def find_renamed_reference(census: Census) -> Matches:
    dangling = list(_dangling_references(census))
    if not dangling:
        return
    renamed = _find_renamed(
        ((item.space, kind, name) for item, _, kind, name in dangling),
        ((other.space, other.kind, other.name) for other in census.list_scheduling()),
    )
    for item, path, kind, name in dangling:
        found = renamed.get((item.space, kind, name), set())
        if len(found) == 1:
            case = "workload" if path[-1] == "workloadName" else ""
            yield tell(item, path, name, *found, case=case, kind=kind)


@rule("affix-unconfigured")
def find_affix_unconfigured(census: Census) -> Matches:
    for item in census.kind("kustomize.config.k8s.io", "Kustomization"):  # a Component renames what others list
        affix = next((field for field in ("namePrefix", "nameSuffix") if as_text(item.value.get(field))), "")
        if affix and not as_list(item.value, "configurations") and _is_scheduling_involved(census, item):
            yield tell(item, (affix,), item.value[affix], affix=affix)


@rule("substitution-in-group", once=True)
def find_substitution(census: Census) -> Matches:
    if not census.has_text("${"):
        return
    for item in census.list_scheduling():
        if item.may_hold(b"${"):
            yield from (tell(item, path, text) for path, text in _list_texts(item.value, ()) if "${" in text)


@rule("generated-orphan")
def find_generated_orphan(census: Census) -> Matches:
    if not census.has_text(GENERATED_FROM):
        return
    generated = [(item, named) for item in census.objects if (named := list_sources(item))]
    missing = {_split_source(item, source) for item, named in generated for source in named}
    objects = [_split_source(item, name_source(item.ref)) for item in census.objects]
    missing.difference_update(objects)
    missing.difference_update(_find_renamed(missing, objects))
    for item, named in generated:
        if all(_split_source(item, source) in missing for source in named):
            yield tell(item, ("metadata", "annotations", GENERATED_FROM), ",".join(named), named=named)


@rule("object-duplicate")
def find_object_duplicate(census: Census) -> Matches:
    if any(group == _BUNDLE for group, _ in census.by_kind):
        return
    selectors = [each for each in _SELECTORS if census.has_text(each)]
    seen: dict[object, Item] = {}
    for item in census.objects:
        if not item.name:
            continue
        chosen = tuple([item.annotations.get(each) for each in selectors])
        first = seen.setdefault((identify(item.ref), chosen), item)
        if first is not item and (first.file.path == item.file.path or not _is_same(first, item)):
            place = first.locate(())
            where = f" ({place.path}:{place.line})" if place.line else ""
            yield tell(item, ("metadata", "name"), item.name, where=where)


def _is_same(first: Item, item: Item) -> bool:
    """Whether it makes no difference which one is applied, or that both are: files repeat their namespace, for one."""
    counts = item.group.startswith("scheduling.") or find_kind(item.ref) is not None
    return not counts and first.value == item.value


def _split_source(item: Item, source: str) -> _Named:
    kind, _, name = source.partition("/")
    return item.space, kind, name


def _find_renamed(wanted: Iterable[_Named], objects: Iterable[_Named]) -> dict[_Named, set[str]]:
    """The names of objects today, by the wanted name that they may have had before a prefix or suffix was added."""
    by_dashes: dict[Key, dict[int, set[str]]] = defaultdict(dict)
    for space, kind, name in wanted:
        by_dashes[space, kind].setdefault(name.count("-"), set()).add(name)
    found = defaultdict(set)
    for space, kind, name in objects:
        if len(name) <= NAME_LIMIT:
            for dashes, names in by_dashes.get((space, kind), {}).items():
                for part in names.intersection(_list_parts(name, dashes)):
                    found[space, kind, part].add(name)
    return found


def _list_parts(name: str, dashes: int) -> set[str]:
    """The parts of a name with so many dashes in them, from a dash to another; not the whole name."""
    words = name.split("-")
    starts = range(len(words) - dashes)
    return {"-".join(words[start : start + dashes + 1]) for start in starts} - {name}


def _dangling_references(census: Census) -> Iterator[tuple[Item, Path, str, str]]:
    for template in census.dangling:
        if template.link is not None:
            in_workload = "/" in template.link.group
            kind = "Workload" if in_workload else "PodGroup"
            path = (*template.link.path[:-1], "name") if in_workload else template.link.path
            yield template.item, path, kind, template.link.group.partition("/")[0]
    for group in (each for each in list_groups(census) if each.path == ("spec",)):
        if group.workload and (group.namespace, group.workload) not in census.workloads:
            yield group.item, ("spec", *find_reference(group.spec)[:-1], "workloadName"), "Workload", group.workload
        if group.parent and (group.namespace, group.parent) not in census.composites:
            yield group.item, ("spec", "parentCompositePodGroupName"), "CompositePodGroup", group.parent


def _is_scheduling_involved(census: Census, kustomization: Item) -> bool:
    """Whether a kustomization has groups among its resources, or runs krmfn."""
    configurations = {each.file.path for each in census.kind("krmfn.dev", "GangScheduling")}
    transformers = (kustomization.file.path, *_list_entries(kustomization, "transformers"))
    if kustomization.value.get("transformers") and not configurations.isdisjoint(transformers):
        return True
    below = {_folder(each): each for each in census.kind("kustomize.config.k8s.io", "Kustomization")}
    resources, waiting, seen = {kustomization.file.path}, [kustomization], {_folder(kustomization)}
    while waiting:
        here = waiting.pop()
        for entry in (*_list_entries(here, "resources"), *_list_entries(here, "bases")):
            if entry not in below:  # a file, or a folder whose kustomization is not among the objects
                resources.add(entry)
            elif entry not in seen:
                seen.add(entry)
                waiting.append(below[entry])
    groups = {each.file.path for each in census.list_scheduling()}
    return any(f"{path}/".startswith(f"{resource}/") for path in groups for resource in resources)


def _folder(item: Item) -> str:
    return posixpath.dirname(item.file.path) or "."


def _list_entries(kustomization: Item, field: str) -> list[str]:
    """The paths in a field, from the working directory."""
    entries = as_list(kustomization.value.get(field))
    return [posixpath.normpath(posixpath.join(_folder(kustomization), as_text(entry))) for entry in entries]


def _list_texts(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The strings in a value, each with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _list_texts(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _list_texts(child, (*path, index))
