"""The question to a simulator: the pods of the input by name, as its controllers make them, and those of them that the
facts say exist already; the cluster of the facts, the groups, and which trials to make; with what others do before pods
are scheduled, for a simulator that has none of them: volumes, devices, tolerations.

A volume that somebody makes when it is needed, and what the facts do not tell, is taken for granted: a pod is handed
over without it, so that nothing is called impossible that only was not known. Claims that are made from templates are
handed over as claims."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.devices import delegate, fill_in
from krmfn.capacity.pods import (
    add_injected,
    count_requests,
    list_added_labels,
    list_added_tolerations,
    list_group_claims,
    read_kinds,
)
from krmfn.capacity.volumes import Volumes
from krmfn.capacity.world import DEFAULT_SLOTS
from krmfn.config import Settings
from krmfn.krm.errors import Unreadable
from krmfn.krm.item import Item
from krmfn.model.kinds import find_kind
from krmfn.model.quantity import format_quantity
from krmfn.model.values import Fields, Key, Names, Value, as_list, as_mapping, as_text, dig, group_by, key_of, name_of
from krmfn.releases.release import has
from krmfn.releases.spelling import GROUP_LINKS, LINK_FIELDS
from krmfn.survey.census import Census, Template, once
from krmfn.survey.facts import HOSTNAME, ClusterNode, Facts
from krmfn.survey.groups import Group

_DEVICES = "resource.k8s.io"


def list_untold(templates: Iterable[Template], facts: Facts) -> list[str]:
    """The claims that pods name and the facts do not tell of."""
    found: dict[str, None] = {}
    for kind in read_kinds(templates, facts):
        for group, name, named in (
            ("", "PersistentVolumeClaim", kind.claims),
            (_DEVICES, "ResourceClaim", kind.devices),
            (_DEVICES, "ResourceClaimTemplate", kind.device_templates),
        ):
            if not facts.lists_all(name):
                known = facts.by_place(group, name)
                found |= {f"{name} {each}": None for each in named if (kind.namespace, each) not in known}
    return list(found)


def grant(roster: Roster, facts: Facts, groups: Mapping[int, Group]) -> Iterator[Value]:
    """The pods as a simulator gets them, each behind the claims that are made for it. Those that are bound are left
    as they are. `groups` are those that may have claims, by the identity of a template of their pods."""
    volumes, devices = Volumes(facts), _GrantedDevices(facts)
    runtimes = facts.by_name("node.k8s.io", "RuntimeClass")
    added = {}  # by template
    for pod in (*roster.bound, *roster.waiting):
        if pod.node:
            yield pod.value
            continue
        spec = dict(as_mapping(pod.value, "spec"))
        space, _ = key_of(pod.value)
        if "volumes" in spec:
            spec["volumes"] = [each for each in as_list(spec["volumes"]) if _is_told(each, space, volumes)]
            for field in ("volumeMounts", "volumeDevices"):
                _leave_only(_list_names(spec["volumes"]), spec, field)
        if spec.get("runtimeClassName") not in runtimes and not facts.lists_all("RuntimeClass"):
            spec.pop("runtimeClassName", None)
        if "resourceClaims" in spec:
            yield from devices.hand_over(pod, spec, space, groups.get(id(pod.template)))
            _leave_only(_list_names(spec["resourceClaims"]), spec, "resources", "claims")
        if pod.template is not None:
            if id(pod.template) not in added:
                tolerations = list(list_added_tolerations(pod.template.item, count_requests(spec), facts))
                added[id(pod.template)] = tolerations, list_added_labels(pod.template.item, facts)
            tolerations, labels = added[id(pod.template)]
            if pod.name in roster.assigned:  # then only those besides that are not of flavors
                labels, given = roster.assigned[pod.name]
                tolerations = [*given, *(each for each in tolerations if "/" in as_text(each, "key"))]
            spec |= {"tolerations": [*as_list(spec, "tolerations"), *tolerations]} if tolerations else {}
            spec |= {"nodeSelector": {**labels, **as_mapping(spec, "nodeSelector")}} if labels else {}
        yield {**pod.value, "spec": spec}


def _is_told(volume: object, space: str, volumes: Volumes) -> bool:
    """Whether the scheduler can decide about a volume by what the facts tell."""
    name = as_text(volume, "persistentVolumeClaim", "claimName")
    return dig(volume, "ephemeral") is None and (not name or volumes.is_told(space, name))


def _list_names(values: object) -> set[str]:
    return {as_text(value, "name") for value in as_list(values)}


def _leave_only(names: set[str], spec: Fields, *path: str) -> None:
    """Of the containers' lists at the path only what has one of the names."""
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [_cut(as_mapping(box), names, path) for box in as_list(spec[field])]


