"""Kueue: beside native groups, where two systems decide when pods start, and what its queues never admit.

Says nothing of queues that are in no file. Source: Kueue's pkg/scheduler/flavorassigner, pkg/workload and
pkg/cache/scheduler/clusterqueue.go.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import list_needs
from krmfn.checks.rule import Match, Matches, rule, suggest, tell, tell_mark
from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM, KUEUE_QUEUE
from krmfn.model.quantity import add, format_quantity, parse_quantity
from krmfn.model.selectors import match_namespace, match_node, tolerates
from krmfn.model.values import ByName, Fields, Key, Names, Value, as_list, as_mapping, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, Template, once
from krmfn.survey.facts import Amounts, Facts, Resources
from krmfn.survey.jobs import find_jobs, is_suspended

#: Kinds of which Kueue makes several workloads (pkg/controller/jobs): the pods of a Deployment get no pod group.
_PARTS = {"LeaderWorkerSet": "group by group", "Deployment": "pod by pod"}
_TOPOLOGY = ("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology")
_KUEUE = "kueue.x-k8s.io"
_LABEL = ("metadata", "labels", KUEUE_QUEUE)
_PRIORITY = "WorkloadPriorityClass"
_CLASS = ("metadata", "labels", "kueue.x-k8s.io/priority-class")
_SUBMITTER = "submitterPodTemplate"
#: What its container requests (pkg/controller/jobs/rayjob, as KubeRay's GetDefaultSubmitterContainer).
_SUBMITS = {"cpu": 5 * 10**8, "memory": 200 * 2**20 * 10**9}
_NATIVE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


@rule("kueue-partial-admission")
def find_partial_admission(census: Census) -> Matches:
    for gang in census.gangs if census.has_text(KUEUE_MINIMUM) else ():
        for owner in gang.owners:
            least, quorum = owner.annotations.get(KUEUE_MINIMUM), gang.group.quorum
            if least is not None and quorum is not None and (parse_int(least) or 0) < quorum:
                yield tell(owner, ("metadata", "annotations", KUEUE_MINIMUM), least, gang=gang)


@rule("kueue-several-workloads")
def find_several_workloads(census: Census) -> Matches:
    for gang in census.gangs if census.has_text(KUEUE_QUEUE) else ():
        queued = [owner for owner in gang.owners if KUEUE_QUEUE in owner.labels]
        parts = [part for owner in queued if (part := _PARTS.get(owner.kind))]
        if gang.group.policy == "gang" and gang.quorum > 1 and (len(queued) > 1 or parts):
            how = parts[0] if len(queued) == 1 else "one by one"
            yield tell(gang.group.item, gang.group.quorum_path, queued=queued, how=how)


@rule("kueue-topology-differs")
def find_two_topologies(census: Census) -> Matches:
    for gang, template in census.linked("schedulingConstraints"):
        key, annotations = gang.group.topology_key, as_mapping(template.metadata, "annotations")
        for name in _TOPOLOGY if key else ():
            other = annotations.get(name)
            if isinstance(other, str) and other != key:
                yield tell_mark(template, "annotations", name, other, gang=gang, key=key)


@rule("kueue-queue-unread")
def find_queue_unread(census: Census) -> Matches:
    for item in census.objects if census.has_text(KUEUE_QUEUE) else ():
        templates = census.templates_of(item)
        if KUEUE_QUEUE in item.labels or not templates:
            continue
        path = (*templates[0].path, "metadata", "labels", KUEUE_QUEUE)
        said = "from the label of a Job, not from a label of its pods"
        if KUEUE_QUEUE in item.annotations:
            path, said = (
                ("metadata", "annotations", KUEUE_QUEUE),
                "from a label; v0.15 and later ignore this annotation",
            )
        elif item.group_kind != ("batch", "Job") or not is_suspended(item) or not dig(item.value, *path):
            continue
        end = f"this {item.kind} stays suspended" if is_suspended(item) else "the pods start without a queue"
        yield tell(item, path, dig(item.value, *path), said=said, end=end)


@rule("kueue-minimum-refused")
def find_minimum_refused(census: Census) -> Matches:
    for job in census.kind("batch", "Job") if census.has_text(KUEUE_MINIMUM) else ():
        templates, least = census.templates_of(job), job.annotations.get(KUEUE_MINIMUM)
        jobs, number = find_jobs(templates[0]) if templates else None, parse_int(least) or 0
        if least is None or jobs is None or 0 < number < jobs.parallel:
            continue
        hint = f"Write a number from 1 to {jobs.parallel - 1}, or remove" if jobs.parallel > 1 else "Remove"
        case = "negative" if number < 1 else ""
        yield tell(job, ("metadata", "annotations", KUEUE_MINIMUM), least, case=case, jobs=jobs, hint=hint)


@rule("kueue-queue-missing")
def find_kueue_queue_missing(census: Census) -> Matches:
    """The namespace has other LocalQueues, or the facts list all of them: then it is an error."""
    facts = census.facts
    known, whole = facts.by_place(_KUEUE, "LocalQueue"), facts.by_name(_KUEUE, "ClusterQueue")
    all_local, all_whole = map(facts.lists_all, ("LocalQueue", "ClusterQueue"))
    for item in _list_queued(census) if known or all_local else ():
        name = item.labels[KUEUE_QUEUE]
        here = [queue for space, queue in known if space == item.space]
        target = _behind(known.get((item.space, name)))
        if target and target not in whole and (whole or all_whole):
            yield _tell(item, error=all_whole, case="cluster", target=target, near=suggest(target, whole))
        elif name not in here and (here or all_local):
            elsewhere = sorted(space for space, queue in known if queue == name)
            near = f": that of {join(elsewhere)} is for its own namespace" if elsewhere else suggest(name, here)
            yield _tell(item, error=all_local, near=near)


@rule("kueue-queue-stopped")
def find_kueue_queue_stopped(census: Census) -> Matches:
    """The LocalQueue, or the ClusterQueue behind it, admits nothing."""
    local = census.facts.by_place(_KUEUE, "LocalQueue")
    whole = census.facts.by_name(_KUEUE, "ClusterQueue")
    for item in _list_queued(census) if local else ():
        name = item.labels[KUEUE_QUEUE]
        mine = local.get((item.space, name))
        behind = _behind(mine)
        for kind, label, queue in (("LocalQueue", name, mine), ("ClusterQueue", behind, whole.get(behind))):
            policy = as_text(queue, "spec", "stopPolicy")
            if policy in ("Hold", "HoldAndDrain"):
                yield _tell(item, kind=kind, label=label, policy=policy)
                break


@rule("kueue-namespace-not-selected")
def find_kueue_namespace_not_selected(census: Census) -> Matches:
    """No selector selects nothing. Labels that no file and no fact shows are not known."""
    spaces = census.facts.by_name("", "Namespace")
    complete = census.facts.lists_all("Namespace")
    for item, name, queue in _list_waiting(census):
        selector = dig(queue, "spec", "namespaceSelector")
        if match_namespace(selector, item.space, spaces.get(item.space), complete) is not False:
            continue
        why = "has no namespaceSelector" if selector is None else f"does not select the namespace {item.space}"
        yield _tell(item, name=name, why=why)


@rule("kueue-reference-missing")
def find_kueue_reference_missing(census: Census) -> Matches:
    """What a ClusterQueue needs to be active, and priority classes. An error if the facts list the kind."""
    for item, name, queue in _list_waiting(census):
        for owner, kind, wanted in _list_references(item, f"the ClusterQueue {name}", queue, census):
            known, complete = census.facts.by_name(_KUEUE, kind), census.facts.lists_all(kind)
            if not wanted or wanted in known or not (known or complete):
                continue
            inactive = "" if kind == _PRIORITY else "the ClusterQueue is not active, and "
            place = _CLASS if kind == _PRIORITY else _LABEL
            about: Fields = {"kind": kind, "wanted": wanted, "near": suggest(wanted, known), "inactive": inactive}
            yield _tell(item, place, error=complete, owner=owner, **about)
            break


def _list_references(item: Item, owner: str, queue: Value, census: Census) -> Iterator[tuple[str, str, str]]:
    """Who names an object, its kind and its name."""
    flavors = census.facts.by_name(_KUEUE, "ResourceFlavor")
    for flavor in (each for group in as_list(queue, "spec", "resourceGroups") for each in _list_flavors(group)):
        yield owner, "ResourceFlavor", flavor
        yield f"the ResourceFlavor {flavor}", "Topology", as_text(flavors.get(flavor), "spec", "topologyName")
    for check in as_list(queue, "spec", "admissionChecks"):
        yield owner, "AdmissionCheck", as_text(check)
    for entry in as_list(queue, "spec", "admissionChecksStrategy", "admissionChecks"):
        yield owner, "AdmissionCheck", as_text(entry, "name")
    yield f"the label {_CLASS[-1]}", _PRIORITY, as_text(item.value, *_CLASS)


@rule("kueue-flavor-unsuitable")
def find_kueue_flavor_unsuitable(census: Census) -> Matches:
    """Kueue compares the pods' selectors and tolerations with the labels and taints of each flavor."""
    flavors = census.facts.by_name(_KUEUE, "ResourceFlavor")
    for item, name, queue in _list_waiting(census) if flavors else ():
        for template, (pods, requests) in zip(census.templates_of(item), list_needs(census, item), strict=True):
            if pods == 0:
                continue
            reason = next(
                (
                    reason
                    for group in as_list(queue, "spec", "resourceGroups")
                    if any(name in ("pods", *requests) for name in as_list(group, "coveredResources"))
                    and (reason := _reject_all(group, flavors, _PodSet(template, pods, requests), census.facts))
                ),
                "",
            )
            if reason:
                # Whether Kueue looks at topologies is a matter of its gates, and an autoscaler may add nodes.
                case = "domain" if _NO_DOMAIN in reason else "node" if _NO_NODE in reason else ""
                unsure = bool(case) or "Topology" in reason
                yield _tell(item, warning=unsure, case=case, name=name, reason=reason)
                break


