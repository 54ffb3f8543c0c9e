"""References that a kustomize prefix or suffix left behind, and objects that are among the manifests more than once."""

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

#: Namespace, kind and name.
_Named: TypeAlias = tuple[str, str, str]


@rule("renamed-reference")
def find_renamed_reference(census: Census) -> Matches:
    dangling = list(_dangling_references(census))
    renamed = _find_renamed(
        ((item.space, kind, name) for item, _, kind, name in dangling),
        ((other.space, other.kind, other.name) for other in census.list_scheduling()),
    )
    for item, path, kind, name in dangling:
        found = renamed.get((item.space, kind, name), set())
        if len(found) == 1:
            case = "workload" if path[-1] == "workloadName" else ""
            yield tell(item, path, name, next(iter(found)), case=case, kind=kind)


@rule("affix-unconfigured")
def find_affix_unconfigured(census: Census) -> Matches:
    for item in census.kind("kustomize.config.k8s.io", "Kustomization"):  # a Component renames what others list
        affix = next((field for field in ("namePrefix", "nameSuffix") if as_text(item.value.get(field))), "")
        if affix and not as_list(item.value, "configurations") and _is_scheduling_involved(census, item):
            yield tell(item, (affix,), item.value[affix], affix=affix)


@rule("substitution-in-group")
def find_substitution(census: Census) -> Matches:
    for item in census.list_scheduling() if census.has_text("${") else ():
        for path, text in _strings(item.value, ()) if item.may_hold(b"${") else ():
            if "${" in text:
                yield tell(item, path, text)
                break


@rule("generated-orphan")
def find_generated_orphan(census: Census) -> Matches:
    marked = census.objects if census.has_text(GENERATED_FROM) else ()
    generated = [(item, named) for item in marked if (named := list_sources(item))]
    wanted = {_split_source(item, source) for item, named in generated for source in named}
    objects = [_split_source(item, name_source(item.ref)) for item in census.objects] if wanted else []
    wanted.difference_update(objects)
    wanted.difference_update(_find_renamed(wanted, objects))
    for item, named in generated:
        if all(_split_source(item, source) in wanted for source in named):
            yield tell(item, ("metadata", "annotations", GENERATED_FROM), ",".join(named), named=named)


def _split_source(item: Item, source: str) -> _Named:
    kind, _, name = source.partition("/")
    return item.space, kind, name


def _find_renamed(wanted: Iterable[_Named], objects: Iterable[_Named]) -> dict[_Named, set[str]]:
    """Which objects could have had a wanted name before a prefix or suffix with a dash was put on: their names now."""
    lengths: dict[Key, dict[int, set[str]]] = defaultdict(dict)
    for space, kind, name in wanted:
        lengths[space, kind].setdefault(name.count("-") + 1, set()).add(name)
    found = defaultdict(set)
    for space, kind, name in objects if lengths else ():
        words = name.split("-") if len(name) <= NAME_LIMIT else []
        for length, names in lengths.get((space, kind), {}).items():
            for start in range(len(words) - length + 1) if length < len(words) else ():
                part = "-".join(words[start : start + length])
                if part in names:
                    found[space, kind, part].add(name)
    return found


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


def _is_scheduling_involved(census: Census, item: Item) -> bool:
    """Whether a kustomization has groups among its resources, or runs a function of ours."""
    groups = {other.file.path for other in census.list_scheduling()}
    configurations = {other.file.path for other in census.kind("krmfn.dev", "GangScheduling")}
    below = {_folder(other): other for other in census.kind("kustomize.config.k8s.io", "Kustomization")}
    used, waiting, seen = {item.file.path}, [item], {_folder(item)}
    while waiting:
        for entry in _entries(waiting.pop(), ("resources", "bases")):
            if entry not in below:  # a file, or a folder whose kustomization is not among the objects
                used.add(entry)
            elif entry not in seen:
                seen.add(entry)
                waiting.append(below[entry])
    listed = {item.file.path, *_entries(item, ("transformers",))} if item.value.get("transformers") else set()
    has_groups = any(path in used or any(path.startswith(f"{each}/") for each in used) for path in groups)
    return has_groups or not listed.isdisjoint(configurations)


def _folder(item: Item) -> str:
    return posixpath.dirname(item.file.path) or "."


def _entries(item: Item, fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        for entry in as_list(item.value.get(field)):
            yield posixpath.normpath(posixpath.join(_folder(item), as_text(entry)))


def _strings(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, child in value.items():
            yield from _strings(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _strings(child, (*path, index))


#: With these annotations Config Sync takes each object for the clusters or namespaces that it is meant for.
_SELECTORS = ("configmanagement.gke.io/cluster-selector", "configmanagement.gke.io/namespace-selector")

#: operator-sdk reads such an object, and makes a bundle of all that is beside it: with examples of each version.
_BUNDLE = "scorecard.operatorframework.io"


@rule("object-duplicate")
def find_object_duplicate(census: Census) -> Matches:
    seen: dict[object, Item] = {}
    selectors = _SELECTORS if any(map(census.has_text, _SELECTORS)) else ()
    if any(group == _BUNDLE for group, _ in census.by_kind):
        return
    for item in census.objects:
        if not item.name:
            continue
        chosen = tuple(item.annotations.get(selector) for selector in selectors) if selectors else ()
        first = seen.setdefault((identify(item.ref), chosen), item)
        if first is not item and (first.file.path == item.file.path or not _is_same(first, item)):
            place = first.locate(())
            where = f" ({place.path}:{place.line})" if place.line else ""
            yield tell(item, ("metadata", "name"), item.name, where=where)


def _is_same(first: Item, item: Item) -> bool:
    """Whether it makes no difference which one is applied, or that both are: files repeat their namespace, for one."""
    counts = item.group.startswith("scheduling.") or find_kind(item.ref) is not None
    return not counts and first.value == item.value
