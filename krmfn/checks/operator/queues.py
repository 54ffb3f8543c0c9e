"""Queues that are smaller than what has to be admitted at once, and gangs of other systems that can never be whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from krmfn.checks.rule import rule
from krmfn.checks.wording import suggest
from krmfn.model.findings import Finding
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM, KUEUE_QUEUE
from krmfn.model.quantity import format_quantity, parse_quantity
from krmfn.model.wording import count, join
from krmfn.survey.values import as_int, as_list, as_mapping, as_text, dig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from krmfn.config import Settings
    from krmfn.krm.item import Item
    from krmfn.krm.results import Severity
    from krmfn.survey.census import Census

_KUEUE: Final = "kueue.x-k8s.io"

Resources = Mapping[str, int]


@rule("kueue-queue-missing", "warning", "A resource names a LocalQueue of Kueue that its namespace does not have.")
def find_kueue_queue_missing(census: Census, _: Settings) -> Iterator[Finding]:
    """The namespace has other queues, or the facts list all of them: then it is an error."""
    known = [_name(value) for value in census.facts.objects(_KUEUE, "LocalQueue")]
    complete = census.facts.lists_all("LocalQueue")
    for item in _list_queued(census) if known else ():
        name = item.labels[KUEUE_QUEUE]
        here = [queue for space, queue in known if space == item.space]
        if name in here or not (here or complete):
            continue
        elsewhere = sorted(space for space, queue in known if queue == name)
        there = f": that of {join(elsewhere)} is for its own namespace" if elsewhere else suggest(name, here)
        message = f'there is no LocalQueue "{name}" in the namespace {item.space}{there}; Kueue never admits the pods'
        hint = f"Correct the label {KUEUE_QUEUE}, or add the LocalQueue to the namespace."
        severity: Severity | None = "error" if complete else None
        yield Finding(item, ("metadata", "labels", KUEUE_QUEUE), message, name, hint=hint, severity=severity)


@rule("kueue-queue-stopped", "warning", "A resource waits in a queue of Kueue that is stopped.")
def find_kueue_queue_stopped(census: Census, _: Settings) -> Iterator[Finding]:
    """The LocalQueue, or the ClusterQueue behind it, admits nothing."""
    local = {_name(value): value for value in census.facts.objects(_KUEUE, "LocalQueue")}
    whole = {_name(value)[1]: value for value in census.facts.objects(_KUEUE, "ClusterQueue")}
    for item in _list_queued(census) if local else ():
        name = item.labels[KUEUE_QUEUE]
        mine = local.get((item.space, name))
        behind = as_text(dig(mine, "spec", "clusterQueue"))
        for kind, label, queue in (("LocalQueue", name, mine), ("ClusterQueue", behind, whole.get(behind))):
            policy = as_text(dig(queue, "spec", "stopPolicy"))
            if policy in ("Hold", "HoldAndDrain"):
                message = f"the {kind} {label} is stopped (stopPolicy: {policy}): Kueue does not admit this {item.kind}"
                hint = f"Set stopPolicy: None in the {kind}, or use another queue."
                yield Finding(item, ("metadata", "labels", KUEUE_QUEUE), message, name, hint=hint)
                break


@rule("kueue-queue-too-small", "error", "A Kueue ClusterQueue has less quota than one workload needs.")
def find_kueue_queue_too_small(census: Census, _: Settings) -> Iterator[Finding]:
    """What Kueue never admits: more than nominal quota and borrowing give."""
    local = {_name(value): value for value in census.facts.objects(_KUEUE, "LocalQueue")}
    queues = {_name(value)[1]: value for value in census.facts.objects(_KUEUE, "ClusterQueue")}
    for item in census.objects if local and queues else ():
        name = item.labels.get(KUEUE_QUEUE, "")
        queue = as_text(dig(local.get((item.space, name)), "spec", "clusterQueue")) if name else ""
        if queue not in queues:
            continue
        sets = [(pods, requests) for pods, requests in list_needs(census, item) if pods is not None]
        for resource, (widest, total) in _list_quota(queues[queue]).items():
            needs = [pods * requests.get(resource, 10**9 if resource == "pods" else 0) for pods, requests in sets]
            if sum(needs) > total or max(needs, default=0) > widest:
                at_most = total if sum(needs) > total else widest
                where = "" if at_most == total else " in one flavor"
                message = (
                    f"the pods need {format_quantity(sum(needs))} {resource} at once, the ClusterQueue {queue} has at "
                    f"most {format_quantity(at_most)}{where}: Kueue never admits this {item.kind}"
                )
                hint = "Raise the queue's nominalQuota, let it borrow, or make the gang smaller."
                yield Finding(item, ("metadata", "labels", KUEUE_QUEUE), message, name, hint=hint)
                break


def _list_queued(census: Census) -> Iterator[Item]:
    """What makes pods and names a queue."""
    return (item for item in census.objects if item.labels.get(KUEUE_QUEUE) and census.templates_of(item))


def list_needs(census: Census, item: Item) -> Iterator[tuple[int | None, Resources]]:
    """The pods of each template that have to be admitted, and what one of them requests."""
    from krmfn.capacity.requests import count_requests

    least = parse_int(item.annotations.get(KUEUE_MINIMUM, ""))
    for template in census.templates_of(item):
        pods = template.pods
        if least is not None and pods is not None:
            pods = min(pods, least)
        yield pods, count_requests(template.spec, {})


def _name(value: Mapping[str, Any]) -> tuple[str, str]:
    space = as_text(dig(value, "metadata", "namespace")) or "default"
    return space, as_text(dig(value, "metadata", "name"))


def _list_quota(queue: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """The most that a queue gives of each resource: in one flavor, and in all. What it may borrow without a limit is
    left out."""
    spec = as_mapping(queue.get("spec"))
    borrows = bool(as_text(spec.get("cohort")) or as_text(spec.get("cohortName")))
    found: dict[str, list[int | None]] = {}
    for group in as_list(spec.get("resourceGroups")):
        for flavor in as_list(dig(group, "flavors")):
            for entry in as_list(dig(flavor, "resources")):
                amount = parse_quantity(dig(entry, "nominalQuota"))
                extra = parse_quantity(dig(entry, "borrowingLimit")) if borrows else 0
                whole = None if amount is None or extra is None else amount + extra
                found.setdefault(as_text(dig(entry, "name")), []).append(whole)
    limits = {name: [amount for amount in amounts if amount is not None] for name, amounts in found.items()}
    return {name: (max(limits[name]), sum(limits[name])) for name, amounts in found.items() if None not in amounts}


@rule("volcano-job-never-whole", "error", "A Volcano Job requires more pods (minAvailable) than are created at once.")
def find_volcano_job_never_whole(census: Census, _: Settings) -> Iterator[Finding]:
    """minAvailable above all replicas, or above those of tasks that wait for no other."""
    for item in census.kind("batch.volcano.sh", "Job"):
        tasks = as_list(dig(item.value, "spec", "tasks"))
        pods = [as_int(dig(task, "replicas")) if "replicas" in as_mapping(task) else 1 for task in tasks]
        if not tasks or any(number is None for number in pods):
            continue
        total = sum(number or 0 for number in pods)
        late = [task for task in tasks if as_list(dig(task, "dependsOn", "name"))]
        first = sum(number or 0 for task, number in zip(tasks, pods, strict=True) if task not in late)
        given = as_int(dig(item.value, "spec", "minAvailable"))
        least = [as_int(dig(task, "minAvailable")) for task in tasks]
        usual = sum(number if number is not None else (own or 0) for number, own in zip(least, pods, strict=True))
        need = given if given is not None else usual
        path = ("spec", "minAvailable") if given is not None else ("spec", "tasks")
        if need > total:
            message = f"minAvailable is {need}, and the tasks make {count(total, 'pod')}: Volcano refuses the Job"
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
