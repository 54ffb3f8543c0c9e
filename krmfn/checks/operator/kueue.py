"""Kueue beside native groups: two systems that both decide when pods start."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import name_all
from krmfn.config import Settings
from krmfn.krm.types import Final
from krmfn.model.findings import Finding
from krmfn.model.gotext import parse_int
from krmfn.model.marks import KUEUE_MINIMUM, KUEUE_QUEUE
from krmfn.survey.census import Census
from krmfn.survey.values import as_mapping

#: Kinds of which Kueue makes several workloads (pkg/controller/jobs): the pods of a Deployment get no pod group.
_PARTS: Final = {"LeaderWorkerSet": "group by group", "Deployment": "pod by pod"}
_TOPOLOGY: Final = ("kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology")


@rule("kueue-partial-admission", "warning", "Kueue may admit fewer pods than minCount.")
def find_partial_admission(census: Census, _: Settings) -> Iterator[Finding]:
    """Kueue may lower parallelism, minCount stays."""
    for gang in census.gangs if census.has_text(KUEUE_MINIMUM) else ():
        for owner in gang.owners:
            if KUEUE_MINIMUM in owner.annotations and gang.group.quorum is not None:
                least = owner.annotations[KUEUE_MINIMUM]
                if (parse_int(least) or 0) >= gang.group.quorum:
                    continue
                message = (
                    f"Kueue may admit this {owner.kind} with {least} pods, but {gang.group.counted} of "
                    f"{gang.group.name} is {gang.group.quorum}: then no pod is ever scheduled"
                )
                hint = f"Set {gang.group.counted} to at most {least}, or remove the annotation."
                path = ("metadata", "annotations", KUEUE_MINIMUM)
                yield Finding(owner, path, message, least, hint=hint)


@rule("kueue-several-workloads", "warning", "One gang consists of several Kueue workloads.")
def find_several_workloads(census: Census, _: Settings) -> Iterator[Finding]:
    """One gang over objects that Kueue admits one by one."""
    for gang in census.gangs if census.has_text(KUEUE_QUEUE) else ():
        queued = [owner for owner in gang.owners if KUEUE_QUEUE in owner.labels]
        parts = [part for owner in queued if (part := _PARTS.get(owner.kind))]
        if gang.group.policy == "gang" and (gang.group.quorum or 0) > 1 and (len(queued) > 1 or parts):
            message = (
                f"Kueue admits {name_all(queued)} {parts[0] if len(queued) == 1 else 'one by one'}, but "
                "the gang waits for all pods: the admitted pods use quota without running"
            )
            hint = "Use one Kueue workload per gang."
            yield Finding(gang.group.item, gang.group.quorum_path, message, hint=hint)


@rule("kueue-topology-differs", "info", "Kueue and the group use different topology keys.")
def find_two_topologies(census: Census, _: Settings) -> Iterator[Finding]:
    for gang in census.gangs_with("schedulingConstraints"):
        key = gang.group.topology_key
        for template in gang.templates if key else ():
            annotations = as_mapping(template.metadata.get("annotations"))
            for name in _TOPOLOGY:
                other = annotations.get(name)
                if isinstance(other, str) and other != key:
                    message = (
                        f"Kueue places the pods by {other}, the PodGroup {gang.group.name} by {key}: the gang must "
                        "fit into the domain that Kueue chose, or it is never scheduled"
                    )
                    hint = "Use one label key in both places, or only one of them."
                    path = (*template.path, "metadata", "annotations", name)
                    yield Finding(template.item, path, message, other, hint=hint)