def _cut(value: Value, names: set[str], path: Names) -> Value:
    first, *rest = path
    if first not in value:
        return value
    if rest:
        return {**value, first: _cut(as_mapping(value[first]), names, tuple(rest))}
    return {**value, first: [each for each in as_list(value[first]) if as_text(each, "name") in names]}


class _GrantedDevices:
    def __init__(self, facts: Facts) -> None:
        self._templates = facts.by_place(_DEVICES, "ResourceClaimTemplate")
        self._claims = facts.by_place(_DEVICES, "ResourceClaim")
        self._known = facts.lists_all("DeviceClass") and facts.lists_all("ResourceSlice")
        self._made: set[Key] = set()

    def hand_over(self, pod: Pod, spec: Fields, space: str, group: Group | None) -> Iterator[Value]:
        """The claims that are made for a pod, or for its group if it is the first one of it. `spec` names them then,
        and no longer what is not known."""
        kept = []
        shared = list_group_claims(pod.template, group.spec) if pod.template is not None and group is not None else {}
        for entry in map(as_mapping, as_list(spec["resourceClaims"]) if self._known else ()):
            name, claim = as_text(entry, "name"), as_text(entry, "resourceClaimName")
            template = self._templates.get((space, as_text(entry, "resourceClaimTemplateName")))
            if template is not None:
                owner = group.name if group is not None and name in shared else as_text(pod.value, "metadata", "name")
                claim = f"{owner}-{name}"
                if (space, claim) not in self._made:
                    self._made.add((space, claim))
                    yield {
                        "apiVersion": f"{_DEVICES}/v1",
                        "kind": "ResourceClaim",
                        "metadata": {"name": claim, "namespace": space},
                        "spec": fill_in(dig(template, "spec", "spec")),
                    }
            if template is not None or (space, claim) in self._claims:
                kept.append({"name": name, "resourceClaimName": claim})
        spec["resourceClaims"] = kept


#: Answers a question with the trials' results. Raises what the caller's program raises.
Ask = Callable[[Value], list[Fields]]
_SCHEDULER = "kube-scheduler"
#: Kinds of which the facts hold objects that the scheduler looks at.
_STORED = (
    *(("", "Namespace"), ("", "PersistentVolumeClaim"), ("", "PersistentVolume"), ("", "LimitRange")),
    *(("storage.k8s.io", "StorageClass"), ("node.k8s.io", "RuntimeClass"), ("resource.k8s.io", "ResourceClaim")),
    *(("resource.k8s.io", "DeviceClass"), ("resource.k8s.io", "ResourceSlice")),
)


def ask(census: Census, roster: Roster, settings: Settings, trials: Sequence[Value]) -> Fields:
    """The question as JSON."""
    facts = census.facts
    given = {**settings.feature_gates, **facts.gates.get(_SCHEDULER, {})}
    gates: dict[str, bool] = {}
    for gate in settings.release.gates.values():  # each behind those that it needs: without them it cannot be on
        needed = all(gates.get(name, True) for name in gate.needs)
        if _SCHEDULER in gate.components:
            gates[gate.name] = given.get(gate.name, not gate.opt_in) and needed
    asked = {name for pod in roster.waiting for name in _list_limits(pod.value)}
    shared = {id(each): gang.group for gang in census.gangs for each in gang.templates}
    groups = shared if has(settings.release, given, "group-claims") else {}
    objects = [*list_stored(facts, asked), *_list_groups(census), *grant(roster, facts, groups)]
    return {"gates": gates, "objects": objects, "trials": list(trials)}


def _list_limits(pod: Value) -> Iterator[str]:
    """The names of the resources that a pod's containers may use."""
    for field in ("containers", "initContainers"):
        for box in as_list(pod, "spec", field):
            yield from as_mapping(box, "resources", "limits")


def list_stored(facts: Facts, asked: set[str]) -> Iterator[Value]:
    """The objects of the facts that decide about pods which ask for these resources."""
    for node in delegate(facts.nodes or (), asked, facts):
        yield from _spell_node(node)
    for name, entry in facts.priority_classes.items():
        yield {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": entry.value,
            "globalDefault": entry.default,
            "preemptionPolicy": entry.preemption_policy,
        }
    for group, kind in _STORED:
        for value in facts.objects(group, kind):
            kept = {key: entry for key, entry in value.items() if key in _FIELDS}
            if kind == "ResourceClaim":
                kept["spec"] = fill_in(value.get("spec"))
            if kind == "StorageClass":
                kept.setdefault("volumeBindingMode", "Immediate")
            yield {**kept, "apiVersion": f"{group}/v1".lstrip("/"), "kind": kind}


_FIELDS = (
    *("metadata", "spec", "status", "provisioner", "volumeBindingMode", "parameters", "allowedTopologies"),
    *("handler", "overhead", "scheduling"),
)


def name_nodes(node: ClusterNode) -> Iterator[str]:
    """The name of a node; of nodes that are alike, a name with a number for each."""
    name = node.name or "node"
    yield from (name if node.number == 1 else f"{name}-{number}" for number in range(node.number))


