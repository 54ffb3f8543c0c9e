"""Proofs that a gang never starts: every group of a tree against the nodes, from the leaves up and domain by domain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from krmfn.capacity.admission import find_refusal
from krmfn.capacity.bounds import Bound, Demand, GroupDemand, can_pack, find_short_resource, fit
from krmfn.capacity.obeyed import Obeyed
from krmfn.capacity.pods import PodKind, list_group_claims, read_kinds, sum_least
from krmfn.capacity.quotas import counts
from krmfn.capacity.volumes import Volumes, count_attachments, read_limits
from krmfn.capacity.world import ClusterModel, Room
from krmfn.model.quantity import add
from krmfn.survey.census import Census, LinkedGang
from krmfn.survey.facts import Amounts, Facts
from krmfn.survey.groups import Group


class GroupNeed(NamedTuple):
    """A group with what is below it: kinds of pods, or child groups. `need` of them have to be there; `key` is the
    topology key that the scheduler obeys."""

    group: Group
    need: int
    key: str
    kinds: tuple[PodKind, ...]
    children: tuple[GroupNeed, ...]


class Obstacle(NamedTuple):
    """Why a group never starts. `cause` is one of:

    "refused": the API server refuses its pods (`said`, by the object `by`); "quota": the quota `by` allows less than
    the gang needs; "pod": no node takes a pod of `kind`; "claim": a claim of it finds no volume (`said` are the
    scheduler's words); "nobody": its affinity term looks for pods that do not exist; "bound": nodes take at most
    `bound.pods` of it, and `need` are needed; "resource": the pods need `need` of `resource`, the nodes have `have`;
    "packing": they do not fit side by side; "key": no node carries the topology key. `key` is the key of the domain
    that the pods have to share.
    """

    group: Group
    cause: str
    kind: PodKind | None = None
    said: str = ""
    reasons: Mapping[str, int] = {}
    bound: Bound | None = None
    resource: str = ""
    need: int = 0
    have: int = 0
    key: str = ""
    nodes: int = 0
    by: str = ""


def prove_all(census: Census, obeyed: Obeyed) -> Iterator[Obstacle]:
    """What `capacity.prove` gives, for the gangs of a census."""
    volumes = Volumes(census.facts)
    limited = {name for limits in read_limits(census.facts).values() for name in limits}
    kinds = {id(gang): tuple(_read_kinds(gang, census.facts, obeyed, volumes, limited)) for gang in census.gangs}
    linked = {id(template) for _, template in census.linked()}
    strangers = read_kinds((t for t in census.templates if id(t) not in linked), census.facts)
    every = [*(kind for found in kinds.values() for kind in found), *strangers]
    roots = list(_grow(census, kinds, obeyed))
    keys = sorted({key for root in roots for key in _list_keys(root)})
    world = ClusterModel(census, every, keys, obeyed)
    for root in roots:
        obstacle = _try(root, world, world.room) or _exceed(root, world)
        if obstacle is not None:
            yield obstacle
        else:
            yield from _below(root, world, world.room)


def _read_kinds(
    gang: LinkedGang, facts: Facts, obeyed: Obeyed, volumes: Volumes, limited: Collection[str]
) -> Iterator[PodKind]:
    """The kinds of a gang's pods, with the volumes that they attach. What the group claims they do not claim again."""
    for kind in read_kinds(gang.templates, facts):
        shared = list_group_claims(kind.template, gang.group.spec) if obeyed.claims else {}
        yield kind._replace(
            requests={**kind.requests, **count_attachments(kind, volumes, limited)},
            device_templates=tuple(name for name in kind.device_templates if name not in shared.values()),
            group_templates=tuple(shared.values()),
        )


def _grow(census: Census, kinds: Mapping[int, tuple[PodKind, ...]], obeyed: Obeyed) -> Iterator[GroupNeed]:
    """The roots with what is below them, gangs before composites. A gang without pods, or in a chain that does not end,
    is left out."""
    below: dict[int, dict[int, GroupNeed | Group]] = defaultdict(dict)  # in the order of the input; 0: the roots
    for gang in census.gangs:
        above, end = census.chain(gang.group) if obeyed.trees else ([], "")
        leaf = _leaf(gang.group, kinds[id(gang)], obeyed, census.facts)
        if end or leaf is None:
            continue
        node: GroupNeed | Group = leaf
        for upper in above:
            below[id(upper)][id(node)] = node
            node = upper
        below[0][id(node)] = node

    def build(key: int) -> Iterator[GroupNeed]:
        for node in sorted(below[key].values(), key=lambda node: isinstance(node, Group)):
            if isinstance(node, GroupNeed):
                yield node
            else:
                yield GroupNeed(node, node.quorum or 1, _find_key(node, obeyed), (), tuple(build(id(node))))

    return build(0)


def _find_key(group: Group, obeyed: Obeyed) -> str:
    return group.topology_key if obeyed.keys else ""


def _leaf(group: Group, kinds: tuple[PodKind, ...], obeyed: Obeyed, facts: Facts) -> GroupNeed | None:
    """The gang as a leaf; None without pods, or with fewer than its quorum (another rule speaks of that)."""
    need = group.quorum or 1
    placed = [kind for kind in kinds if kind.node and not find_refusal(kind, facts)]
    bound = sum(kind.pods or 0 for kind in placed)
    free = tuple(kind for kind in kinds if kind not in placed)
    total = sum(kind.pods or 0 for kind in kinds)
    if not kinds or any(kind.pods is None for kind in kinds) or total < need or bound >= need:
        return None
    return GroupNeed(group, need - bound, _find_key(group, obeyed), free, ())


def _list_keys(branch: GroupNeed) -> Iterator[str]:
    if branch.key:
        yield branch.key
    for child in branch.children:
        yield from _list_keys(child)


def _below(branch: GroupNeed, world: ClusterModel, room: Room) -> Iterator[Obstacle]:
    """Obstacles of groups below a root that can start without them."""
    rooms = room.split(branch.key) if branch.key else (room,)
    for child in branch.children:
        obstacles = [_try(child, world, domain) for domain in rooms]
        if obstacles and all(obstacles):
            yield next(obstacle for obstacle in obstacles if obstacle)
        elif child.children:
            yield from _below(child, world, room)


def _try(branch: GroupNeed, world: ClusterModel, room: Room) -> Obstacle | None:
    """Why a group cannot start in these nodes; None where nothing is proved."""
    if not branch.key or not world.known:
        return _try_in(branch, world, room)
    first: Obstacle | None = None
    for domain in sorted(room.split(branch.key), key=lambda domain: -domain.size):
        obstacle = _try_in(branch, world, domain)
        if obstacle is None:
            return None
        first = first or obstacle
    # What no node at all can give is said without the domain.
    if everywhere := _try_in(branch, world, room):
        return everywhere
    first = first or Obstacle(branch.group, "key", nodes=room.size)
    return first if first.key else first._replace(key=branch.key)


def _try_in(branch: GroupNeed, world: ClusterModel, room: Room) -> Obstacle | None:
    if not branch.children:
        return _try_leaf(branch, world, room)
    tried = [(child, _try(child, world, room)) for child in branch.children]
    fit = [child for child, obstacle in tried if obstacle is None]
    if len(fit) < branch.need:
        return next((obstacle for _, obstacle in tried if obstacle is not None), None)
    return _try_together(branch, fit, world, room)


def _try_leaf(branch: GroupNeed, world: ClusterModel, room: Room) -> Obstacle | None:
    total = sum(kind.pods or 0 for kind in branch.kinds)
    most = 0
    worst: Obstacle | None = None
    for kind in branch.kinds:
        obstacle, taken = _try_kind(branch, kind, world, room, (kind.pods or 0) - (total - branch.need))
        most += taken
        worst = worst or obstacle
    if worst is not None and most < branch.need:
        if worst.bound is not None and worst.bound.cause == "room":
            return _find_short(branch.group, [_quota(branch, world, room, clipped=False)], room) or worst
        return worst
    return _compare(branch.group, [_quota(branch, world, room)], room) if world.known else None


def _try_kind(
    branch: GroupNeed, kind: PodKind, world: ClusterModel, room: Room, least: int
) -> tuple[Obstacle | None, int]:
    """What keeps pods of a kind from being placed, and at most how many of them are. `least` are needed of it."""
    count, found = kind.pods or 0, Obstacle(branch.group, "", kind, need=least, nodes=room.size)
    fitting = fit(kind, world)
    if refusal := fitting.refusal:
        by = f"{refusal.by} {refusal.name}" if refusal.name else ""
        return found._replace(cause="refused", said=refusal.said, by=by), 0
    if not world.known:
        return None, count
    if words := fitting.missing_claim:
        words = f"{room.size} {words}" if words.startswith(("node(s)", "cannot ")) else words
        return found._replace(cause="claim", said=words), 0
    for term in kind.together:
        if not world.may_find(term, kind, own=True):
            return found._replace(cause="nobody", bound=Bound(0, "nobody", term.key, term.place)), 0
    if fitting.nodes.isdisjoint(room.kinds):
        said, reasons = fitting.explain(room)
        return found._replace(cause="pod", said=said, reasons=reasons), 0
    bound = fitting.most(room)
    if bound.pods < count:
        return found._replace(cause="bound", bound=bound, need=max(least, 1), have=bound.pods), bound.pods
    return None, count


def _quota(branch: GroupNeed, world: ClusterModel, room: Room, clipped: bool = True) -> GroupDemand:
    """A leaf's pods, with the nodes in `room` that they fit on; no more of a kind than its bound (`clipped`)."""
    demands = []
    for kind in branch.kinds:
        fitting = fit(kind, world)
        nodes = fitting.nodes.intersection(room.kinds)
        pods = kind.pods or 0
        if nodes and not fitting.missing_claim and not fitting.refusal:
            pods = min(pods, fitting.most(room).pods) if clipped else pods
            demands.append(Demand(fitting, pods, nodes))
    return GroupDemand(tuple(demands), branch.need)


def _compare(group: Group, quotas: Sequence[GroupDemand], room: Room) -> Obstacle | None:
    """Sums first, for large and small; then the exact search."""
    short = _find_short(group, quotas, room)
    if short or can_pack(quotas, room):
        return short
    return Obstacle(group, "packing", need=sum(quota.least for quota in quotas), nodes=room.size)


def _find_short(group: Group, quotas: Sequence[GroupDemand], room: Room) -> Obstacle | None:
    """What all pods together, or those that only some nodes take, need more of than there is."""
    parts = [quotas]
    for demand in (demand for quota in quotas for demand in quota.demands):
        inside = (_only_on(quota, demand.nodes) for quota in quotas)
        parts.append([quota for quota in inside if quota.least > 0])
    short = next(filter(None, (find_short_resource(part, room) for part in parts)), None)
    if short is None:
        return None
    name, need, have = short
    return Obstacle(group, "resource", resource=name, need=need, have=have, nodes=room.size)


def _only_on(quota: GroupDemand, nodes: frozenset[object]) -> GroupDemand:
    """Those pods of a quota that have to be on `nodes`: the others are taken to be placed elsewhere."""
    inside = tuple(demand for demand in quota.demands if demand.nodes <= nodes)
    elsewhere = sum(demand.pods for demand in quota.demands if not demand.nodes <= nodes)
    return GroupDemand(inside, quota.least - elsewhere)


def _try_together(branch: GroupNeed, children: Iterable[GroupNeed], world: ClusterModel, room: Room) -> Obstacle | None:
    """Why the children do not fit side by side; None where they may, or where some of them can be left out."""
    children = list(children)
    if not world.known or branch.need < len(children):
        return None
    return _compare(
        branch.group, [_quota(leaf, world, room) for child in children for leaf in _needed_leaves(child)], room
    )


def _exceed(root: GroupNeed, world: ClusterModel) -> Obstacle | None:
    """A quota that allows less than the pods that a root cannot start without."""
    leaves = list(_needed_leaves(root))
    for quota in world.facts.quotas_within(root.group.namespace):
        needs: Amounts = {}  # at least, by what the quota counts
        for leaf in leaves:
            counted = ((kind, counts(quota, kind, world.facts)) for kind in leaf.kinds)
            usages = ((kind.pods, fit(kind, world).usage if takes else {}) for kind, takes in counted)
            add(needs, sum_least(usages, leaf.need))
        for name, allowed in quota.hard.items():
            need = needs.get(name, 0)
            if need > allowed:
                return Obstacle(root.group, "quota", resource=name, need=need, have=allowed, by=quota.name)
    return None


def _needed_leaves(branch: GroupNeed) -> Iterator[GroupNeed]:
    """The leaves below a branch that start when it starts."""
    if not branch.children:
        yield branch
    elif branch.need >= len(branch.children):
        for child in branch.children:
            yield from _needed_leaves(child)
