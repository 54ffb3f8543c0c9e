"""Facts outside Git: what the configuration's `cluster:` says about the cluster, and what the input itself holds.

Two spellings: what `kubectl get … -o yaml` prints (`items:`), and a short one (`priorityClasses: {high: 1000}`).
A topic that nobody gave is None or empty, and rules that need it say so once. Reads values only, never a cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.krm.item import Items
from krmfn.krm.results import DEFAULT_NAMESPACE
from krmfn.model.quantity import parse_quantity
from krmfn.model.values import Key, Names, Value, as_int, as_list, as_mapping, as_text, dig, group_by, key_of
from krmfn.releases import schemastore
from krmfn.server.admission import PriorityClass

if TYPE_CHECKING:
    from typing import TypeVar

    from krmfn.survey.control_plane import Program

    _Made = TypeVar("_Made")

#: Amounts by resource, as they were read, and as they are counted.
Resources = Mapping[str, int]
Amounts = dict[str, int]
_NOTHING: Value = {}

HOSTNAME = "kubernetes.io/hostname"

#: Classes that every cluster has (pkg/apis/scheduling).
_BUILT_IN = {
    "system-cluster-critical": (2_000_000_000, "PreemptLowerPriority", False),
    "system-node-critical": (2_000_001_000, "PreemptLowerPriority", False),
}
#: Of these the input may have many, and hardly any rule asks: only those of the facts are read.
_GIVEN = (("", "ConfigMap"), ("", "Secret"))


#: IP, protocol, number.
NodePort = tuple[str, str, int]


class ClusterNode(NamedTuple):
    """A node with what it can give to pods; `number` of them are alike but for their names. `used` is what pods take
    that are on every node of the kind, such as those of DaemonSets, and that are not told one by one; `ports` are the
    (IP, protocol, port) that these take of the node."""

    name: str
    labels: Value
    allocatable: Resources
    taints: tuple[Value, ...] = ()
    unschedulable: bool = False
    number: int = 1
    used: Resources = _NOTHING
    ports: tuple[NodePort, ...] = ()


class Quota(NamedTuple):
    """A ResourceQuota's hard limits; `scope` holds its scopes and scopeSelector, `used` is what pods that are there
    take."""

    namespace: str
    name: str
    hard: Resources
    scope: Value = _NOTHING
    used: Resources = _NOTHING


class Facts(NamedTuple):
    """What is known. `nodes`, `queues`, `schedulers` are None when nobody gave them.

    `complete_classes`, `complete_queues`: the list is the cluster's whole list, not only what the input holds.
    `schemas` maps a CRD's name to the CRD; `kept_fields` to the link fields it keeps in pod templates. `listed` are the
    kinds that the facts list completely. `gates` are known feature gates by component, `programs` the pods of the
    control plane that show some of them; `plugins` are admission plugins that are on. `node_pools` and `instance_types`
    are as the facts spell them (see survey.pools). `indexes` holds what the methods have found.
    """

    priority_classes: Mapping[str, PriorityClass]
    complete_classes: bool
    nodes: tuple[ClusterNode, ...] | None
    quotas: tuple[Quota, ...]
    queues: Mapping[str, Value] | None
    complete_queues: bool
    schemas: Mapping[str, Value]
    kept_fields: Mapping[str, Sequence[Any]]
    groups: frozenset[Key]
    schedulers: frozenset[str] | None
    gates: Mapping[str, Value]
    indexes: dict[Names, Any]
    found: Mapping[Key, Sequence[Value]] = {}
    listed: frozenset[str] = frozenset()
    programs: tuple[Program, ...] = ()
    plugins: frozenset[str] = frozenset()
    node_pools: tuple[Value, ...] = ()
    instance_types: tuple[Value, ...] = ()

    def objects(self, group: str, kind: str) -> Sequence[Value]:
        """The objects of a kind without a field of its own here, from the facts and from the input."""
        return self.found.get((group, kind), ())

    def by_place(self, group: str, kind: str) -> dict[Key, Value]:
        """The objects of a kind by namespace and name."""
        return self._index(("place", group, kind), lambda: {key_of(each): each for each in self.objects(group, kind)})

    def by_name(self, group: str, kind: str) -> dict[str, Value]:
        """The objects of a kind that has no namespaces, by name."""
        return self._index(("name", group, kind), lambda: {key_of(each)[1]: each for each in self.objects(group, kind)})

    def within(self, group: str, kind: str, namespace: str) -> list[Value]:
        """The objects of a kind in a namespace, and those that name none."""
        spaces = self._index(("space", group, kind), lambda: group_by(_namespace, self.objects(group, kind)))
        return [*spaces.get(namespace, ()), *spaces.get("", ())]

    def quotas_within(self, namespace: str) -> list[Quota]:
        """The quotas of a namespace, and those that name none."""
        spaces = self._index(("quotas",), lambda: group_by(lambda quota: quota.namespace, self.quotas))
        return [*spaces.get(namespace, ()), *spaces.get("", ())]

    def _index(self, key: Names, make: Callable[[], _Made]) -> _Made:
        if key not in self.indexes:
            self.indexes[key] = make()
        found: _Made = self.indexes[key]
        return found

    def find_runtime(self, spec: Value) -> Value:
        """The runtime class that the spec of a pod names; an empty one where it names none, or one that is unknown."""
        name = as_text(spec, "runtimeClassName")
        return self.by_name("node.k8s.io", "RuntimeClass").get(name, _NOTHING) if name else _NOTHING

    def lists_all(self, kind: str) -> bool:
        """Whether what is not among the objects of this kind does not exist: the facts hold one, or say so."""
        return kind in self.listed

    def preemption_policy(self, name: str) -> str:
        """The preemption policy that a pod of this class gets; of no class: the global default's. Empty: unknown."""
        found = self._find_class(name)
        return found.preemption_policy if found else ""

    def priority(self, name: str) -> int | None:
        """The value that a pod or group of this class gets; of no class: the global default's. None: unknown."""
        found = self._find_class(name)
        return found.value if found else None

    def _find_class(self, name: str) -> PriorityClass | None:
        if name:
            return self.priority_classes.get(name)
        defaults = (entry for entry in self.priority_classes.values() if entry.default)
        return next(defaults, PriorityClass(0, "PreemptLowerPriority", False)) if self.complete_classes else None


