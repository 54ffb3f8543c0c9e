"""ConfigMaps and Secrets that pods of a gang name and the cluster does not have: scheduled, the pods never start."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

from krmfn.checks.rule import Matches, rule, suggest, tell
from krmfn.model.tree import Path
from krmfn.model.values import Key, Names, Value, as_list, as_mapping, as_text, dig
from krmfn.survey.census import Census, Template

#: Where a source of the kind names it: in a volume, beside others in a projected volume, in env and in envFrom.
_FIELDS = (
    ("ConfigMap", "configMap", "name", "configMapKeyRef", "configMapRef"),
    ("Secret", "secret", "secretName", "secretKeyRef", "secretRef"),
)


class _Use(NamedTuple):
    """A ConfigMap or Secret that a pod cannot do without, and the keys of it."""

    kind: str
    name: str
    keys: Names
    path: Path


@rule("configuration-missing")
def find_configuration_missing(census: Census) -> Matches:
    """Only where the facts list the kind, and no object of another kind in the input has the name: it may make it."""
    known = {kind: _list_keys(census, kind) for kind, *_ in _FIELDS if census.facts.lists_all(kind)}
    if not known:
        return
    made = {item.key for item in census.objects if "." in item.group}
    for gang, template in census.linked():
        space = template.item.space
        for use in (*list_uses(template.spec), *_list_of_redis(template)):
            there = known.get(use.kind)
            if there is None or (space, use.name) in made:
                continue
            path = use.path if use.path[0] == "spec" else (*template.spec_path, *use.path)
            keys = there.get((space, use.name))
            if keys is None:
                near = suggest(use.name, [name for namespace, name in there if namespace == space])
                yield tell(template.item, path, use.name, use=use, space=space, near=near, gang=gang)
            elif missing := next((key for key in use.keys if key not in keys), ""):
                yield tell(template.item, path, missing, case="key", use=use, near=suggest(missing, keys), gang=gang)


def _list_keys(census: Census, kind: str) -> dict[Key, Collection[str]]:
    """The objects of the kind, in the facts and in the input, with their keys."""
    fields = ("data", "binaryData", "stringData")
    values = [*census.facts.by_place("", kind).items()]
    values += [(item.key, item.value) for item in census.kind("", kind)]
    return {place: {key for field in fields for key in as_mapping(value.get(field))} for place, value in values}


def list_uses(spec: Value) -> Iterator[_Use]:
    """The ConfigMaps and Secrets that a pod cannot start without."""
    for kind, volume, field, key_of, all_of in _FIELDS:
        for index, each in enumerate(as_list(spec, "volumes")):
            place = ("volumes", index)
            yield from _read(kind, dig(each, volume), field, (*place, volume))
            for number, source in enumerate(as_list(each, "projected", "sources")):
                yield from _read(kind, dig(source, volume), "name", (*place, "projected", "sources", number, volume))
        for boxes in ("containers", "initContainers"):
            for index, box in enumerate(as_list(spec.get(boxes))):
                for number, entry in enumerate(as_list(box, "env")):
                    source = dig(entry, "valueFrom", key_of)
                    yield from _read(kind, source, "name", (boxes, index, "env", number, "valueFrom", key_of))
                for number, entry in enumerate(as_list(box, "envFrom")):
                    yield from _read(kind, dig(entry, all_of), "name", (boxes, index, "envFrom", number, all_of))


def _list_of_redis(template: Template) -> Iterator[_Use]:
    """What KubeRay gives the head of a cluster whose state is in Redis, with whole paths."""
    if template.path[-2:-1] != ("headGroupSpec",):
        return
    for kind, *_, key_of, _ in _FIELDS:
        for field in ("redisUsername", "redisPassword"):
            path = (*template.path[:-2], "gcsFaultToleranceOptions", field, "valueFrom", key_of)
            yield from _read(kind, dig(template.item.value, *path), "name", path)


def _read(kind: str, source: object, field: str, path: Path) -> Iterator[_Use]:
    name = as_text(source, field)
    if name and dig(source, "optional") is not True:
        keys = [dig(source, "key"), *(dig(item, "key") for item in as_list(source, "items"))]
        yield _Use(kind, name, tuple(filter(None, map(as_text, keys))), (*path, field))
