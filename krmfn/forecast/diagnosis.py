"""Why a gang that lives in a cluster does not run: what is there, what is missing, and what the cluster itself says.

The first cause that is certain is told; what the scheduler and the controllers said stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from krmfn.forecast.queued import explain_requests, explain_unresumed, explain_workload, is_workload, list_queues
from krmfn.forecast.roster import is_owner
from krmfn.forecast.standing import ELSEWHERE, Outlook, Standing
from krmfn.forecast.voices import (
    FOREIGN,
    Explanation,
    Explanations,
    Sayings,
    explain,
    find_failed,
    find_growth,
    find_refused,
    find_unstarted,
    find_way,
    group_said,
    is_complete,
    list_claims,
    listen,
    load_ways,
    read_conditions,
    read_refusals,
)
from krmfn.krm.item import Item, Items
from krmfn.model.findings import Finding
from krmfn.model.marks import KUEUE_POD_GROUP, KUEUE_QUEUE
from krmfn.model.schedulers import DEFAULT_SCHEDULER, SCHEDULERS
from krmfn.model.values import Names, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count, list_first
from krmfn.releases.spelling import LINK_FIELDS
from krmfn.survey.census import Census, count_pods
from krmfn.survey.control_plane import KUEUE
from krmfn.survey.lookup import find_controller

#: What controllers make of an object before there are pods.
_BETWEEN = ("Job", "StatefulSet", "ReplicaSet", "RayCluster", "JobSet", "LeaderWorkerSet")
NOT_EXPLAINED = ("Node", "Event", "Namespace", "CustomResourceDefinition")


class Diagnosis(NamedTuple):
    """What there is to say about an object. `state` counts, `cause` and `way_out` are empty when all is well; `rule` is
    the rule that found the cause, `said` what the cluster says itself, newest last."""

    subject: str
    state: str
    cause: str
    way_out: str
    rule: str
    said: Names


class _Pods(NamedTuple):
    """The pods of an object, and those that have a node. By identity: `older` ones are in no group, `done` ones
    finished."""

    mine: Items
    bound: Items
    older: Set[int]
    done: Set[int]


class _Stuck(NamedTuple):
    """An object that does not run. `about` are its groups and what has pods in its gang, `beside` what controllers made
    for it and the claims of its pods, `told` what the cluster says of all of them; so many pods are `wanted`.
    `queued` is what keeps Kueue from starting it, `unresumed` what is to be said if nothing does."""

    top: Item
    about: Items
    beside: Items
    told: Sayings
    standing: Standing | None
    pods: _Pods
    wanted: int
    queued: Explanation | None
    unresumed: Explanation | None


def find_object(items: Items, word: str) -> list[Item]:
    """The objects that KIND/NAME or KIND/NAMESPACE/NAME means, the kind as kubectl takes and prints it: a plural, a
    short name, with its group (`job.batch`) or with version and group (`jobs.v1.batch`)."""
    kind, _, rest = word.partition("/")
    space, slash, name = rest.rpartition("/")
    kind, qualified, group = load_ways("shortNames").get(kind.lower(), kind.lower()).partition(".")
    return [
        item
        for item in items
        if item.name == (name if slash else rest)
        and item.kind.lower() in (kind, kind.removesuffix("s"), kind.removesuffix("es"))
        and item.kind not in NOT_EXPLAINED
        and (not slash or item.space == space)
        and (not qualified or group in (item.group, ".".join(reversed(item.ref.api_version.split("/")))))
    ]


class _Controllers:
    """Who made what among the objects of a cluster. An index once: a dump has 100,000 pods."""

    def __init__(self, items: Items) -> None:
        self._index = {(*each.group_kind, each.space, each.name): each for each in items}

    def find_top(self, item: Item) -> Item:
        """The object for which controllers made this one; itself when none did."""
        seen = {id(item)}
        while owner := find_controller(item):
            group, kind, name = owner
            above = self._index.get((group, kind, item.space, name))
            if above is None or id(above) in seen:
                return item
            seen.add(id(above))
            item = above
        return item

    def find_root(self, item: Item) -> tuple[str, str, str, str]:
        """API group, kind, namespace and name of that for which an object was made, also where the data lacks it. Kueue
        does not control the Workloads of StatefulSets, LeaderWorkerSets and groups of pods, it only owns them."""
        top = self.find_top(item)
        owner = find_controller(top, owns=True) if is_workload(top) else None
        above = self._index.get((*owner[:2], top.space, owner[2])) if owner else None
        top = self.find_top(above) if above else top
        group, kind, name = find_controller(top, owns=is_workload(top)) or (*top.group_kind, top.name)
        return group, kind, top.space, name


def diagnose(item: Item, items: Items, census: Census, outlook: Outlook, findings: Sequence[Finding]) -> Diagnosis:
    """Why the pods of an object, or of a group, do not run. `items` are all objects of the cluster, `findings` what the
    rules say of them, most severe first."""
    subject = f"{item.kind} {item.space}/{item.name}"
    owners = _Controllers(items)
    top = owners.find_top(item)
    standing = _find_standing(top, census, outlook)
    about = _list_related(top, census, standing)
    pods = _find_pods(top, items, standing, owners)
    mine, bound = pods.mine, pods.bound
    named = {name for pod in mine for name in _name_groups(pod)}
    foreign = [each for each in items if each.group in FOREIGN]
    theirs = (each for each in foreign if each is not top)
    root = owners.find_root(top)
    about += [each for each in theirs if owners.find_root(each) == root or _name(each) in named]
    about += [queue for each in about if is_workload(each) for queue in list_queues(each, foreign)]
    beside = [each for each in items if each.kind in _BETWEEN and owners.find_top(each) is top]
    beside += _find_claims(mine, items)
    told = [*listen([*{id(each): each for each in (*about, *beside, *mine)}.values()], items)]
    beside += list_claims(told, items)
    wanted = len(standing.places) if standing else max(len(mine), count_pods(census.templates_of(top)) or 0)
    state = f"{len(bound)} of {wanted} pods have a node, {len(mine)} exist" if mine or standing else "it has no pods"
    if standing:
        state += f"; they are in {'the gang' if len(standing.groups) < 2 else 'the groups below'} {standing.name}"
        if pods.older:
            state += f"; {len(pods.older)} more {'pods are' if len(pods.older) > 1 else 'pod is'} not in it"
    ours = [each for each in about if is_workload(each)]
    nodeless = (found for each in ours for found in explain_requests(each, items))
    queued = next(nodeless, None) or next(filter(None, (explain_workload(each, foreign) for each in ours)), None)
    unresumed = explain_unresumed(f"{top.kind} {top.name}", ours, any(map(is_workload, foreign)))
    stuck = _Stuck(top, about, beside, told, standing, pods, wanted, queued, unresumed)
    cause = _find_cause(stuck, findings) or Explanation("")
    # Rules speak about files; here the objects come from a cluster.
    text, way_out = (
        each.replace("the files checked", "the data of the cluster") for each in (cause.text, cause.way_out)
    )
    return Diagnosis(subject, state, text, way_out, cause.rule, tuple(group_said(told)))


def _find_pods(top: Item, items: Items, standing: Standing | None, owners: _Controllers) -> _Pods:
    live = {f"{each.space}/{each.name}": each for each in items if each.kind == "Pod"}
    mine = [live[place.pod.name] for place in standing.places if place.pod.name in live] if standing else []
    owned = [pod for pod in live.values() if owners.find_top(pod) is top]
    owned = owned or [pod for pod in live.values() if is_owner(top, pod.value)]
    if not owned and top.group in FOREIGN:
        owned = [pod for pod in live.values() if _name(top) in _name_groups(pod)]
    every = {id(pod): pod for pod in (*mine, *owned)}
    done = {key for key, pod in every.items() if dig(pod.value, "status", "phase") in ("Succeeded", "Failed")}
    linked = {key for key, pod in every.items() if any(dig(pod.value, "spec", link) for link in LINK_FIELDS)}
    older = every.keys() - done - linked if linked else set()
    mine = [pod for pod in mine or owned if id(pod) not in older]
    return _Pods(mine, [pod for pod in mine if dig(pod.value, "spec", "nodeName")], older, done)


def _find_claims(pods: Items, items: Items) -> Iterator[Item]:
    """The claims that pods use."""
    used = {
        (pod.space, as_text(volume, "persistentVolumeClaim", "claimName"))
        for pod in pods
        for volume in as_list(pod.value, "spec", "volumes")
    }
    return (item for item in items if item.kind == "PersistentVolumeClaim" and item.key in used)


def _name(item: Item) -> tuple[str, str, str]:
    return item.group, item.space, item.name


def _name_groups(pod: Item) -> Iterator[tuple[str, str, str]]:
    """The groups of other schedulers that a pod says it is in: API group, namespace and name."""
    for row in SCHEDULERS.values():
        if name := as_text(pod.value, "metadata", *row.link):
            yield row.group, pod.space, name
    if name := as_text(pod.labels.get(KUEUE_POD_GROUP)):
        yield KUEUE, pod.space, name


def _find_standing(top: Item, census: Census, outlook: Outlook) -> Standing | None:
    """The gang of an object that has pods, or of a group."""
    names = {f"{template.item.space}/{template.link.group}" for template in census.templates_of(top) if template.link}
    described = top.key if top.kind == "Workload" else ("", "")
    for standing in outlook.standings:
        groups = [*standing.groups, *([standing.root] if standing.root else [])]
        above = [each for group in standing.groups for each in census.ancestors(group)]
        named = {standing.name, *(group.full_name for group in groups)}
        if any(group.item is top for group in (*groups, *above)) or not named.isdisjoint(names):
            return standing
        if described in ((group.namespace, group.workload) for group in groups):
            return standing
    return None


def _list_related(top: Item, census: Census, standing: Standing | None) -> list[Item]:
    """The object, its groups and those above them, and what else has pods in the gang."""
    found = {id(top): top}
    if standing:
        for group in standing.groups:
            for each in census.lineage(group):
                found[id(each.item)] = each.item
        for place in standing.places:
            if place.pod.template is not None:
                found[id(place.pod.template.item)] = place.pod.template.item
    return list(found.values())


def _find_cause(case: _Stuck, findings: Sequence[Finding]) -> Explanation | None:
    """The first cause that is certain, None where all is well."""
    top, pods = case.top, case.pods
    if is_complete(top):
        return None
    failed = find_failed(top, [pod for pod in pods.mine if id(pod) in pods.done])
    if failed or (case.wanted and len(pods.bound) >= case.wanted):
        return failed or find_unstarted(pods.bound, case.told)
    return next(_list_causes(case, findings))


def _list_causes(case: _Stuck, findings: Sequence[Finding]) -> Explanations:
    """What may keep the pods from running, the most certain first."""
    top, about, beside, told, standing, pods, wanted, queued, unresumed = case
    here = {id(item) for item in about}
    own = [finding for finding in findings if id(finding.item) in here]
    yield from _find_elsewhere(top, own, wanted if standing else len(pods.mine))
    yield from _find_suspended([top, *beside], own, queued or unresumed)
    if queued:
        yield queued
    if pods.bound or not any(map(_is_told, pods.mine)):  # pods run without the others: gangs are not known
        yield from _quote(finding for finding in own if finding.rule == "cluster-gate-off")
    yield from _quote(finding for finding in own if finding.severity == "error")
    for item in about:
        yield from read_refusals(item)
    for item in about:
        if dig(item.value, "metadata", "deletionTimestamp"):
            yield explain("deleted", item=item)
    refused = find_refused([top, *beside], told) if len(pods.mine) < wanted else None
    yield from _find_short(top, standing, pods, refused)
    if refused:
        yield refused
    for pod in pods.mine:
        if gates := as_list(pod.value, "spec", "schedulingGates"):
            names = ", ".join(as_text(gate, "name") for gate in gates)
            yield explain("gated", pod=pod, names=names, way=find_way("podGates", names))
    warnings = [finding for finding in own if finding.severity == "warning"]
    yield from _quote(finding for finding in warnings if finding.rule in load_ways("surely"))
    yield from _find_unadmitted(about)
    yield from _find_untried(pods, told)
    yield from _find_verdict(standing)
    yield from _find_said(pods, told, beside)
    if unstarted := find_unstarted(pods.bound, told):
        yield unstarted
    waiting = (pod for pod in pods.mine if pod not in pods.bound)
    is_new = bool(pods.mine) and not any(dig(pod.value, "status", "conditions") for pod in waiting)
    if is_new and standing and standing.verdict == "runs":
        nodes = dict.fromkeys(place.node for place in standing.places if place.node)
        where = f" on {list_first(nodes, 3)}" if nodes else ""
        yield explain("fits", where=where)
    yield from _quote(finding for finding in warnings if finding.rule not in load_ways("later"))
    if is_new:
        yield explain("new")
    yield explain("unknown" if pods.mine else "none", top=top)


def _find_elsewhere(top: Item, own: Iterable[Finding], wanted: int) -> Explanations:
    """Pods that are in another cluster, or those of a Ray cluster that a job of it only uses."""
    yield from _quote(found for found in own if found.rule == ELSEWHERE)
    selector = as_mapping(top.value, "spec", "clusterSelector")
    if not wanted and top.kind == "RayJob" and selector:
        words = ", ".join(f"{key}: {value}" for key, value in selector.items())
        yield explain("selector", top=top, words=words)


def _find_suspended(made: Items, own: Sequence[Finding], queued: Explanation | None) -> Explanations:
    """Of what Kueue resumes, why it does not: what is proved first, then its own words. `made` are an object and what
    controllers made for it."""
    held = next((each for each in made if dig(each.value, "spec", "suspend") is True), None)
    if held is None:
        return
    for severity in ("error", "warning"):
        yield from _quote(each for each in own if each.rule.startswith("kueue-") and each.severity == severity)
    if queued:
        yield queued
    queue = next((each.labels[KUEUE_QUEUE] for each in made if each.labels.get(KUEUE_QUEUE)), "")
    owner = find_controller(made[0])  # what suspends it is its owner: it would be suspended again
    cause = "queued" if queue else "owned" if owner else "suspended"
    yield explain(cause, held=held, queue=queue, owner=owner, kind=made[0].kind)


def _find_unadmitted(about: Items) -> Explanations:
    """What another scheduler says of its own object for the gang."""
    for item in about:
        if item.group in FOREIGN and item.group != KUEUE:
            for text in read_conditions(item):
                way = find_way("unadmitted", text).format(group=f"{item.kind} {item.name}")
                yield explain("unadmitted", scheduler=FOREIGN[item.group], item=item, said=text, way=way)


def _quote(findings: Iterable[Finding]) -> Explanations:
    return (Explanation(found.message, found.hint, found.rule) for found in findings)


def _is_told(pod: Item) -> bool:
    return any(read_conditions(pod))


def _find_untried(pods: _Pods, told: Sayings) -> Explanations:
    """Another scheduler has to place the pods, and said nothing but perhaps in an event."""
    for pod in pods.mine:
        name = as_text(pod.value, "spec", "schedulerName")
        if name in ("", DEFAULT_SCHEDULER) or pod in pods.bound or _is_told(pod):
            continue
        for last in told[-1:]:
            yield explain("passed", scheduler=name, pod=pod, last=last)
        yield explain("untried", scheduler=name, pod=pod)


def _find_short(top: Item, standing: Standing | None, pods: _Pods, refused: Explanation | None) -> Explanations:
    """Fewer pods than the group waits for, perhaps because they are `refused`."""
    root = standing.root if standing is not None else None
    quorum = root.quorum if root is not None and root.policy == "gang" and not root.composite else None
    if root is None or not quorum:
        return
    members = sum(id(pod) not in pods.done for pod in pods.mine)
    short = f"the group waits for {quorum} pods, but {members} exist"
    if pods.older and members < quorum:
        other = "1 pod was" if len(pods.older) == 1 else f"{len(pods.older)} pods were"
        again = f"Delete the {top.kind} and create it again, so that all pods are created together."
        yield explain("older", short=short, other=other, way=load_ways("replaced").get(top.kind, again))
    if pods.done and 0 < members < quorum <= members + len(pods.done):
        done = count(len(pods.done), "finished pod")
        yield explain("finished", short=short, done=done, root=root, members=members)
    if len(pods.mine) < quorum and refused:
        yield refused._replace(text=f"{short}: {refused.text}")
    elif len(pods.mine) < quorum:
        yield explain("short", short=short)


def _find_said(pods: _Pods, told: Sayings, beside: Items) -> Explanations:
    """What the scheduler says of a pod without a node; rather of nodes than of the rest of the gang. What an autoscaler
    and the claims of the pod say of it stands behind."""
    said = [(pod, text) for pod in pods.mine if pod not in pods.bound for text in read_conditions(pod)]
    for pod, text in sorted(said, key=lambda each: " nodes are available: " not in each[1]):
        cause = explain("said", pod=pod, said=text, way=find_way("scheduler", text))
        if node := as_text(pod.value, "status", "nominatedNodeName"):
            yield explain("nominated", pod=pod, node=node)
        if grown := find_growth(pod, told, beside):
            yield grown._replace(text=f"{cause.text} {grown.text}")
        claim = next((each for each in told if each.kind == "PersistentVolumeClaim"), None)
        if claim and claim.kind in text:
            yield explain("claim", cause=cause, claim=claim)
        yield cause


def _find_verdict(standing: Standing | None) -> Explanations:
    capacity = load_ways("capacity")
    if standing is None or standing.verdict not in capacity:
        return
    if standing.root is None or standing.rule:  # not for want of capacity
        yield Explanation(standing.why, standing.way_out, standing.rule)
    words, way_out = capacity[standing.verdict]
    yield Explanation(words + (f": {standing.why}" if standing.why else ""), way_out)
