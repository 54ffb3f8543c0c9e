"""A topology constraint against what the pods themselves ask for: ports, affinity, spread, selectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from krmfn.checks.rule import rule
from krmfn.checks.wording import join
from krmfn.model.findings import Finding
from krmfn.survey.values import as_int, as_list, as_mapping, as_text, dig

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.survey.census import Census, Gang, Template

HOSTNAME: Final = "kubernetes.io/hostname"
#: Coarse to fine, where the order is fixed by convention.
_ORDER: Final = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)


@rule("topology-host-ports", "error", "Pods that must share a node use the same port of it.", needs="topology-keys")
def find_one_node_ports(census: Census, _: Settings) -> Iterator[Finding]:
    """All pods of the gang must share a node, and each wants the same port of it."""
    for gang in _gangs(census):
        if gang.group.topology_key != HOSTNAME or (gang.group.quorum or 0) < 2:
            continue
        for template in gang.templates:
            ports = _host_ports(template)
            if ports and (template.pods or 0) > 1:
                message = f"the pods must share one node ({HOSTNAME}) and each uses its port {ports[0]}: only one fits"
                hint = "Remove hostPort or hostNetwork, or choose a coarser topology key."
                path = (*template.spec_path, "containers")
                yield Finding(template.item, path, message, ports[0], hint=hint)


@rule(
    "topology-anti-affinity",
    "error",
    "Required anti-affinity keeps the pods of a gang out of the one domain they must share.",
    needs="topology-keys",
)
def find_anti_affinity(census: Census, _: Settings) -> Iterator[Finding]:
    """Members that must be in one domain and must not share it."""
    for gang in _gangs(census):
        if (gang.group.quorum or 0) < 2:
            continue
        for key, template in _required_keys(census, gang):
            for index, term in enumerate(_anti_affinity(template)):
                other = as_text(dig(term, "topologyKey"))
                if _is_same_or_coarser(other, key) and _selects(term, template):
                    message = (
                        f"the gang must be in one domain of {key}, and required anti-affinity keeps its pods out of "
                        f"one another's {other}: they never fit together"
                    )
                    hint = "Prefer the anti-affinity instead of requiring it, or use a finer key for it."
                    path = (*template.spec_path, *_ANTI, index)
                    yield Finding(template.item, path, message, other, hint=hint)


@rule("one-pod-per-node", "warning", "Pods of a gang exclude each other on a node, so the gang needs as many nodes.")
def find_one_pod_per_node(census: Census, _: Settings) -> Iterator[Finding]:
    """Pods that exclude each other on a node: the gang needs that many nodes in a domain."""
    for gang in census.gangs:
        for template in gang.templates:
            apart = any(
                as_text(dig(term, "topologyKey")) == HOSTNAME and _selects(term, template)
                for term in _anti_affinity(template)
            )
            if (template.pods or 0) < 2 or not (apart or _host_ports(template)) or (gang.group.quorum or 0) < 2:
                continue
            key = gang.group.topology_key
            nodes = _most_nodes(census, key)
            if key == HOSTNAME or (nodes is not None and nodes >= (template.pods or 0)):
                continue
            where = f"one domain of {key}" if key else "the cluster"
            message = (
                f"at most one of the {template.pods} pods fits on a node, so the gang needs {template.pods} nodes in "
                f"{where}"
            )
            if nodes is not None:
                message += f", and there are {nodes}"
            hint = "Make sure that there are as many nodes, or let pods share a node."
            yield Finding(
                template.item,
                template.spec_path,
                message,
                template.pods,
                hint=hint,
                severity="error" if nodes is not None else None,
            )


@rule(
    "topology-spread", "warning", "A spread constraint works against the group's topology key.", needs="topology-keys"
)
def find_spread_against_domain(census: Census, _: Settings) -> Iterator[Finding]:
    """Topology spread over the key whose one domain the gang must stay in."""
    for gang in _gangs(census):
        for key, template in _required_keys(census, gang):
            for index, entry in enumerate(as_list(template.spec.get("topologySpreadConstraints"))):
                skew = as_int(dig(entry, "maxSkew")) or 1
                hard = dig(entry, "whenUnsatisfiable") in (None, "DoNotSchedule")
                if hard and dig(entry, "topologyKey") == key and skew < (gang.group.quorum or 0):
                    message = (
                        f"the gang must be in one domain of {key}, and maxSkew {skew} spreads its pods over several: "
                        f"{gang.group.quorum} pods do not fit into one"
                    )
                    hint = "Spread over a finer key, use ScheduleAnyway, or drop the group's topology key."
                    path = (*template.spec_path, "topologySpreadConstraints", index)
                    yield Finding(template.item, path, message, skew, hint=hint)


@rule(
    "topology-selectors-apart",
    "error",
    "Templates of one gang ask for different domains of the group's topology key.",
    needs="topology-keys",
)
def find_selectors_apart(census: Census, _: Settings) -> Iterator[Finding]:
    """Templates that pin different domains of the group's key."""
    for gang in _gangs(census):
        pinned: dict[str, Template] = {}
        for key, template in _required_keys(census, gang):
            value = _pinned_value(template, key)
            if value:
                pinned.setdefault(value, template)
        if len(pinned) > 1:
            template = list(pinned.values())[1]
            key = gang.group.topology_key or next(iter(_required_keys(census, gang)))[0]
            message = f"the gang must be in one domain of {key}, and its templates ask for {join(sorted(pinned))}"
            hint = f"Use one value of {key} in all templates, or drop the group's topology key."
            path = (*template.spec_path, "nodeSelector")
            yield Finding(template.item, path, message, hint=hint)