_NO_NODE = "no node has its labels"
_NO_DOMAIN = "no domain of "


class _PodSet(NamedTuple):
    """A template whose pods have to be admitted: how many `pods` (None: unknown), and the `requests` of one."""

    template: Template
    pods: int | None
    requests: Resources


def _reject_all(group: object, flavors: ByName, asked: _PodSet, facts: Facts) -> str:
    """Why none of the flavors can be used; empty when one can, or is not known."""
    reasons = []
    for name in _list_flavors(group):
        reason = _reject(flavors[name], asked, facts) if name in flavors else ""
        if not reason:
            return ""
        reasons.append(f"{name}: {reason}")
    return ", ".join(reasons)


def _reject(flavor: Value, asked: _PodSet, facts: Facts) -> str:
    labels = as_mapping(flavor, "spec", "nodeLabels").items()
    if reason := _reject_pods(flavor, asked.template.spec):
        return reason
    if facts.nodes and not any(labels <= node.labels.items() for node in facts.nodes):
        return _NO_NODE
    return _reject_topology(flavor, asked, facts)


def _reject_topology(flavor: Value, asked: _PodSet, facts: Facts) -> str:
    """What keeps Kueue from placing the pods by the topology that they ask for: a flavor without one, a level that it
    has not, or a required domain that is nowhere large enough."""
    annotations = as_mapping(asked.template.metadata, "annotations")
    key = next((str(annotations[name]) for name in _TOPOLOGY if annotations.get(name)), "")
    wanted = as_text(flavor, "spec", "topologyName")
    topology = facts.by_name(_KUEUE, "Topology").get(wanted)
    if not key or (wanted and topology is None):
        return ""
    levels = [as_text(level, "nodeLabel") for level in as_list(topology, "spec", "levels")]
    if key not in levels:
        return f"its Topology {wanted} has no level {key}" if wanted else "it names no Topology"
    have: dict[str, Amounts] = defaultdict(dict)
    labels = as_mapping(flavor, "spec", "nodeLabels").items()
    for node in facts.nodes or ():
        if labels <= node.labels.items() and key in node.labels:
            add(have[str(node.labels[key])], node.allocatable, node.number)
    for name, amount in asked.requests.items() if have and annotations.get(_TOPOLOGY[0]) else ():
        need = amount * (asked.pods or 0)
        if all(domain.get(name, 0) < need for domain in have.values()):
            return f"{_NO_DOMAIN}{key} has {format_quantity(need)} {name}"
    return ""


