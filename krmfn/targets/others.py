"""What the targets for schedulers with PodGroups of their own share: links, queues, and what such groups lack."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from krmfn.config.settings import Settings
from krmfn.krm.paths import dig
from krmfn.model.findings import Note, NoteTuple
from krmfn.model.rules import tell
from krmfn.model.schedulers import SCHEDULERS, Scheduler
from krmfn.model.tree import Gang, Leaf
from krmfn.model.values import Fields
from krmfn.targets.emission import Emission, Link, agree, blame, check_quorums, describe
from krmfn.targets.layout import Layouts, PlacedGroup, walk
from krmfn.targets.requests import sum_requests


def least(node: PlacedGroup) -> int:
    """How many pods of the group have to start together; one of a group without quorum."""
    return (node.group.min_count or 1) if isinstance(node.group, Leaf) else 0


def describe_least(gang: Gang, nodes: Iterable[PlacedGroup]) -> Fields:
    """How many pods have to start together, and what they request, where that can be told."""
    counted = [(node.group, least(node)) for node in nodes if isinstance(node.group, Leaf)]
    resources = sum_requests(gang, counted)
    minimum: Fields = {"minMember": sum(pods for _, pods in counted)}
    return minimum | ({"minResources": resources} if resources else {})


def _write_links(gang: Gang, row: Scheduler, nodes: Iterable[PlacedGroup], beside: Iterable[str]) -> Iterator[Link]:
    """From every pod template to the group, and the scheduler's name. `beside` are the values that stand beside the
    link, in the order of the row; `*` in them stands for the name of the group in its tree."""
    values = tuple(zip(row.beside, beside, strict=False))
    for node in nodes:
        for template in node.group.templates if isinstance(node.group, Leaf) else ():
            metadata = template.metadata_path
            yield Link(template.owner, (*metadata, *row.link), gang.name)
            for place, value in values:
                if value:
                    yield Link(template.owner, (*metadata, *place), node.template if value == "*" else value)
            yield Link(template.owner, (*template.spec_path, "schedulerName"), row.name)


def finish(
    gang: Gang,
    settings: Settings,
    spec: Fields,
    more: Fields,
    layouts: Layouts,
    notes: Iterable[Note] = (),
    lost: Iterable[str] = (),
    beside: Iterable[str] = (),
    labels: Mapping[str, str] | None = None,
) -> Emission:
    """The PodGroup with this `spec`, the queue and the priority class of its pods, and what `more` says; the links of
    the groups in `layouts` to it, and the `notes` among those of all targets, also about topology keys that are
    `lost`."""
    row = SCHEDULERS[settings.scheduler]
    agreed = agree(gang, settings, row.name)
    told = [*agreed.notes]
    if agreed.scheduler not in ("", row.name):
        told.append(tell("scheduler-not-chosen", (), "", agreed.scheduler, row.name, scheduler=settings.scheduler))
    queue, queue_notes = _find_queue(gang, row)
    told += (*queue_notes, *check_quorums(*layouts), *notes)
    if keys := sorted({*lost} - {""}):
        told.append(tell("topology-lost", (), settings.scheduler, keys[0], None, keys=", ".join(keys)))
    nodes = list(walk(*layouts))
    if any(group.disruption_mode for group in (gang.root, *(node.group for node in nodes))):
        told.append(tell("disruption-mode-lost", (), "other", scheduler=settings.scheduler))
    spec |= {"queue": queue} if queue else {}
    if agreed.priority_class and "priorityClassName" in row.writes:
        spec["priorityClassName"] = agreed.priority_class
    group = describe(row.api_version, "PodGroup", gang.name, gang, spec | more)
    group["metadata"]["labels"] |= labels or {}
    return blame(Emission((group,), tuple(_write_links(gang, row, nodes, beside)), tuple(told)))


def _find_queue(gang: Gang, row: Scheduler) -> tuple[str, NoteTuple]:
    """The queue that the owners' labels name. Owners without one follow the others."""
    queues = {
        str(queue): index
        for index, value in enumerate(gang.values)
        if (queue := dig(value, "metadata", "labels", row.queue))
    }
    if len(queues) < 2:
        return next(iter(queues), ""), ()
    (first, one), (second, other), *_ = queues.items()
    own, others = gang.owners[one], gang.owners[other]
    return "", (tell("queue-not-shared", (), "", first, second, one=own, other=others, label=row.queue),)


def find_first(gang: Gang, part: str, key: str) -> str:
    """The first value that an owner has for a label or an annotation."""
    return next((str(found) for value in gang.values if (found := dig(value, "metadata", part, key))), "")
