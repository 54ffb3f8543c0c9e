"""PodGroups of other schedulers: what the targets for Volcano, scheduler-plugins and KAI share."""

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


def find_min_member(node: PlacedGroup) -> int:
    """How many pods of the group have to start together: one of a leaf without a quorum, 0 of a composite group."""
    return (node.group.min_count or 1) if isinstance(node.group, Leaf) else 0


def describe_minimum(gang: Gang, nodes: Iterable[PlacedGroup]) -> Fields:
    """`minMember` over the leaves among `nodes`, and `minResources` where all of these pods' requests are known."""
    counted = [(node.group, find_min_member(node)) for node in nodes if isinstance(node.group, Leaf)]
    resources = sum_requests(gang, counted)
    minimum: Fields = {"minMember": sum(pods for _, pods in counted)}
    return minimum | ({"minResources": resources} if resources else {})


def emit_pod_group(
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
    """The PodGroup of a gang, with `labels`, and the links of the groups in `layouts` to it; notes alone on errors.

    Its spec is `spec`, the queue and the priority class of its pods, and `more`. `beside` are the values that stand
    beside a link, in the order of the scheduler's row; `*` in them is the name of the group in its tree. `notes` join
    those about what pods do not agree on and what the scheduler lacks: also the topology keys that are `lost`.
    """
    row = SCHEDULERS[settings.scheduler]
    agreed = agree(gang, settings, row.name)
    told = [*agreed.notes]
    if agreed.scheduler not in ("", row.name):
        told.append(tell("scheduler-not-chosen", (), "", agreed.scheduler, row.name, scheduler=settings.scheduler))
    queue, queue_notes = _find_queue(gang, row)
    told += (*queue_notes, *check_quorums(*layouts), *notes)
    keys = sorted({key for key in lost if key})
    if keys:
        told.append(tell("topology-lost", (), settings.scheduler, keys[0], None, keys=", ".join(keys)))
    nodes = list(walk(*layouts))
    if any(group.disruption_mode for group in (gang.root, *(node.group for node in nodes))):
        told.append(tell("disruption-mode-lost", (), "other", scheduler=settings.scheduler))
    if queue:
        spec["queue"] = queue
    if agreed.priority_class and "priorityClassName" in row.writes:
        spec["priorityClassName"] = agreed.priority_class
    group = describe(row.api_version, "PodGroup", gang.name, gang, spec | more)
    group["metadata"]["labels"] |= labels or {}
    return blame(Emission((group,), tuple(_write_links(gang, row, nodes, beside)), tuple(told)))


def _find_queue(gang: Gang, row: Scheduler) -> tuple[str, NoteTuple]:
    """The queue that the owners' labels name, and a note where they name several. Those without one follow the rest."""
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


def _write_links(gang: Gang, row: Scheduler, nodes: Iterable[PlacedGroup], beside: Iterable[str]) -> Iterator[Link]:
    """From every pod template to the group, with the values beside it, and the scheduler's name."""
    values = [(place, value) for place, value in zip(row.beside, beside, strict=False) if value]
    for node in nodes:
        if not isinstance(node.group, Leaf):
            continue
        for template in node.group.templates:
            metadata = template.metadata_path
            yield Link(template.owner, (*metadata, *row.link), gang.name)
            for place, value in values:
                yield Link(template.owner, (*metadata, *place), node.template if value == "*" else value)
            yield Link(template.owner, (*template.spec_path, "schedulerName"), row.name)


def find_first(gang: Gang, part: str, key: str) -> str:
    """The first value that an owner has for a key of its `labels` or `annotations`, as `part` says."""
    return next((str(found) for value in gang.values if (found := dig(value, "metadata", part, key))), "")
