"""The question to a simulator: the cluster of the facts, the groups and the pods, and which trials to make; with what
others do before pods are scheduled, for a simulator that has none of them: volumes, devices, tolerations.

A volume that somebody makes when it is needed, and what the facts do not tell, is taken for granted: a pod is handed
over without it, so that nothing is called impossible that only was not known. Claims that are made from templates are
handed over as claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from krmfn.capacity.devices import delegate, fill_in
from krmfn.capacity.pods import (
    count_requests,
    list_added_labels,
    list_added_tolerations,
    list_containers,
    list_group_claims,
    read_kinds,
)
from krmfn.capacity.volumes import Volumes
from krmfn.capacity.world import DEFAULT_SLOTS
from krmfn.config import Settings
from krmfn.forecast.roster import Pod, Roster
from krmfn.model.quantity import format_quantity
from krmfn.model.values import Fields, Key, Names, Value, as_list, as_mapping, as_text, dig, key_of, pick
from krmfn.releases.release import has
from krmfn.survey.census import Census, Template
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
    boxes = (box for pod in roster.waiting for box in list_containers(as_mapping(pod.value, "spec")))
    asked = {name for box in boxes for name in as_mapping(box, "resources", "limits")}
    shared = {id(each): gang.group for gang in census.gangs for each in gang.templates}
    groups = shared if has(settings.release, given, "group-claims") else {}
    objects = [*list_stored(facts, asked), *_list_groups(census), *grant(roster, facts, groups)]
    return {"gates": gates, "objects": objects, "trials": list(trials)}


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
            kept = pick(value, _FIELDS)
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
    ready = [{"type": "Ready", "status": "True"}]
    spec = {"taints": list(node.taints), **({"unschedulable": True} if node.unschedulable else {})}
    host = node.labels.get(HOSTNAME) if node.number == 1 else ""
    for name in name_nodes(node):
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {**node.labels, HOSTNAME: str(host or name)}},
            "spec": spec,
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": ready},
        }


def _list_groups(census: Census) -> Iterator[Value]:
    for kind in ("Workload", "CompositePodGroup", "PodGroup"):
        for item in census.kind("scheduling.k8s.io", kind):
            yield {
                "apiVersion": item.api_version,
                "kind": item.kind,
                "metadata": {"name": item.name, "namespace": item.space},
                "spec": item.value.get("spec", {}),
            }