def _reject_pods(flavor: Value, spec: Value) -> str:
    tolerations = [*as_list(spec, "tolerations"), *as_list(flavor, "spec", "tolerations")]
    for taint in map(as_mapping, as_list(flavor, "spec", "nodeTaints")):
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerates(tolerations, taint):
            return f"untolerated taint {taint.get('key')}"
    labels = as_mapping(flavor, "spec", "nodeLabels")
    for key, value in as_mapping(spec, "nodeSelector").items():
        if key in labels and labels[key] != value:
            return f"{key} is {labels[key]}, the pods need {value}"
    path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    terms = [
        [entry for entry in as_list(term, "matchExpressions") if as_text(entry, "key") in labels]
        for term in as_list(spec, *path)
    ]
    # A term about other labels suits every flavor.
    if terms and all(terms) and not match_node([{"matchExpressions": term} for term in terms], labels, ""):
        return "it does not match the node affinity"
    return ""


@rule("kueue-resource-not-covered")
def find_kueue_resource_not_covered(census: Census) -> Matches:
    """Kueue may be set up to ignore such requests, or to count them as another resource, which no object shows. An info
    where the queue covers something that no pod can mean: requests are turned into it, or other pods use it."""
    devices = census.facts.objects("resource.k8s.io", "DeviceClass")
    mapped = {as_text(value, "spec", "extendedResourceName") for value in devices}
    for item, name, queue in _list_waiting(census):
        groups = as_list(queue, "spec", "resourceGroups")
        covered = {as_text(each) for group in groups for each in as_list(group, "coveredResources")}
        asked = {each for pods, requests in _list_all_needs(census, item) if pods != 0 for each in requests}
        missing = sorted(asked - covered - mapped)
        if missing:
            others = covered - asked - _NATIVE
            near = suggest(missing[0], others)
            doubtful = bool(others) and not near and _NATIVE.isdisjoint(missing)
            yield _tell(item, info=doubtful, missing=missing, near=near, name=name)