def read_facts(cluster: Value, objects: Mapping[Key, Items]) -> Facts:
    """The facts of `cluster` and of the input's own PriorityClasses, quotas, queues and CRDs."""
    given = gather(cluster)
    topics, kinds = _list_topics(), schemastore.load("cluster.json")["kinds"].items()

    def all_of(kind: Key) -> list[Value]:
        return [*given.get(kind, ()), *(item.value for item in objects.get(kind, ()))]

    nodes = given.get(topics["nodes"])
    queues = all_of(topics["queues"])
    schedulers = cluster.get("schedulers")
    crds = all_of(topics["customResourceDefinitions"])
    programs, gates = _read_gates(given.get(("", "Pod"), ()), as_mapping(cluster, "featureGates"))
    found = {(group, kind): all_of((group, kind)) for kind, row in kinds for group in row.get("groups", ())}
    listed = frozenset(kind for _, kind in given) | frozenset(map(str, as_list(cluster, "listed")))
    return Facts(
        priority_classes=_read_classes(all_of(topics["priorityClasses"])),
        complete_classes="PriorityClass" in listed,
        nodes=None if nodes is None else tuple(map(_node, nodes)),
        quotas=tuple(map(_quota, all_of(topics["resourceQuotas"]))),
        queues={_name(value): value for value in queues} if queues or topics["queues"] in given else None,
        complete_queues=topics["queues"] in given,
        schemas={_name(value): value for value in crds if dig(value, "spec", "versions")},
        kept_fields={_name(value): as_list(value["keeps"]) for value in crds if "keeps" in value},
        groups=frozenset(
            (_namespace(value) or DEFAULT_NAMESPACE, _name(value)) for value in given.get(topics["podGroups"], ())
        ),
        schedulers=frozenset(map(str, schedulers)) if isinstance(schedulers, list) else None,
        gates=gates,
        indexes={},
        programs=programs,
        plugins=frozenset(map(str, as_list(cluster, "admissionPlugins"))).union(*(each.plugins for each in programs)),
        found=found | {kind: given.get(kind, []) for kind in _GIVEN},
        listed=listed,
        node_pools=tuple(_merge_pools(given.get(("", "Pod"), ()), cluster.get("nodePools"))),
        instance_types=tuple(map(as_mapping, as_list(cluster, "instanceTypes"))),
    )


def _read_classes(values: Iterable[Value]) -> dict[str, PriorityClass]:
    classes = {name: PriorityClass(*entry) for name, entry in _BUILT_IN.items()}
    for value in values:
        policy = as_text(value, "preemptionPolicy") or "PreemptLowerPriority"
        classes[_name(value)] = PriorityClass(as_int(value, "value") or 0, policy, value.get("globalDefault") is True)
    return classes


