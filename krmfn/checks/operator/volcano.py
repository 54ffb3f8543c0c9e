"""Volcano: PodGroups that never leave Pending, and native links on pods that Volcano schedules."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.operator.queues import list_needs
from krmfn.checks.rule import rule
from krmfn.checks.wording import suggest
from krmfn.model.findings import Finding
from krmfn.model.quantity import format_quantity
from krmfn.model.schedulers import SCHEDULERS
from krmfn.survey.facts import read_resources
from krmfn.survey.values import as_text, dig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from krmfn.config import Settings
    from krmfn.survey.census import Census
    from krmfn.survey.facts import Resources

_GROUP: Final = "scheduling.volcano.sh"
_QUEUE: Final = SCHEDULERS["Volcano"].queue


@rule("volcano-queue-missing", "warning", "A Volcano PodGroup names a queue that does not exist.")
def find_queue_missing(census: Census, _: Settings) -> Iterator[Finding]:
    """The queue is not among those that are known."""
    queues = census.facts.queues
    for item in census.kind(_GROUP, "PodGroup"):
        name = as_text(dig(item.value, "spec", "queue")) or "default"
        if queues is None or name in queues or name == "default":
            continue
        message = (
            f'there is no queue "{name}"{suggest(name, queues)}: Volcano refuses the PodGroup, or leaves it Pending'
        )
        hint = "Add the Queue, or list the queues of the cluster under cluster.queues."
        yield Finding(
            item,
            ("spec", "queue"),
            message,
            name,
            hint=hint,
            severity="error" if census.facts.complete_queues else None,
        )


@rule("volcano-queue-closed", "error", "A Volcano PodGroup names a queue that is closed.")
def find_queue_closed(census: Census, _: Settings) -> Iterator[Finding]:
    """The queue takes no work."""
    for item in census.kind(_GROUP, "PodGroup"):
        name = as_text(dig(item.value, "spec", "queue")) or "default"
        state = as_text(dig((census.facts.queues or {}).get(name), "status", "state"))
        if state in ("Closed", "Closing"):
            message = f"the queue {name} is {state}: the PodGroup stays Pending"
            hint = "Open the queue, or use another one."
            yield Finding(item, ("spec", "queue"), message, name, hint=hint)


@rule(
    "volcano-resources-above-queue",
    "error",
    ("minResources of a Volcano PodGroup exceeds the capability of its queue."),
)
def find_resources_above_queue(census: Census, _: Settings) -> Iterator[Finding]:
    """minResources is more than the queue can ever give."""
    for item in census.kind(_GROUP, "PodGroup"):
        name, capability = _capability(census, as_text(dig(item.value, "spec", "queue")) or "default")
        for resource, wanted in read_resources(dig(item.value, "spec", "minResources")).items():
            limit = capability.get(resource)
            unlimited = limit is None or (limit <= 0 and resource in ("cpu", "memory"))
            if wanted > 0 and not unlimited and limit is not None and wanted > limit:
                message = (
                    f"minResources is {format_quantity(wanted)} {resource}, but the queue {name} has at most "
                    f"{format_quantity(limit)}: the PodGroup stays Pending"
                )
                hint = "Raise the queue's capability, or make the gang smaller."
                path = ("spec", "minResources", resource)
                yield Finding(item, path, message, hint=hint)
    yield from _find_ray_above_queue(census)


def _find_ray_above_queue(census: Census) -> Iterator[Finding]:
    """KubeRay's plugin makes the PodGroup of a Ray cluster with what all its pods request."""
    for kind in ("RayCluster", "RayJob"):
        for item in census.kind("ray.io", kind):
            queue = item.labels.get(_QUEUE, "")
            name, capability = _capability(census, queue) if queue else ("", {})
            needs: dict[str, int] = {}
            for pods, requests in list_needs(census, item) if capability else ():
                for resource, amount in requests.items():
                    needs[resource] = needs.get(resource, 0) + amount * (pods or 0)
            for resource, limit in capability.items():
                if needs.get(resource, 0) > limit and (limit > 0 or resource not in ("cpu", "memory")):
                    message = (
                        f"its pods request {format_quantity(needs[resource])} {resource}, the queue {name} has at most "
                        f"{format_quantity(limit)}: the PodGroup that KubeRay creates stays Pending"
                    )
                    hint = "Raise the queue's capability, or make the cluster smaller."
                    yield Finding(item, ("metadata", "labels", _QUEUE), message, queue, hint=hint)
                    break


@rule("volcano-queue-has-children", "warning", "A Volcano PodGroup names a queue that has child queues.")
def find_queue_has_children(census: Census, _: Settings) -> Iterator[Finding]:
    """The queue is the parent of another one."""
    queues = census.facts.queues or {}
    children: dict[str, str] = {}
    for name, queue in queues.items():
        children.setdefault(as_text(dig(queue, "spec", "parent")), name)
    for item in census.kind(_GROUP, "PodGroup"):
        name = as_text(dig(item.value, "spec", "queue"))
        if name in children and name:
            message = (
                f"the queue {name} has the child {children[name]}: with hierarchical queues it accepts no "
                "PodGroups itself"
            )
            hint = "Use a queue without children."
            yield Finding(item, ("spec", "queue"), message, name, hint=hint)


@rule(
    "volcano-resources-above-cluster", "error", "minResources of a Volcano PodGroup exceeds the resources of all nodes."
)
def find_resources_above_cluster(census: Census, _: Settings) -> Iterator[Finding]:
    """minResources is more than the nodes have, with Volcano's overcommit factor."""
    if census.facts.nodes is None:
        return
    total: dict[str, int] = {}
    for node in census.facts.nodes:
        for resource, amount in node.allocatable.items():
            total[resource] = total.get(resource, 0) + amount
    for item in census.kind(_GROUP, "PodGroup"):
        for resource, wanted in read_resources(dig(item.value, "spec", "minResources")).items():
            room = total.get(resource, 0) * 12 // 10
            if wanted > room:
                message = (
                    f"minResources is {format_quantity(wanted)} {resource}, but all nodes have "
                    f"{format_quantity(total.get(resource, 0))}: the PodGroup stays Pending"
                )
                hint = "Add nodes, or make the gang smaller."
                path = ("spec", "minResources", resource)
                yield Finding(item, path, message, hint=hint)


@rule("volcano-job-linked", "warning", "A Volcano Job links to a native group.")
def find_native_link(census: Census, _: Settings) -> Iterator[Finding]:
    """A Volcano Job with a native link: Volcano makes its own group."""
    for item in census.kind("batch.volcano.sh", "Job"):
        template = next((one for one in census.templates_of(item) if one.link), None)
        if template is not None and template.link is not None:
            message = f"Volcano schedules this Job as a gang itself and ignores the group {template.link.group}"
            hint = "Remove the link and the group."
            yield Finding(item, template.link.path, message, template.link.group, hint=hint)


def _capability(census: Census, name: str) -> tuple[str, Resources]:
    """The capability that counts for a queue: its own, or that of the nearest queue above it that has one."""
    queues = census.facts.queues or {}
    seen: set[str] = set()
    above = name
    while above in queues and above not in seen:
        seen.add(above)
        capability = read_resources(dig(queues[above], "spec", "capability"))
        if capability:
            return above, capability
        above = as_text(dig(queues[above], "spec", "parent"))
    return name, {}