@rule("kueue-queue-too-small")
def find_kueue_queue_too_small(census: Census) -> Matches:
    """What Kueue never admits: more than nominal quota and borrowing give. A Cohort that no fact shows may have quota
    of its own to lend: then a warning."""
    complete = census.facts.lists_all("ClusterQueue")
    for item, name, queue in _list_waiting(census):
        sets = [(pods, requests) for pods, requests in _list_all_needs(census, item) if pods is not None]
        certain = _list_quota(queue, None)
        lent = _list_lent(queue, census) if complete else None
        for resource, (widest, total) in _list_quota(queue, lent).items():
            needs = [pods * requests.get(resource, 10**9 if resource == "pods" else 0) for pods, requests in sets]
            if sum(needs) > total or max(needs, default=0) > widest:
                most = total if sum(needs) > total else widest
                where = "" if most == total else " in one flavor"
                borrowed = certain.get(resource) != (widest, total) and not census.facts.lists_all("Cohort")
                case = "borrowed" if borrowed else ""
                about: Fields = {"name": name, "resource": resource, "need": sum(needs), "most": most, "where": where}
                yield _tell(item, warning=borrowed, case=case, cohort=_cohort(queue), **about)
                break


def _list_all_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """What is admitted together: also the pod that submits a RayJob, which has no template by default."""
    yield from list_needs(census, item)
    spec = as_mapping(item.value, "spec")
    if item.kind == "RayJob" and spec.get("submissionMode") in (None, "K8sJobMode") and not spec.get(_SUBMITTER):
        yield 1, _SUBMITS


def _list_queued(census: Census) -> Iterator[Item]:
    """What makes pods and names a queue."""
    return (item for item in census.objects if item.labels.get(KUEUE_QUEUE) and census.templates_of(item))


def _tell(item: Item, place: Names = _LABEL, **about: Any) -> Match:
    """What a rule found at a label of an object that waits in a queue, mostly the one that names the queue."""
    return tell(item, place, item.labels[place[-1]], **about)


