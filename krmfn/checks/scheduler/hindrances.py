"""What in a pod template keeps a gang from being scheduled as one: gates, node names, other gang systems, claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from krmfn.checks.rule import is_obeyed, rule
from krmfn.checks.scheduler.trees import list_families
from krmfn.checks.wording import name_all
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding
from krmfn.model.kinds import find_kind
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Path
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.model.wording import join
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.jobs import SUSPENDED, is_suspended


@rule("gated-member", "warning", "Some pods of a gang have a scheduling gate, or their resource is suspended.")
def find_gated_member(census: Census) -> Iterator[Finding]:
    yield from _find_gates(census)
    yield from _find_suspended(census)


def _find_gates(census: Census) -> Iterator[Finding]:
    for gang in census.gangs_with("schedulingGates"):
        gated = [template for template in gang.templates if as_list(template.spec, "schedulingGates")]
        all_gated = len(gated) == len(gang.templates)
        for template in gated:
            names = join([as_text(gate, "name") for gate in as_list(template.spec["schedulingGates"])])
            message = (
                f"the pods have the scheduling gate {names}: until it is removed, they do not count for the gang "
                f"{gang.group.name}"
            )
            if not all_gated:
                message += ", and the other pods of the gang wait, too"
            hint = "Remove the gate, or make sure that something removes it from all pods of the gang."
            path = (*template.spec_path, "schedulingGates")
            yield Finding(template.item, path, message, hint=hint, severity="info" if all_gated else None)


def _find_suspended(census: Census) -> Iterator[Finding]:
    roots: dict[int, dict[int, Item]] = {}
    if not census.has_text("suspend"):
        return
    for gang in census.gangs:
        roots.setdefault(id(census.root(gang.group).item), {}).update((id(item), item) for item in gang.owners)
    for gang in census.gangs:
        owners = roots[id(census.root(gang.group).item)].values()
        waiting = [item for item in owners if not is_suspended(item)]
        there = sum(template.pods or 0 for template in gang.templates if not is_suspended(template.item))
        if not waiting or gang.pods is None or there >= (gang.group.quorum or 0):
            continue
        for item in gang.owners:
            if not is_suspended(item) or KUEUE_QUEUE in item.labels or not _needs(census, gang):
                continue
            path = next(path for path in SUSPENDED if dig(item.value, *path) is True)
            message = (
                f"no pods are created for this {item.kind} while it is suspended, but the gang "
                f"{census.root(gang.group).name} needs them: {name_all(waiting)} cannot start until it is resumed"
            )
            hint = f"Resume the {item.kind}, or remove it from the gang."
            yield Finding(item, path, message, True, hint=hint)


def _needs(census: Census, gang: LinkedGang) -> bool:
    """Whether every group above a gang waits for all of its children."""
    whole = {id(group.item) for group, children in list_families(census) if (group.quorum or 0) >= len(children)}
    return all(id(group.item) in whole for group in census.chain(gang.group)[0])


@rule("node-name", "warning", "A pod of a gang is bound to a node in its manifest.")
def find_node_name(census: Census) -> Iterator[Finding]:
    for gang in census.gangs_with("nodeName"):
        for template in gang.templates:
            name = as_text(template.spec, "nodeName")
            if name:
                message = (
                    f"nodeName {name} binds the pods without the scheduler: they run even if the rest of "
                    f"{gang.group.name} is never scheduled"
                )
                hint = "Use a nodeSelector or node affinity instead."
                yield Finding(template.item, (*template.spec_path, "nodeName"), message, name, hint=hint)


@rule("second-gang-system", "warning", "The pods of a gang also belong to a group of another scheduler.")
def find_second_gang_system(census: Census, settings: Settings) -> Iterator[Finding]:
    rivals = [each for each in _RIVALS if census.marked(*each[:2])]
    for gang in census.gangs:
        for template in gang.templates if rivals else ():
            for field, key, system in rivals:
                held = as_mapping(template.metadata.get(field))
                if key in held:
                    message = (
                        f"{key} puts the pods into a group of {system}, but {settings.release.link[0]} into "
                        f"{gang.group.name}: a scheduler follows only one of them"
                    )
                    hint = f"Remove the key; if {system} schedules these pods, remove {settings.release.link[0]}."
                    path = (*template.path, "metadata", field, key)
                    yield Finding(template.item, path, message, held[key], hint=hint)
        for owner in gang.owners:
            for path, system in _list_rival_fields(owner):
                message = (
                    f"{path[-1]} makes the operator put the pods into a group of {system}, but they link to "
                    f"{gang.group.name}: a scheduler follows only one of them"
                )
                hint = "Remove the field, or the link."
                yield Finding(owner, path, message, hint=hint)


def _list_rival_fields(item: Item) -> Iterator[tuple[Path, str]]:
    """Fields of operators that put their pods into a gang of another system."""
    kind = find_kind(item.ref.group, item.kind)
    path: Path = tuple(kind.rival.split("/")) if kind and kind.rival else ()
    if kind and path and dig(item.value, *path) not in (None, "", {}):
        yield path, kind.rival_name


@rule("claim-not-in-pods", "error", "The pods do not repeat a resource claim of their group.", needs="group-claims")
def find_claim_not_groups(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang in census.gangs_with("resourceClaims"):
        for index, claim in enumerate(as_list(gang.group.spec, "resourceClaims")):
            wanted = _claim(claim)
            for template in gang.templates:
                claims = [_claim(entry) for entry in as_list(template.spec, "resourceClaims")]
                if wanted not in claims:
                    name = wanted[0] or f"number {index}"
                    message = (
                        f'the claim "{name}" of the group is not among the pods\' resourceClaims of '
                        f"{template.item.kind} {template.item.name} with the same source: the pods do not get it"
                    )
                    hint = "Repeat the entry, with the same name and source, in resourceClaims of the pod template."
                    path = (*gang.group.path, "resourceClaims", index)
                    yield Finding(gang.group.item, path, message, hint=hint)
                    break


@rule("deadline-counts-waiting", "warning", "A short deadline runs while the gang waits.")
def find_deadline_counts_waiting(census: Census) -> Iterator[Finding]:
    seen: set[int] = set()
    for gang in census.gangs if any(map(census.has_text, _DEADLINES)) else ():
        for template in gang.templates:
            for path in _deadlines(template):
                seconds = as_int(template.item.value, *path)
                if seconds is None or not 0 < seconds <= SHORT_DEADLINE or id(template.item) in seen:
                    continue
                seen.add(id(template.item))
                message = (
                    f"{path[-1]} is {seconds} s and runs while the gang {gang.group.name} waits for room: the "
                    "deadline may pass before the work starts"
                )
                hint = "Add the time in the queue to the deadline, or remove it."
                yield Finding(template.item, path, message, seconds, hint=hint)


@rule("requests-missing", "warning", "Pods of a gang have no CPU request or no memory request.")
def find_requests_missing(census: Census) -> Iterator[Finding]:
    """Containers without CPU or memory requests; one finding for an object."""
    seen: set[int] = set()
    for gang in census.gangs:
        for template in gang.templates:
            missing = sorted(_missing_requests(template.spec))
            if missing and id(template.item) not in seen:
                seen.add(id(template.item))
                message = (
                    f"the pods of {template.item.kind} {template.item.name} have no {join(missing)} requests: "
                    "the gang may be placed on nodes that are too small"
                )
                hint = "Set resources.requests in every container of the gang's pods."
                path = (*template.spec_path, "containers")
                yield Finding(template.item, path, message, hint=hint)


@rule("volume-shared", "warning", "The pods of a gang share a volume claim that cannot serve all of them.")
def find_volume_shared(census: Census, settings: Settings) -> Iterator[Finding]:
    claims = census.facts.by_place("", "PersistentVolumeClaim")
    for gang in census.gangs_with("volumes") if claims else ():
        used: dict[str, int] = {}
        for template in gang.templates:
            for index, volume in enumerate(as_list(template.spec, "volumes")):
                name = as_text(volume, "persistentVolumeClaim", "claimName")
                claim = claims.get((template.item.space, name)) if name else None
                if claim is None or template.pods is None:
                    continue
                used[name] = used.get(name, 0) + template.pods
                modes = as_list(claim, "spec", "accessModes")
                single = modes == ["ReadWriteOncePod"]
                if used[name] < 2 or not (single or modes == ["ReadWriteOnce"]):
                    continue
                limit = "one pod" if single else "the pods of one node"
                message = (
                    f"{used[name]} pods of the gang {gang.group.name} use the claim {name}, which serves {limit} "
                    f"({modes[0]})"
                )
                hint = "Use ReadWriteMany, or a claim for each pod."
                path = (*template.spec_path, "volumes", index)
                # One of the pods runs: the gang starts only where its quorum can do without the others.
                remembered = single and not is_obeyed(census, settings, "stale-gang-snapshot")
                stuck = remembered and (gang.pods or 0) - used[name] + 1 < (gang.group.quorum or 1)
                yield Finding(template.item, path, message, modes[0], hint=hint, severity="error" if stuck else None)


#: Deadlines up to this many seconds are reported: the 1.36 scheduler alone may hold a gang for 300 s.
SHORT_DEADLINE: Final = 600
_AMOUNTS: Final = frozenset({"cpu", "memory"})
_DEADLINES: Final = ("activeDeadlineSeconds", "preRunningDeadlineSeconds")

#: Where pods name a group of another scheduler: field of their metadata, key, and the scheduler.
_RIVALS: Final = (
    *((*row.link, choice) for choice, row in SCHEDULERS.items()),
    ("labels", "pod-group.scheduling.sigs.k8s.io", "SchedulerPlugins"),
    ("labels", "pod-group-name", "KAI"),
    ("annotations", "yunikorn.apache.org/task-group-name", "YuniKorn"),
)


def _claim(entry: object) -> tuple[str, str, str]:
    claim = as_mapping(entry)
    fields = ("name", "resourceClaimName", "resourceClaimTemplateName")
    name, own, template = (as_text(claim.get(field)) for field in fields)
    return name, own, template


def _deadlines(template: Template) -> Iterator[tuple[str | int, ...]]:
    yield (*template.spec_path, _DEADLINES[0])
    for field in _DEADLINES:
        yield ("spec", field)
        yield ("spec", "jobTemplate", "spec", field)


def _missing_requests(spec: Mapping[str, Any]) -> set[str]:
    """What no container of a pod asks for. An accelerator limits the nodes more than any number of CPUs does."""
    missing: set[str] = set()
    for container in as_list(spec, "containers"):
        resources = as_mapping(container, "resources")
        named = {*as_mapping(resources, "requests"), *as_mapping(resources, "limits")}
        if any("/" in name for name in named):
            return set()
        missing |= _AMOUNTS - named
    return missing