@rule(
    "topology-child-key",
    "warning",
    "A child group's topology key is its parent's, or a coarser one.",
    needs="composite-groups",
)
def find_child_key(census: Census, _: Settings) -> Iterator[Finding]:
    """A child constrained by the parent's key or by a coarser one."""
    groups = [gang.group for gang in census.gangs] + list(census.composites.values())
    for group in {id(entry.item): entry for entry in groups}.values():
        above, _end = census.chain(group)
        for parent in above:
            if (
                group.topology_key
                and parent.topology_key
                and _is_same_or_coarser(group.topology_key, parent.topology_key)
            ):
                same = group.topology_key == parent.topology_key
                kind = "already the key of" if same else "coarser than the key of"
                message = f"{group.topology_key} is {kind} {parent.name} above: it constrains nothing more"
                hint = "Use a finer key here, or none."
                path = (*group.path, "schedulingConstraints", "topology", 0, "key")
                yield Finding(group.item, path, message, group.topology_key, hint=hint)
                break


@rule(
    "exclusive-topology",
    "warning",
    "Exclusive placement of a JobSet or LeaderWorkerSet works against the group's topology key.",
    needs="topology-keys",
)
def find_exclusive_topology(census: Census, _: Settings) -> Iterator[Finding]:
    """JobSet's and LeaderWorkerSet's own exclusive placement on the group's key."""
    for gang in _gangs(census):
        for owner in gang.owners:
            for annotation in _EXCLUSIVE:
                key = owner.annotations.get(annotation, "")
                if key and key == gang.group.topology_key and (gang.group.quorum or 0) > 1:
                    message = (
                        f"{annotation} puts each job into a domain of {key} of its own, and the gang {gang.group.name} "
                        "must be in one"
                    )
                    hint = "Use one of the two."
                    path = ("metadata", "annotations", annotation)
                    yield Finding(owner, path, message, key, hint=hint)


@rule("topology-key-unknown", "error", "No node carries the topology key.", needs="topology-keys")
def find_key_unknown(census: Census, _: Settings) -> Iterator[Finding]:
    """A topology key that no node carries."""
    nodes = census.facts.nodes
    for group in (*(gang.group for gang in census.gangs), *census.composites.values()):
        key = group.topology_key
        if key and nodes is not None and not any(key in node.labels for node in nodes):
            message = f"none of the {len(nodes)} nodes carries the label {key}: the gang is never placed"
            hint = "Label the nodes, or use a key that they carry."
            path = (*group.path, "schedulingConstraints", "topology", 0, "key")
            yield Finding(group.item, path, message, key, hint=hint)


_ANTI: Final = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_EXCLUSIVE: Final = (
    "alpha.jobset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
)


def _gangs(census: Census) -> Iterator[Gang]:
    """Gangs that must stay in one domain, by their own key or a parent's."""
    for gang in census.gangs:
        if gang.group.topology_key or any(parent.topology_key for parent in census.chain(gang.group)[0]):
            yield gang


def _required_keys(census: Census, gang: Gang) -> Iterator[tuple[str, Template]]:
    keys = [group.topology_key for group in (gang.group, *census.chain(gang.group)[0]) if group.topology_key]
    for template in gang.templates:
        for key in dict.fromkeys(keys):
            yield key, template


def _host_ports(template: Template) -> list[int]:
    network = template.spec.get("hostNetwork") is True
    ports = [port for box in as_list(template.spec.get("containers")) for port in as_list(dig(box, "ports"))]
    found = [
        as_int(dig(port, "hostPort")) or (as_int(dig(port, "containerPort")) if network else None) for port in ports
    ]
    return [port for port in found if port]


def _anti_affinity(template: Template) -> list[Any]:
    return list(as_list(dig(template.spec, *_ANTI)))


def _selects(term: object, template: Template) -> bool:
    """Whether the term's matchLabels select the template's own pods; expressions are not evaluated."""
    labels = as_mapping(template.metadata.get("labels"))
    wanted = as_mapping(dig(term, "labelSelector", "matchLabels"))
    return bool(wanted) and all(labels.get(key) == value for key, value in wanted.items())


def _is_same_or_coarser(key: str, other: str) -> bool:
    if key == other:
        return bool(key)
    return key in _ORDER and other in _ORDER and _ORDER.index(key) < _ORDER.index(other)


def _pinned_value(template: Template, key: str) -> str:
    value = as_mapping(template.spec.get("nodeSelector")).get(key)
    if isinstance(value, str):
        return value
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = as_list(dig(template.spec, *path))
    for expression in as_list(dig(terms[0], "matchExpressions")) if len(terms) == 1 else ():
        values = as_list(dig(expression, "values"))
        if dig(expression, "key") == key and dig(expression, "operator") == "In" and len(values) == 1:
            return str(values[0])
    return ""


def _most_nodes(census: Census, key: str) -> int | None:
    """The number of nodes in the largest domain of `key` (empty: in the cluster), None without facts."""
    if census.facts.nodes is None:
        return None
    sizes: dict[object, int] = {}
    for node in census.facts.nodes:
        domain = node.labels.get(key) if key else ""
        if domain is not None:
            sizes[domain] = sizes.get(domain, 0) + 1
    return max(sizes.values(), default=0)