def _spell_node(node: ClusterNode) -> Iterator[Value]:
    """A node as an object, without what is taken of it."""
    free = {"pods": DEFAULT_SLOTS, **node.allocatable}
    amounts = {name: format_quantity(max(0, amount - node.used.get(name, 0))) for name, amount in free.items()}
    for name in name_nodes(node):
        spec: Fields = {"taints": list(node.taints)}
        if node.unschedulable:
            spec["unschedulable"] = True
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**node.labels, HOSTNAME: _host(node, name)}},
            "spec": spec,
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def _host(node: ClusterNode, name: str) -> str:
    return str(node.labels[HOSTNAME]) if node.number == 1 and node.labels.get(HOSTNAME) else name


def _list_groups(census: Census) -> Iterator[Value]:
    for kind in ("Workload", "CompositePodGroup", "PodGroup"):
        for item in census.kind("scheduling.k8s.io", kind):
            yield {
                "apiVersion": item.api_version,
                "kind": item.kind,
                "metadata": {"name": item.name, "namespace": item.space},
                "spec": item.value.get("spec", {}),
            }


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
    of the input's templates with their numbers, by the identity of the template. `assigned` are the labels to
    select nodes by, and the tolerations, that Kueue has decided to add to a pod, by its name; `evicted` are the pods
    that it stops."""

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
    owned: dict[int, list[Pod]] = defaultdict(list)
    strangers = []
    templates = list_parts(census)
    by_owner = group_by(lambda each: (each[1].item.space, each[1].item.name), enumerate(templates))
    for value in census.facts.objects("", "Pod"):
        if dig(value, "status", "phase") in ("Succeeded", "Failed") or "metadata" not in value:
            continue
        space = key_of(value)[0]
        known = sorted(each for name in _list_owners(value) for each in by_owner.get((space, name), ()))
        template = _find_template(value, [each for _, each in known], owned)
        pod = Pod(full_name(value), _strip(value), template, as_text(value, "spec", "nodeName"))
        if template is None:
            strangers.append(pod)
        else:
            owned[id(template)].append(pod)
    names = {pod.name for pods in (*owned.values(), strangers) for pod in pods}
    many = next((template for template in census.templates if (template.pods or 0) > MOST_PODS), None)
    if many:
        text = f"{many.item.kind} {many.item.name} has {many.pods} pods, and no cluster has more than {MOST_PODS}"
        raise Unreadable(many.item.locate(many.path).tell(text))
    made = []
    for template in templates:
        there = owned.get(id(template), [])
        made += there
        wanted = max(0, (template.pods or 0) - len(there))
        for name in _fresh_names(template, wanted, names):
            value = _make(template, name)
            made.append(Pod(f"{template.item.space}/{name}", value, template, as_text(template.spec, "nodeName")))
    waiting = tuple(pod for pod in (*made, *strangers) if not pod.node)
    by_template = group_by(lambda pair: id(pair[1].template), enumerate(made))
    return Roster(waiting, tuple(pod for pod in (*made, *strangers) if pod.node), by_template)


@once
def list_parts(census: Census) -> list[Template]:
    """The templates; in place of one whose pods are in several groups, what each of these has of it."""
    parts = defaultdict(list)
    linked = [template for gang in census.gangs for template in gang.templates]
    for template in (*linked, *census.dangling):
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
    row = find_kind(item.ref.group, item.kind)
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
    number = 0
    for _ in range(count):
        while f"{item.space}/{base}-{number}" in taken:
            number += 1
        taken.add(f"{item.space}/{base}-{number}")
        yield f"{base}-{number}"


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
    labels = {**as_mapping(template.metadata, "labels"), **_list_labels(template)}
    metadata = {"name": name, "namespace": template.item.space, "labels": labels}
    spec = add_injected(template)
    if template.link is not None and template.link.bridged:
        field, key = GROUP_LINKS[0]
        spec = {**spec, field: {key: template.link.group}}  # as the bridge does
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _list_labels(template: Template) -> dict[str, str]:
    item, suffix = template.item, find_role(template)
    labels = dict.fromkeys(_list_owner_labels(item), item.name)
    if item.ref.group == "ray.io":
        labels |= {"ray.io/node-type": "head" if suffix == "head" else "worker", "ray.io/group": suffix}
    return labels


def full_name(value: Value) -> str:
    """The namespace/name of a pod of the cluster."""
    return "/".join(key_of(value))


def _strip(value: Value) -> Value:
    """A pod of the cluster without what the scheduler does not read and the server filled in."""
    space, name = key_of(value)
    metadata = {"name": name, "namespace": space, "labels": as_mapping(value, "metadata", "labels")}
    spec = {key: entry for key, entry in as_mapping(value, "spec").items() if key not in ("priority", "overhead")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