def is_daemon(pod: Value) -> bool:
    """Whether a pod is on its node as long as the node is there."""
    kinds = {as_text(owner, "kind") for owner in as_list(pod, "metadata", "ownerReferences")}
    return bool(kinds & {"DaemonSet", "Node"})


def _read_gates(pods: Sequence[Value], given: Value) -> tuple[tuple[Program, ...], Mapping[str, Value]]:
    """The programs of the control plane, and the gates by component."""
    if not pods:
        return (), {component: as_mapping(gates) for component, gates in given.items()}
    from krmfn.survey.control_plane import merge_gates, read_programs

    programs = tuple(read_programs(pods))
    return programs, merge_gates(programs, given)


def _merge_pools(pods: Sequence[Value], spelled: object) -> list[Value]:
    """The pools of the facts, over what the flags of a Cluster Autoscaler say of the same."""
    from krmfn.survey.control_plane import read_node_groups

    pools = {as_text(pool, "name"): pool for pool in (read_node_groups(pods) if pods else ())}
    for pool in map(as_mapping, as_list(spelled)):
        name = as_text(pool, "name")
        pools[name] = {**pools.get(name, {}), **pool}
    return list(pools.values())


def _list_topics() -> dict[str, Key]:
    """Where each topic's short spelling lies, and the group and kind that it stands for."""
    return {topic: (group, kind) for topic, (group, kind) in schemastore.load("cluster.json")["topics"].items()}


def gather(cluster: Value) -> dict[Key, list[Value]]:
    """The objects of `cluster`, in either spelling, by API group and kind."""
    found = defaultdict(list)
    for value in as_list(cluster, "items"):
        key = (as_text(value, "apiVersion").rpartition("/")[0], as_text(value, "kind"))
        found[key].append(as_mapping(value))
    for topic, kind in _list_topics().items():
        if topic in cluster:
            found[kind].extend(_spread(topic, cluster[topic]))
    return found


def _spread(topic: str, value: object) -> Iterator[Value]:
    """A short spelling: names in a list, objects in a list, or a mapping from name to what there is to say."""
    short = {"priorityClasses": "value", "customResourceDefinitions": "keeps"}.get(topic, "spec")
    for entry in as_list(value):
        yield entry if isinstance(entry, Mapping) else {"name": str(entry)}
    for name, entry in as_mapping(value).items():
        yield {"name": name, **entry} if isinstance(entry, Mapping) else {"name": name, short: entry}


def _name(value: Value) -> str:
    return as_text(value, "metadata", "name") or as_text(value, "name").rpartition("/")[2]


def _namespace(value: Value) -> str:
    space = as_text(value, "metadata", "namespace") or as_text(value, "namespace")
    return space or as_text(value, "name").rpartition("/")[0]


def _node(value: Value) -> ClusterNode:
    name = _name(value)
    labels = as_mapping(dig(value, "metadata", "labels") or value.get("labels"))
    labels = {key: text for key, text in labels.items() if isinstance(text, str)}
    spec = as_mapping(value, "spec") or value
    return ClusterNode(
        name,
        {HOSTNAME: name, **labels},  # kubelets write it; people leave it out
        read_resources(dig(value, "status", "allocatable") or value.get("allocatable")),
        tuple(map(as_mapping, as_list(spec, "taints"))),
        spec.get("unschedulable") is True,
        as_int(value, "count") or 1,
        read_resources(value.get("used")),
        tuple(read_ports(value.get("ports"))),
    )


def read_ports(ports: object, network: bool = False) -> Iterator[NodePort]:
    """The host ports of a container, with the server's defaults; on the node's `network` these are all its ports."""
    for port in as_list(ports):
        number = as_int(port, "hostPort") or (as_int(port, "containerPort") if network else None)
        if number:
            yield as_text(port, "hostIP") or "0.0.0.0", as_text(port, "protocol") or "TCP", number


def _quota(value: Value) -> Quota:
    spec = as_mapping(value, "spec") or value
    scope = {field: spec[field] for field in ("scopes", "scopeSelector") if field in spec}
    used = read_resources(dig(value, "status", "used"))
    return Quota(_namespace(value), _name(value), read_resources(spec.get("hard")), scope, used)


def list_running(spec: Value) -> list[Any]:
    """The containers of a pod that run at the same time: all but those that end before the others begin."""
    first = as_list(spec, "initContainers")
    return [*as_list(spec, "containers"), *(box for box in first if dig(box, "restartPolicy") == "Always")]


def read_resources(value: object) -> Resources:
    """A resource map in billionths; what is no quantity is left out."""
    parsed = {str(name): parse_quantity(amount) for name, amount in as_mapping(value).items()}
    return {name: amount for name, amount in parsed.items() if amount is not None}
