"""The pods of the input by name, as its controllers make them, and those of them that the facts say exist already."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import add_injected
from krmfn.krm.errors import Unreadable
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.values import Names, Value, as_list, as_mapping, as_text, dig, group_by, key_of, name_of
from krmfn.releases.spelling import GROUP_LINKS, LINK_FIELDS
from krmfn.survey.census import Census, Template, once

#: What Kubernetes is built for: https://kubernetes.io/docs/setup/best-practices/cluster-large/
MOST_PODS = 150_000


class Pod(NamedTuple):
    """A pod: `name` is namespace/name, `value` the object that the scheduler reads. `template` is the pod template of
    the input that it is made of, None for pods of others. `node` is where it is bound already."""

    name: str
    value: Value
    template: Template | None
    node: str


class Roster(NamedTuple):
    """All pods: those that wait or will be made, in the order of the input, and those that are bound. `made` are those
    of the input's templates with their numbers, by the identity of the template. `assigned` are the node labels and
    tolerations that Kueue has decided to add to a pod, by its name; `evicted` are the pods that it stops."""

    waiting: tuple[Pod, ...]
    bound: tuple[Pod, ...]
    made: Mapping[int, Sequence[tuple[int, Pod]]]
    assigned: Mapping[str, tuple[Mapping[str, str], Sequence[Any]]] = {}
    evicted: Names = ()

    def pods_of(self, templates: Iterable[Template], bound: bool = False) -> list[Pod]:
        """The pods of templates that wait, or those that are bound, in the order of all."""
        found = sorted(pair for each in {*map(id, templates)} for pair in self.made.get(each, ()))
        return [pod for _, pod in found if bool(pod.node) == bound]


def call_roll(census: Census) -> Roster:
    """The pods of the input and of the facts. A pod that exists stands for one that its template would make.

    Pods that are over are left out; so are templates whose number of pods nobody knows. Raises Unreadable for a
    template with more pods than a cluster can have.
    """
    owned: dict[int, list[Pod]] = defaultdict(list)  # those of others: by the identity of None
    templates = list_parts(census)
    by_owner = group_by(lambda each: (each[1].item.space, each[1].item.name), enumerate(templates))
    for value in census.facts.objects("", "Pod"):
        if dig(value, "status", "phase") in ("Succeeded", "Failed") or "metadata" not in value:
            continue
        space = key_of(value)[0]
        known = sorted(each for name in _list_owners(value) for each in by_owner.get((space, name), ()))
        template = _find_template(value, [each for _, each in known], owned)
        owned[id(template)].append(Pod(full_name(value), _strip(value), template, as_text(value, "spec", "nodeName")))
    names = {pod.name for pods in owned.values() for pod in pods}
    many = next((template for template in census.templates if (template.pods or 0) > MOST_PODS), None)
    if many:
        text = f"{many.item.kind} {many.item.name} has {many.pods} pods, and no cluster has more than {MOST_PODS}"
        raise Unreadable(many.item.locate(many.path).tell(text))
    made = []
    for template in templates:
        there = owned[id(template)]
        made += there
        wanted = max(0, (template.pods or 0) - len(there))
        for name in _fresh_names(template, wanted, names):
            value = _make(template, name)
            made.append(Pod(f"{template.item.space}/{name}", value, template, as_text(template.spec, "nodeName")))
    by_template = group_by(lambda pair: id(pair[1].template), enumerate(made))
    pods = (*made, *owned[id(None)])
    return Roster(tuple(pod for pod in pods if not pod.node), tuple(pod for pod in pods if pod.node), by_template)


@once
def list_parts(census: Census) -> list[Template]:
    """The templates; in place of one whose pods are in several groups, what each of these has of it."""
    parts = defaultdict(list)
    for template in (*(template for _, template in census.linked()), *census.dangling):
        if template.link is not None and template.link.by:
            parts[id(template.item), template.path].append(template)
    return [part for each in census.templates for part in parts.get((id(each.item), each.path), [each])]


def is_owner(item: Item, pod: Value) -> bool:
    """Whether a pod of the cluster was made for an object of the input, directly or through objects that it makes."""
    if key_of(pod)[0] != item.space:
        return False
    labels = as_mapping(pod, "metadata", "labels")
    for key in _list_owner_labels(item):
        if labels.get(key) == item.name:
            return True
    for owner in as_list(pod, "metadata", "ownerReferences"):
        kind, name = as_text(owner, "kind"), as_text(owner, "name")
        if (kind, name) == (item.kind, item.name):
            return True
        # A Deployment's pods belong to ReplicaSets that carry its name and a hash.
        if item.kind == "Deployment" and kind == "ReplicaSet" and name.rpartition("-")[0] == item.name:
            return True
    return item.kind == "Pod" and name_of(pod) == item.name


def _list_owners(pod: Value) -> set[str]:
    """The names that the objects may have for which a pod of the cluster was made, as `is_owner` judges."""
    metadata = as_mapping(pod, "metadata")
    owners = [as_text(owner, "name") for owner in as_list(metadata, "ownerReferences")]
    labels = map(as_text, as_mapping(metadata, "labels").values())
    return {as_text(metadata, "name"), *labels, *owners, *(name.rpartition("-")[0] for name in owners)}


def _list_owner_labels(item: Item) -> Names:
    row = find_kind(item.ref)
    return row.owner_labels if row else ()


def _find_template(pod: Value, templates: Iterable[Template], owned: Mapping[int, Sequence[Pod]]) -> Template | None:
    """That of the templates which a pod of the cluster was made of: the owner's, and among several the one with
    the same role, or the same link and containers; among these one that has not all of its pods."""
    candidates = [template for template in templates if is_owner(template.item, pod)]
    if len(candidates) < 2:
        return candidates[0] if candidates else None
    wanted = _signature(as_mapping(pod, "spec"))
    labels = as_mapping(pod, "metadata", "labels")
    role = as_text(labels, "ray.io/group") or as_text(labels, "jobset.sigs.k8s.io/replicatedjob-name")
    for template in candidates:
        if role and role in (find_role(template), "headgroup" if find_role(template) == "head" else ""):
            return template
    group = next((name for link in GROUP_LINKS if (name := as_text(pod, "spec", *link))), "")
    linked = [template for template in candidates if group and template.link and template.link.group == group]
    alike = linked or [template for template in candidates if _signature(template.spec) == wanted] or candidates
    return next((one for one in alike if len(owned.get(id(one), ())) < (one.pods or 0)), alike[0])


def _signature(spec: Value) -> object:
    link = [dig(spec, field) for field in sorted(LINK_FIELDS)]
    return link, [as_text(box, "name") for box in as_list(spec, "containers")]


def _fresh_names(template: Template, count: int, taken: set[str]) -> Iterator[str]:
    """Names as the controller would give them, or near enough."""
    item = template.item
    if item.kind == "Pod":
        if count:
            yield item.name
        return
    suffix = find_role(template)
    base = f"{item.name}-{suffix}" if suffix else item.name
    names = (f"{base}-{number}" for number in itertools.count())
    for name in itertools.islice((name for name in names if f"{item.space}/{name}" not in taken), count):
        taken.add(f"{item.space}/{name}")
        yield name


def find_role(template: Template) -> str:
    """What tells the templates of one object apart: the name of a worker group, of a replicated Job, a role."""
    path = template.path
    for index in range(len(path), 0, -1):
        part = dig(template.item.value, *path[:index])
        name = as_text(part, "groupName") or (as_text(part, "name") if isinstance(path[index - 1], int) else "")
        if name:
            return name
        for word, role in _ROLES.items():
            if path[index - 1] == word:
                return role
        if path[index - 2 : index - 1] and str(path[index - 2]).endswith("ReplicaSpecs"):
            return str(path[index - 1]).lower()
    return ""


_ROLES = {"headGroupSpec": "head", "leaderTemplate": "leader", "workerTemplate": "worker"}


def _make(template: Template, name: str) -> Value:
    item, role = template.item, find_role(template)
    labels = {**as_mapping(template.metadata, "labels"), **dict.fromkeys(_list_owner_labels(item), item.name)}
    if item.group == "ray.io":
        labels |= {"ray.io/node-type": "head" if role == "head" else "worker", "ray.io/group": role}
    metadata = {"name": name, "namespace": item.space, "labels": labels}
    spec = add_injected(template)
    if template.link is not None and template.link.bridged:
        field, key = GROUP_LINKS[0]
        spec = {**spec, field: {key: template.link.group}}  # as the bridge does
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def full_name(value: Value) -> str:
    """The namespace/name of a pod of the cluster."""
    return "/".join(key_of(value))


def _strip(value: Value) -> Value:
    """A pod of the cluster without what the scheduler does not read and the server filled in."""
    space, name = key_of(value)
    metadata = {"name": name, "namespace": space, "labels": as_mapping(value, "metadata", "labels")}
    spec = {key: entry for key, entry in as_mapping(value, "spec").items() if key not in ("priority", "overhead")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