@once
def _list_waiting(census: Census) -> Sequence[tuple[Item, str, Value]]:
    """What names a LocalQueue whose ClusterQueue is known, with that and its name."""
    local, whole = census.facts.by_place(_KUEUE, "LocalQueue"), census.facts.by_name(_KUEUE, "ClusterQueue")
    queued = _list_queued(census) if local and whole else ()
    behind = ((item, _behind(local.get((item.space, item.labels[KUEUE_QUEUE])))) for item in queued)
    return [(item, name, whole[name]) for item, name in behind if name in whole]


def _behind(queue: object) -> str:
    return as_text(queue, "spec", "clusterQueue")


def _list_flavors(group: object) -> list[str]:
    return [as_text(flavor, "name") for flavor in as_list(group, "flavors")]


def _cohort(queue: Value) -> str:
    return as_text(queue, "spec", "cohortName") or as_text(queue, "spec", "cohort")


def _list_entries(queue: Value) -> Iterator[tuple[Key, Any]]:
    """What each flavor has of each resource, by the names of the two."""
    for group in as_list(queue, "spec", "resourceGroups"):
        for flavor in as_list(group, "flavors"):
            for entry in as_list(flavor, "resources"):
                yield (as_text(flavor, "name"), as_text(entry, "name")), entry


@once
def _find_roots(census: Census) -> Mapping[str, str]:
    """The cohort above all that a cohort belongs to, by name."""
    cohorts, roots = census.facts.by_name(_KUEUE, "Cohort"), dict[str, str]()
    for name in [*cohorts, *map(_cohort, census.facts.objects(_KUEUE, "ClusterQueue"))]:
        cohort, chain = name, []
        while cohort not in roots:
            roots[cohort] = cohort
            chain.append(cohort)
            spec = dig(cohorts.get(cohort), "spec")
            cohort = as_text(spec, "parentName") or as_text(spec, "parent") or cohort
        roots |= dict.fromkeys(chain, roots[cohort])
    return roots


def _list_loans(queue: Value) -> Iterator[tuple[Key, int]]:
    """What a queue or a cohort lends at most, by flavor and resource."""
    for key, entry in _list_entries(queue):
        limits = (parse_quantity(dig(entry, field)) for field in ("nominalQuota", "lendingLimit"))
        yield key, min((each for each in limits if each is not None), default=0)


@once
def _sum_loans(census: Census) -> Mapping[str, Mapping[Key, int]]:
    """What all queues and cohorts below the highest cohorts lend, by the name of that."""
    sums: dict[str, dict[Key, int]] = defaultdict(lambda: defaultdict(int))
    roots, queues = _find_roots(census), census.facts.by_name(_KUEUE, "ClusterQueue").values()
    for cohort, queue in [*census.facts.by_name(_KUEUE, "Cohort").items(), *((_cohort(each), each) for each in queues)]:
        for key, amount in _list_loans(queue) if cohort else ():
            sums[roots[cohort]][key] += amount
    return sums


def _list_lent(queue: Value, census: Census) -> dict[Key, int]:
    """What the other queues below its highest cohort, and the cohorts there, lend to a queue at most."""
    cohort = _cohort(queue)
    lent = dict(_sum_loans(census).get(_find_roots(census)[cohort], {})) if cohort else {}
    for key, amount in _list_loans(queue) if lent else ():
        lent[key] -= amount
    return lent


def _list_quota(queue: Value, lent: Mapping[Key, int] | None) -> dict[str, tuple[int, int]]:
    """The most that a queue gives of each resource: in one flavor, and in all; with what its cohort has `lent`. What
    it may borrow without a limit is left out where that is not known."""
    found = defaultdict(list)
    for key, entry in _list_entries(queue):
        amount, extra = (parse_quantity(dig(entry, field)) for field in ("nominalQuota", "borrowingLimit"))
        if not _cohort(queue):
            extra = 0
        elif lent is not None:
            there = lent.get(key, 0)
            extra = there if extra is None else min(extra, there)
        found[key[1]].append(None if amount is None or extra is None else amount + extra)
    limits = {name: [amount for amount in amounts if amount is not None] for name, amounts in found.items()}
    return {name: (max(limits[name]), sum(limits[name])) for name, amounts in found.items() if None not in amounts}
