"""Volcano: PodGroups and Jobs that never leave Pending, and native links on pods that Volcano schedules.

Source: volcano v1.14.0 `pkg/webhooks/admission/jobs/validate`, `pkg/controllers/job`, `pkg/scheduler/api/job_info.go`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final, NamedTuple

from krmfn.checks.operator.queues import list_needs
from krmfn.checks.rule import rule
from krmfn.checks.wording import suggest
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding
from krmfn.model.quantity import add, format_quantity
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count
from krmfn.survey.census import Census
from krmfn.survey.facts import read_resources

_GROUP: Final = "scheduling.volcano.sh"
_JOBS: Final = "batch.volcano.sh"
#: The annotation that says of which task a pod is.
_TASK: Final = "volcano.sh/task-spec"
#: KubeRay writes this label as the queue of the PodGroup that it makes.
_QUEUE: Final = SCHEDULERS["Volcano"].queue
_RAY_KINDS: Final = ("RayCluster", "RayJob")


@rule(
    "volcano-queue-missing", "warning", "A PodGroup, Job or RayCluster for Volcano names a queue that does not exist."
)
def find_queue_missing(census: Census, _: Settings) -> Iterator[Finding]:
    queues = census.facts.queues
    of_ray = [(item, ("metadata", "labels", _QUEUE)) for kind in _RAY_KINDS for item in census.kind("ray.io", kind)]
    for item, path in (*((item, ("spec", "queue")) for item in _list_queued(census)), *of_ray):
        name = as_text(dig(item.value, *path)) or "default"
        if queues is None or name in queues or name == "default":
            continue
        end = "refuses the Job" if item.kind == "Job" else "refuses the PodGroup, or leaves it Pending"
        message = f'there is no queue "{name}"{suggest(name, queues)}: Volcano {end}'
        hint = "Add the Queue, or list the queues of the cluster under cluster.queues."
        yield Finding(
            item,
            path,
            message,
            name,
            hint=hint,
            severity="error" if census.facts.complete_queues else None,
        )


@rule("volcano-queue-closed", "error", "A PodGroup or Job of Volcano names a queue that is closed.")
def find_queue_closed(census: Census, _: Settings) -> Iterator[Finding]:
    for item in _list_queued(census):
        name = as_text(dig(item.value, "spec", "queue")) or "default"
        state = as_text(dig((census.facts.queues or {}).get(name), "status", "state"))
        if state in ("Closed", "Closing"):
            end = "Volcano refuses the Job" if item.kind == "Job" else "the PodGroup stays Pending"
            message = f"the queue {name} is {state}: {end}"
            hint = "Open the queue, or use another one."
            yield Finding(item, ("spec", "queue"), message, name, hint=hint)


class _Need(NamedTuple):
    """What has to be there before pods of an item start, by resource. `told` says whose it is, `effect` what becomes of
    the item without, `smaller` how it needs less."""

    item: Item
    path: Path
    queue: str
    amounts: Mapping[str, int]
    told: str
    effect: str
    smaller: str
    current: Any = ABSENT


@rule("volcano-resources-above-queue", "error", "A PodGroup or Job of Volcano needs more than its queue can ever give.")
def find_resources_above_queue(census: Census, _: Settings) -> Iterator[Finding]:
    for need in _list_needs(census) if census.facts.queues else ():
        for resource, (limit, name) in _capability(census, need.queue).items():
            wanted = need.amounts.get(resource, 0)
            # A capability of 0 is no limit for cpu and memory.
            if wanted > limit and (limit > 0 or resource not in ("cpu", "memory")):
                message = (
                    f"{need.told} {format_quantity(wanted)} {resource}, but the queue {name} has at most "
                    f"{format_quantity(limit)}: {need.effect}"
                )
                hint = f"Raise the queue's capability, or {need.smaller}."
                yield Finding(need.item, need.path, message, need.current, hint=hint)
                break


@rule("volcano-resources-above-cluster", "error", "A PodGroup or Job of Volcano needs more than all nodes have.")
def find_resources_above_cluster(census: Census, _: Settings) -> Iterator[Finding]:
    """With Volcano's overcommit factor, by which it judges a PodGroup; the pods of a Job have to have their nodes."""
    total: dict[str, int] = {}
    for node in census.facts.nodes or ():
        add(total, node.allocatable, node.number)
    for need in _list_needs(census) if census.facts.nodes is not None else ():
        percent, effect = (100, "no pod ever starts") if need.item.kind == "Job" else (120, need.effect)
        lacking = [name for name, amount in need.amounts.items() if amount > total.get(name, 0) * percent // 100]
        if lacking and need.item.ref.group != "ray.io":
            name = min(lacking)
            message = (
                f"{need.told} {format_quantity(need.amounts[name])} {name}, but all nodes have "
                f"{format_quantity(total.get(name, 0))}: {effect}"
            )
            yield Finding(need.item, need.path, message, need.current, hint=f"Add nodes, or {need.smaller}.")


def _list_needs(census: Census) -> Iterator[_Need]:
    for item in census.kind(_GROUP, "PodGroup"):
        queue = as_text(dig(item.value, "spec", "queue")) or "default"
        for name, amount in read_resources(dig(item.value, "spec", "minResources")).items():
            path, effect = ("spec", "minResources", name), "the PodGroup stays Pending"
            yield _Need(item, path, queue, {name: amount}, "minResources is", effect, "make the gang smaller")
    # Volcano makes the PodGroup of a Job with what the pods of its quorum request. Which pods these are depends on
    # priorities: they request at least as much as the smallest.
    for item in census.kind(_JOBS, "Job"):
        queue = as_text(dig(item.value, "spec", "queue")) or "default"
        quorum = as_int(dig(item.value, "spec", "minAvailable")) or 0
        pods = [(number or 0, requests) for number, requests in list_needs(census, item)]
        names = dict.fromkeys(name for _, requests in pods for name in requests)
        least = {name: _add_smallest(((each.get(name, 0), number) for number, each in pods), quorum) for name in names}
        told, effect = f"the {quorum} pods that start together request at least", "the Job stays Pending"
        yield _Need(item, ("spec", "minAvailable"), queue, least, told, effect, "lower minAvailable", quorum)
    # KubeRay's plugin makes the PodGroup of a cluster with what all its pods request.
    for item in (item for kind in _RAY_KINDS for item in census.kind("ray.io", kind)):
        queue = item.labels.get(_QUEUE, "")
        total: dict[str, int] = {}
        for number, requests in list_needs(census, item) if queue else ():
            add(total, requests, number or 0)
        effect, smaller = "the PodGroup that KubeRay creates stays Pending", "make the cluster smaller"
        yield _Need(item, ("metadata", "labels", _QUEUE), queue, total, "its pods request", effect, smaller, queue)


def _add_smallest(amounts: Iterable[tuple[int, int]], quorum: int) -> int:
    """The sum of the `quorum` smallest amounts, each of which is there a number of times.

    >>> _add_smallest([(5, 1), (1, 2)], 3)
    7
    """
    total = 0
    for amount, number in sorted(amounts):
        taken = min(number, quorum)
        total, quorum = total + amount * taken, quorum - taken
    return total


@rule("volcano-queue-refused", "error", "The resources of a Volcano Queue contradict each other.")
def find_queue_refused(census: Census, _: Settings) -> Iterator[Finding]:
    """The guarantee is at most what is deserved, and that at most the capability; one that is empty is not compared."""
    for item in census.kind(_GROUP, "Queue"):
        paths = ("spec", "guarantee", "resource"), ("spec", "deserved"), ("spec", "capability")
        amounts = [(path, read_resources(dig(item.value, *path))) for path in paths]
        for (path, less), (other, more) in combinations(amounts, 2):
            wrong = next((name for name, amount in less.items() if name in more and amount > more[name]), "")
            if wrong:
                message = (
                    f"{path[1]} is {format_quantity(less[wrong])} {wrong}, {other[1]} only "
                    f"{format_quantity(more[wrong])}: the webhook of Volcano refuses the Queue"
                )
                hint = "Set guarantee to at most deserved, and deserved to at most capability."
                yield Finding(item, (*path, wrong), message, hint=hint)
                break


@rule("volcano-queue-has-children", "warning", "A PodGroup or Job of Volcano names a queue that has child queues.")
def find_queue_has_children(census: Census, _: Settings) -> Iterator[Finding]:
    queues = census.facts.queues or {}
    children: dict[str, str] = {}
    for name, queue in queues.items():
        children.setdefault(as_text(dig(queue, "spec", "parent")), name)
    for item in _list_queued(census):
        name = as_text(dig(item.value, "spec", "queue"))
        if name in children and name:
            message = (
                f"the queue {name} has the child {children[name]}: with hierarchical queues it accepts no "
                f"{item.kind}s itself"
            )
            hint = "Use a queue without children."
            yield Finding(item, ("spec", "queue"), message, name, hint=hint)


@rule("volcano-job-linked", "warning", "A Volcano Job links to a native group.")
def find_native_link(census: Census, _: Settings) -> Iterator[Finding]:
    for item in census.kind(_JOBS, "Job"):
        template = next((one for one in census.templates_of(item) if one.link), None)
        if template is not None and template.link is not None:
            message = f"Volcano schedules this Job as a gang itself and ignores the group {template.link.group}"
            hint = "Remove the link and the group."
            yield Finding(item, template.link.path, message, template.link.group, hint=hint)


@rule("volcano-job-never-whole", "error", "A Volcano Job requires more pods (minAvailable) than are created at once.")
def find_volcano_job_never_whole(census: Census, _: Settings) -> Iterator[Finding]:
    """minAvailable above all replicas, or above those of tasks that wait for no other."""
    for item in census.kind(_JOBS, "Job"):
        tasks = as_list(dig(item.value, "spec", "tasks"))
        pods = [as_int(dig(task, "replicas")) if "replicas" in as_mapping(task) else 1 for task in tasks]
        if not tasks or any(number is None for number in pods):
            continue
        for index, (task, number) in enumerate(zip(tasks, pods, strict=True)):
            asked = as_int(dig(task, "minAvailable")) or 0
            if asked > (number or 0):
                message = f"minAvailable of the task {as_text(dig(task, 'name'))} is {asked}, but it has only "
                message += f"{count(number or 0, 'pod')}: Volcano refuses the Job"
                place = ("spec", "tasks", index, "minAvailable")
                yield Finding(item, place, message, asked, hint=f"Set minAvailable to at most {number}.")
        total = sum(number or 0 for number in pods)
        late = [task for task in tasks if as_list(dig(task, "dependsOn", "name"))]
        first = sum(number or 0 for task, number in zip(tasks, pods, strict=True) if task not in late)
        given = as_int(dig(item.value, "spec", "minAvailable"))
        least = [as_int(dig(task, "minAvailable")) for task in tasks]
        usual = sum(number if number is not None else (own or 0) for number, own in zip(least, pods, strict=True))
        need = given if given is not None else usual
        path = ("spec", "minAvailable") if given is not None else ("spec", "tasks")
        if need > total:
            message = f"minAvailable is {need}, but the tasks have only {count(total, 'pod')}: Volcano refuses the Job"
            hint = f"Set minAvailable to at most {total}."
            yield Finding(item, path, message, given, hint=hint)
        elif late and need > first:
            name = as_text(dig(late[0], "name"))
            message = (
                f"the gang needs {need} pods, and only {first} are created before the task {name}, which waits until "
                "others run: no pod ever starts"
            )
            hint = f"Set minAvailable to at most {first}, or remove dependsOn."
            yield Finding(item, ("spec", "tasks", tasks.index(late[0]), "dependsOn"), message, hint=hint)


@rule("volcano-job-above-quota", "warning", "A Volcano Job creates more pods than a ResourceQuota allows.")
def find_job_above_quota(census: Census, _: Settings) -> Iterator[Finding]:
    """All pods of tasks that wait for no other are created together, not only the quorum."""
    facts = census.facts
    for item in census.kind(_JOBS, "Job") if facts.quotas else ():
        from krmfn.capacity.admission import counts, list_usage
        from krmfn.capacity.pods import read_kinds

        free = [each for each in census.templates_of(item) if not dig(item.value, *each.path[:-1], "dependsOn")]
        kinds = read_kinds(free, facts)
        for quota in facts.quotas_within(item.space):
            usages = [(list_usage(kind, facts, claims=False), kind) for kind in kinds if counts(quota, kind, facts)]
            for name, hard in quota.hard.items():
                need = sum(usage.get(name, 0) * (kind.pods or 0) for usage, kind in usages)
                if need > hard:
                    message = (
                        f"Volcano creates all pods of the Job at once: {format_quantity(need)} {name}, and the "
                        f"ResourceQuota {quota.name} allows {format_quantity(hard)}: Volcano tries again, then "
                        "terminates the Job"
                    )
                    hint = "Raise the quota, lower the replicas, or use the capability of a queue, where the Job waits."
                    yield Finding(item, ("spec", "tasks"), message, hint=hint)
                    break


@rule("volcano-task-never-whole", "error", "A Volcano PodGroup waits for more pods of a task than can exist.")
def find_task_never_whole(census: Census, _: Settings) -> Iterator[Finding]:
    """minTaskMember of a task is more than the pods that name the task. Volcano only looks at it where minMember is not
    less than all of them together."""
    row = SCHEDULERS["Volcano"]
    for item in census.kind(_GROUP, "PodGroup"):
        tasks = as_mapping(dig(item.value, "spec", "minTaskMember"))
        members = {task: wanted for task, wanted in tasks.items() if isinstance(wanted, int)}
        if (as_int(dig(item.value, "spec", "minMember")) or 0) < sum(members.values()):
            continue
        pods: dict[str, int | None] = {}
        for template in census.templates:
            words = as_mapping(template.metadata.get(row.link[0]))
            if template.item.space == item.space and words.get(row.link[1]) == item.name and template.pods != 0:
                task, known = as_text(words.get(_TASK)), template.pods
                before = pods.get(task, 0)
                pods[task] = None if known is None or before is None else before + known
        for task, wanted in members.items() if pods else ():
            exist = pods.get(task, 0)
            if exist is not None and wanted > exist:
                message = (
                    f"minTaskMember of the task {task} is {wanted}, but only {count(exist, 'pod')} of this task can "
                    "exist: no pod of the group is ever scheduled"
                )
                hint = f"Correct minTaskMember, or the annotation {_TASK} of the pods."
                yield Finding(item, ("spec", "minTaskMember", task), message, wanted, hint=hint)


def _list_queued(census: Census) -> Iterator[Item]:
    """What names a queue in `spec.queue`."""
    yield from census.kind(_GROUP, "PodGroup")
    yield from census.kind(_JOBS, "Job")


def _capability(census: Census, name: str) -> Mapping[str, tuple[int, str]]:
    """What a queue can give of each resource at most, and the name of the queue that says so: itself or one above."""
    queues = census.facts.queues or {}
    seen: set[str] = set()
    least: dict[str, tuple[int, str]] = {}
    while name in queues and name not in seen:
        seen.add(name)
        for resource, amount in read_resources(dig(queues[name], "spec", "capability")).items():
            if resource not in least or amount < least[resource][0]:
                least[resource] = amount, name
        name = as_text(dig(queues[name], "spec", "parent"))
    return least
