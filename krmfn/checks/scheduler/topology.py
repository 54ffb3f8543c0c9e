"""A topology constraint against what the pods themselves ask for: ports, affinity, spread, selectors.

Where the facts list the nodes, errors are what is proved about them; without facts, what holds in any cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from krmfn.checks.rule import Matches, is_obeyed, rule, tell
from krmfn.checks.scheduler.fit import find_obstacles
from krmfn.config import Settings
from krmfn.model.exclusive import find_exclusive
from krmfn.model.values import Names, as_list, dig
from krmfn.survey.census import Census, LinkedGang, once
from krmfn.survey.facts import HOSTNAME, Facts
from krmfn.survey.jobs import count_first

if TYPE_CHECKING:  # groups alone need none of it
    from krmfn.capacity.pods import PodKind, Term

#: Coarse to fine, where the order is fixed by convention.
_ORDER = ("topology.kubernetes.io/region", "topology.kubernetes.io/zone", HOSTNAME)


@rule("topology-host-ports")
def find_one_node_ports(census: Census, settings: Settings) -> Matches:
    yield from find_obstacles(census, settings).get("topology-host-ports", ())
    for gang, kind, needed in _list_needed(census):
        if HOSTNAME in _list_keys(census, gang) and kind.ports and needed > 1:
            yield tell(kind.template, ("containers",), kind.ports[0][2], needed=needed, gang=gang)


@rule("topology-anti-affinity")
def find_anti_affinity(census: Census, settings: Settings) -> Matches:
    """Members that must be in one domain and must not share it, or more of them than there are domains."""
    yield from find_obstacles(census, settings).get("topology-anti-affinity", ())
    if not is_obeyed(census, settings, "topology-keys"):
        return
    for gang, kind, needed in _list_needed(census):
        keys = _list_keys(census, gang)
        for term in kind.apart if needed > 1 else ():
            key = next((key for key in keys if _is_same_or_coarser(term.key, key)), "")
            if key and _selects_itself(term, kind, census.facts):
                case = "" if term.key == key else "unsure"
                path, unsure = (*_ANTI, term.place), bool(case)
                yield tell(kind.template, path, term.key, warning=unsure, case=case, gang=gang, key=key, needed=needed)


@rule("one-pod-per-node")
def find_one_pod_per_node(census: Census, settings: Settings) -> Matches:
    for finding in find_obstacles(census, settings).get("one-pod-per-node", ()):
        yield finding._replace(severity="error")
    for gang, kind, needed in _list_needed(census):
        apart = any(term.key == HOSTNAME and _selects_itself(term, kind, census.facts) for term in kind.apart)
        keys = _list_keys(census, gang)
        if needed < 2 or not (apart or kind.ports) or HOSTNAME in keys:
            continue
        yield tell(kind.template, (), needed, where=f"one domain of {keys[0]}" if keys else "the cluster")


@rule("topology-spread")
def find_spread_against_domain(census: Census, settings: Settings) -> Matches:
    """Topology spread over the key whose one domain the gang must stay in, or over too few domains."""
    proved = find_obstacles(census, settings).get("topology-spread", ())
    for finding in proved:
        yield finding._replace(severity="error")
    if not is_obeyed(census, settings, "topology-keys"):
        return
    told = {id(finding.item) for finding in proved}
    for gang, kind, needed in _list_needed(census, known=True):
        keys = _list_keys(census, gang)
        for spread in kind.spreads:
            if spread.key in keys and spread.skew < needed and id(kind.template.item) not in told:
                path = ("topologySpreadConstraints", spread.place)
                yield tell(kind.template, path, spread.skew, spread=spread, needed=needed)


@rule("topology-selectors-apart")
def find_selectors_apart(census: Census) -> Matches:
    pinned: dict[tuple[int, str], dict[str, PodKind]] = defaultdict(dict)
    for gang, kind, needed in _list_needed(census):
        for key in _list_keys(census, gang) if needed > 0 else ():
            value = _pinned_value(kind, key)
            if value:
                pinned[id(gang.group.item), key].setdefault(value, kind)
    for (_item, key), values in pinned.items():
        if len(values) > 1:
            yield tell(list(values.values())[1].template, ("nodeSelector",), key=key, names=sorted(values))


@rule("topology-child-key")
def find_child_key(census: Census) -> Matches:
    groups = [gang.group for gang in _gangs(census)] + list(census.composites.values())
    for group in {id(entry.item): entry for entry in groups if entry.topology_key}.values():
        for parent in census.ancestors(group):
            if parent.topology_key and _is_same_or_coarser(group.topology_key, parent.topology_key):
                same = group.topology_key == parent.topology_key
                kind = "already the key of" if same else "coarser than the key of"
                path = ("schedulingConstraints", "topology", 0, "key")
                yield tell(group, path, group.topology_key, kind=kind, parent=parent)
                break


@rule("exclusive-topology")
def find_exclusive_topology(census: Census) -> Matches:
    for gang in _gangs(census):
        for template in gang.templates:
            exclusive = find_exclusive(template.item.value, template.path)
            if exclusive and exclusive.key == gang.group.topology_key and _has_several(gang):
                yield tell(template.item, exclusive.path, exclusive.key, annotation=exclusive.path[-1], gang=gang)
                break


def _has_several(gang: LinkedGang) -> bool:
    """Whether the quorum needs pods of several jobs, each of which is alone in its domain."""
    sizes = [
        (template.pods or 0, -(-(template.pods or 0) // (count_first(template) or 1)))
        for template in gang.templates
        if find_exclusive(template.item.value, template.path)
    ]
    spread = sum(pods for pods, _ in sizes) - max(size for _, size in sizes)
    return gang.pods is None or gang.quorum > gang.pods - spread


_ANTI = ("affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def _list_needed(census: Census, known: bool = False) -> Sequence[tuple[LinkedGang, PodKind, int]]:
    """Every kind of pod of a gang and how many of them its quorum cannot do without, in gangs with pods that ask for
    more than room. Where nodes are known, only for questions that the facts leave open (`known`): the others are
    answered by what is proved about the nodes."""
    if (census.facts.nodes is not None and not known) or not census.templates:
        return ()
    return _list_wishes(census)


@once
def _list_wishes(census: Census) -> list[tuple[LinkedGang, PodKind, int]]:
    from krmfn.capacity.pods import has_wishes, read_kinds

    return [
        (gang, kind, (kind.pods or 0) - (gang.pods - gang.quorum))
        for gang in census.gangs
        if gang.pods is not None and 0 < gang.quorum <= gang.pods
        if any(map(has_wishes, gang.templates))
        for kind in read_kinds(gang.templates, census.facts)
    ]


def _selects_itself(term: Term, kind: PodKind, facts: Facts) -> bool:
    from krmfn.capacity.pods import selects_itself

    return selects_itself(term, kind, facts)


def _list_keys(census: Census, gang: LinkedGang) -> Names:
    """The topology keys that hold for the gang: its own, and those above."""
    groups = census.lineage(gang.group)
    return tuple(dict.fromkeys(group.topology_key for group in groups if group.topology_key))


def _gangs(census: Census) -> Iterator[LinkedGang]:
    """Gangs that must stay in one domain, by their own key or a parent's."""
    return (gang for gang in census.gangs_with("schedulingConstraints") if _list_keys(census, gang))


def _is_same_or_coarser(key: str, other: str) -> bool:
    if key == other:
        return bool(key)
    return key in _ORDER and other in _ORDER and _ORDER.index(key) < _ORDER.index(other)


def _pinned_value(kind: PodKind, key: str) -> str:
    value = kind.selector.get(key)
    if isinstance(value, str):
        return value
    terms = as_list(kind.affinity)
    for expression in as_list(terms[0], "matchExpressions") if len(terms) == 1 else ():
        values = as_list(expression, "values")
        if dig(expression, "key") == key and dig(expression, "operator") == "In" and len(values) == 1:
            return str(values[0])
    return ""
