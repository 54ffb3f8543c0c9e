"""Volcano: PodGroups and Jobs that never leave Pending, and native links on pods that Volcano schedules.

Source: volcano v1.15.1 `pkg/webhooks/admission/jobs/validate`, `pkg/controllers/job`, `pkg/scheduler/api/job_info.go`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from krmfn.capacity.pods import count_requests, list_needs, read_kinds, sum_least
from krmfn.capacity.quotas import counts, list_usage
from krmfn.checks.rule import Matches, rule, suggest, tell
from krmfn.krm.item import Item, Items
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.quantity import add, format_quantity
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.selectors import match_labels
from krmfn.model.values import Fields, Names, Value, as_count, as_int, as_list, as_mapping, as_text, dig, group_by
from krmfn.survey.census import Census, Template, count_pods, list_linked
from krmfn.survey.facts import Amounts, Resources, read_resources

_GROUP = "scheduling.volcano.sh"
_JOBS = "batch.volcano.sh"
#: The annotation with the task that a pod belongs to.
_TASK = "volcano.sh/task-spec"
_ROW = SCHEDULERS["Volcano"]
#: How much of the cluster, in percent, the plugin overcommit lets a PodGroup have.
_OVERCOMMIT = 120


@rule("volcano-queue-missing")
def find_queue_missing(census: Census) -> Matches:
    queues, complete = census.facts.queues, census.facts.complete_queues
    if queues is None:
        return
    known = {"", "default", *queues}
    queued: list[tuple[Item, Path]] = [(item, ("spec", "queue")) for item in _list_queued(census)]
    for item, path in (*queued, *_list_ray(census)):
        name = as_text(item.value, *path)
        if name not in known:
            end = "refuses the Job" if item.kind == "Job" else "refuses the PodGroup, or leaves it Pending"
            yield tell(item, path, name, error=complete, near=suggest(name, queues), end=end)


@rule("volcano-queue-closed")
def find_queue_closed(census: Census) -> Matches:
    for item in _list_queued(census):
        name = _name_queue(item)
        state = as_text((census.facts.queues or {}).get(name), "status", "state")
        if state in ("Closed", "Closing"):
            end = "Volcano refuses the Job" if item.kind == "Job" else "the PodGroup stays Pending"
            yield tell(item, ("spec", "queue"), name, state=state, end=end)


@rule("volcano-resources-above-queue", once=True)
def find_resources_above_queue(census: Census) -> Matches:
    for need in _list_needs(census) if census.facts.queues else ():
        for resource, (limit, says) in _find_limits(census, need.queue).items():
            wanted = need.amounts.get(resource, 0)
            if wanted > limit:
                yield tell(need.item, need.path, need.current, need=need, wanted=wanted, resource=resource, says=says)


@rule("volcano-resources-above-cluster")
def find_resources_above_cluster(census: Census) -> Matches:
    """Volcano compares minResources with more than the nodes have; pods that start need room on them."""
    if census.facts.nodes is None:
        return
    total = _sum_nodes(census)
    for need in _list_needs(census):
        percent, effect = 100, "no pod ever starts"
        if "minResources" in need.path:
            percent, effect = _OVERCOMMIT, need.effect
        above = [name for name, amount in need.amounts.items() if amount > total.get(name, 0) * percent // 100]
        if above and need.item.group != "ray.io":
            name = min(above)
            about: Fields = {"need": need, "name": name, "amount": need.amounts[name], "most": total.get(name, 0)}
            yield tell(need.item, need.path, need.current, effect=effect, **about)


class _Need(NamedTuple):
    """What has to be available before pods of an item start, by resource. For the message: `told` introduces the
    amount, `effect` is what happens without it, and `smaller` how to need less."""

    item: Item
    path: Path
    queue: str
    amounts: Resources
    told: str
    effect: str
    smaller: str
    current: Any = ABSENT


def _list_needs(census: Census) -> Iterator[_Need]:
    for item in census.kind(_GROUP, "PodGroup"):
        queue, effect, smaller = _name_queue(item), "the PodGroup stays Pending", "make the gang smaller"
        for name, amount in read_resources(dig(item.value, "spec", "minResources")).items():
            path = ("spec", "minResources", name)
            yield _Need(item, path, queue, {name: amount}, "minResources is", effect, smaller)
    for item, templates in _list_members(census):
        requests = ((each.pods, count_requests(each.spec)) for each in templates)
        yield _count_quorum(item, "minMember", requests, "no pod ever starts")
    # Volcano creates the PodGroup of a Job with what the pods of its quorum request. Which pods these are depends on
    # priorities: they request at least as much as the smallest.
    for item in census.kind(_JOBS, "Job"):
        requests = ((number or 0, requests) for number, requests in list_needs(census, item))
        yield _count_quorum(item, "minAvailable", requests, "the Job stays Pending")
    # KubeRay's plugin creates the PodGroup of a cluster with what all its pods request.
    for item, label in _list_ray(census):
        queue, total = item.labels.get(_ROW.queue, ""), Amounts()
        for number, amounts in list_needs(census, item) if queue else ():
            add(total, amounts, number or 0)
        effect = "the PodGroup that KubeRay creates stays Pending"
        yield _Need(item, label, queue, total, "its pods request", effect, "make the cluster smaller", queue)


def _count_quorum(item: Item, field: str, pods: Iterable[tuple[int | None, Resources]], effect: str) -> _Need:
    quorum = as_int(item.value, "spec", field) or 0
    told = f"the {quorum} pods that start together request at least"
    least = sum_least(pods, quorum)
    return _Need(item, ("spec", field), _name_queue(item), least, told, effect, f"lower {field}", quorum)


def _list_ray(census: Census) -> Iterator[tuple[Item, Path]]:
    """The objects that KubeRay creates PodGroups for, each with the path of the label that names their queue."""
    for kind in ("RayCluster", "RayJob"):
        yield from ((item, ("metadata", "labels", _ROW.queue)) for item in census.kind("ray.io", kind))


@rule("volcano-queue-refused")
def find_queue_refused(census: Census) -> Matches:
    """`guarantee` is at most `deserved`, which is at most `capability`; a resource is compared where both have it."""
    for item in census.kind(_GROUP, "Queue"):
        paths = ("spec", "guarantee", "resource"), ("spec", "deserved"), ("spec", "capability")
        amounts = [(path, read_resources(dig(item.value, *path))) for path in paths]
        for (path, less), (other, more) in combinations(amounts, 2):
            if wrong := next((name for name, amount in less.items() if amount > more.get(name, amount)), ""):
                amount, most = less[wrong], more[wrong]
                yield tell(item, (*path, wrong), less=path, amount=amount, wrong=wrong, other=other, most=most)
                break


@rule("volcano-queue-has-children")
def find_queue_has_children(census: Census) -> Matches:
    queues = census.facts.queues or {}
    children = group_by(lambda name: as_text(queues[name], "spec", "parent"), queues)
    for item in _list_queued(census):
        name = as_text(item.value, "spec", "queue")
        if name and name in children:
            yield tell(item, ("spec", "queue"), name, child=children[name][0])


@rule("volcano-job-linked")
def find_native_link(census: Census) -> Matches:
    for item in census.kind(_JOBS, "Job"):
        if link := next((each.link for each in census.templates_of(item) if each.link), None):
            yield tell(item, link.path, link.group)


@rule("volcano-job-never-whole")
def find_volcano_job_never_whole(census: Census) -> Matches:
    """minAvailable above all replicas, or above those of tasks that wait for no other."""
    for item in census.kind(_JOBS, "Job"):
        tasks = as_list(item.value, "spec", "tasks")
        pods = [as_int(task, "replicas") if "replicas" in as_mapping(task) else 1 for task in tasks]
        counted = [(task, number) for task, number in zip(tasks, pods, strict=True) if number is not None]
        if not tasks or len(counted) < len(tasks):
            continue
        for index, (task, number) in enumerate(counted):
            quorum = as_int(task, "minAvailable") or 0
            if quorum > number:
                place, name = ("spec", "tasks", index, "minAvailable"), as_text(task, "name")
                yield tell(item, place, quorum, case="task", text=name, number=number)
        total = sum(number for _, number in counted)
        late = [task for task in tasks if as_list(task, "dependsOn", "name")]
        first = sum(number for task, number in counted if task not in late)
        usual = sum(as_count(task, "minAvailable", default=number) for task, number in counted)
        given = as_int(item.value, "spec", "minAvailable")
        need = usual if given is None else given
        if need > total:
            yield tell(item, ("spec", "tasks" if given is None else "minAvailable"), given, need=need, total=total)
        elif late and need > first:
            waits, name = ("spec", "tasks", tasks.index(late[0]), "dependsOn"), as_text(late[0], "name")
            yield tell(item, waits, case="late", need=need, first=first, name=name)


@rule("volcano-job-above-quota")
def find_job_above_quota(census: Census) -> Matches:
    """All pods of tasks that wait for no other are created together, not only the quorum."""
    facts = census.facts
    for item in census.kind(_JOBS, "Job") if facts.quotas else ():
        free = [each for each in census.templates_of(item) if not dig(item.value, *each.path[:-1], "dependsOn")]
        kinds = read_kinds(free, facts)
        for quota in facts.quotas_within(item.space):
            usages = [(list_usage(kind, facts, claims=False), kind) for kind in kinds if counts(quota, kind, facts)]
            for name, hard in quota.hard.items():
                need = sum(usage.get(name, 0) * (kind.pods or 0) for usage, kind in usages)
                if need > hard:
                    yield tell(item, ("spec", "tasks"), need=need, name=name, quota=quota, hard=hard)
                    break


@rule("volcano-task-never-whole")
def find_task_never_whole(census: Census) -> Matches:
    """minTaskMember of a task is more than the pods that name the task. Volcano only looks at it where minMember is not
    less than all of them together."""
    for item, templates in _list_members(census):
        yield from _find_short_sub_groups(item, templates)
        tasks = as_mapping(item.value, "spec", "minTaskMember")
        members = {task: wanted for task, wanted in tasks.items() if isinstance(wanted, int)}
        if (as_int(item.value, "spec", "minMember") or 0) < sum(members.values()):
            continue
        pods = group_by(lambda template: as_text(template.metadata, "annotations", _TASK), templates)
        for task, wanted in members.items():
            exist = count_pods(pods.get(task, ()))
            if exist is not None and wanted > exist:
                yield tell(item, ("spec", "minTaskMember", task), wanted, task=task, exist=exist)


def _find_short_sub_groups(item: Item, templates: Sequence[Template]) -> Matches:
    """Policies that wait for more sub-groups than there are pods for. The first policy whose selector matches a pod
    puts it into a sub-group with the pods that have the same values of matchLabelKeys, if it has all of these labels.
    A controller may add them to the pods of a template."""
    policies = [as_mapping(each) for each in as_list(item.value, "spec", "subGroupPolicy")]
    found: list[Counter[Names]] = [Counter() for _ in policies]
    keys = [tuple(map(str, as_list(policy, "matchLabelKeys"))) for policy in policies]
    all_keys = {key for each in keys for key in each}
    for template in templates:
        labels = as_mapping(template.metadata, "labels")
        if template.pods is None or (template.item.kind != "Pod" and all_keys - labels.keys()):
            return
        for index, policy in enumerate(policies):
            values = tuple(as_text(labels.get(key)) for key in keys[index])
            selected = "labelSelector" not in policy or match_labels(policy["labelSelector"], labels)
            if values and all(values) and selected:
                found[index][values] += template.pods
                break
    for index, policy in enumerate(policies):
        least, size = as_int(policy, "minSubGroups") or 0, as_int(policy, "subGroupSize") or 1
        whole = sum(pods >= size for pods in found[index].values())
        if least > whole:
            path = ("spec", "subGroupPolicy", index, "minSubGroups")
            yield tell(item, path, least, case="parts", whole=whole, size=size)


def _list_queued(census: Census) -> Items:
    """The objects that name a queue in `spec.queue`."""
    return (*census.kind(_GROUP, "PodGroup"), *census.kind(_JOBS, "Job"))


def _name_queue(item: Item) -> str:
    return as_text(item.value, "spec", "queue") or "default"


def _list_members(census: Census) -> Iterator[tuple[Item, list[Template]]]:
    """The PodGroups that pods of the input name, each with the templates of these pods."""
    return ((item, templates) for item, templates in list_linked(census, _ROW) if templates)


def _find_limits(census: Census, name: str) -> Mapping[str, tuple[int, str]]:
    """How much of each resource a queue can ever have, and a clause that says why. A child can have what its parent
    can, except for what the parent's other children are guaranteed. Without a hierarchy, parents do not count: a queue
    can have what no other queue is guaranteed. Source: Volcano 1.15.1, plugins capacity and proportion."""
    queues, hierarchical = census.facts.queues or {}, _is_hierarchical(census)
    chain = []
    while name in queues and name not in chain and name != "root":
        chain.append(name)
        name = as_text(queues[name], "spec", "parent") if hierarchical is not False else ""
    limits = {}
    if hierarchical is False and census.facts.complete_queues and chain:
        total = _sum_nodes(census).items()
        limits = {each: (amount, f"all nodes have {format_quantity(amount)}") for each, amount in total}
        _keep_guaranteed(limits, [each for each in queues if each != chain[0]], queues)
    for place in reversed(chain):
        parent = as_text(queues[place], "spec", "parent")
        if limits and hierarchical is not False:
            children = [each for each in queues if as_text(queues[each], "spec", "parent") == parent]
            _keep_guaranteed(limits, [each for each in children if each != place], queues)
        for resource, amount in read_resources(dig(queues[place], "spec", "capability")).items():
            if not amount and resource in ("cpu", "memory"):
                continue  # of these, Volcano takes 0 for no limit
            if resource not in limits or amount < limits[resource][0]:
                limits[resource] = amount, f"the queue {place} has at most {format_quantity(amount)}"
    return limits


def _sum_nodes(census: Census) -> Amounts:
    total: Amounts = {}
    for node in census.facts.nodes or ():
        add(total, node.allocatable, node.number)
    return total


def _keep_guaranteed(limits: dict[str, tuple[int, str]], others: Iterable[str], queues: Mapping[str, Value]) -> None:
    """Takes from the limits what other queues are guaranteed."""
    guaranteed: Amounts = {}
    for each in others:
        add(guaranteed, read_resources(dig(queues[each], "spec", "guarantee", "resource")))
    for resource, amount in guaranteed.items():
        if resource in limits and amount:
            limit, says = limits[resource]
            says += f", of which other queues are guaranteed {format_quantity(amount)}"
            limits[resource] = max(limit - amount, 0), says


def _is_hierarchical(census: Census) -> bool | None:
    """Whether the scheduler's configuration in the facts lets queues have parents; None if that is unknown."""
    for config in census.facts.objects("", "ConfigMap"):
        text = as_text(config, "data", "volcano-scheduler.conf")
        if re.search(r"name: (capacity|proportion)\b", text):
            if re.search(r"name: capacity\s+enableHierarchy: true", text):
                return True
            return None if "enableHierarchy" in text else False
    return None
