"""minCount against the pods that can exist."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import rule
from krmfn.checks.wording import name_min_count, sum_up
from krmfn.config import Settings, options_for
from krmfn.krm.item import Item
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding, Note
from krmfn.model.values import as_int, as_text, dig
from krmfn.model.wording import count
from krmfn.survey.census import Census, LinkedGang
from krmfn.survey.jobs import list_own_gangs

MIN_COUNT_ANNOTATION = "krmfn.dev/min-count"


@rule(
    "min-count-above-pods",
    "error",
    "minCount is greater than the number of pods that can exist, so no pod of the group is ever scheduled.",
)
def find_min_count_above_pods(census: Census, settings: Settings) -> Iterator[Finding]:
    """minCount is greater than the sum of all linked templates' pods; of a Job that makes its group, than its own."""
    for gang in (*census.gangs, *list_own_gangs(census, settings)):
        group, pods = gang.group, gang.pods
        if gang.templates and pods is not None and group.quorum is not None and group.quorum > pods:
            message = (
                f"{group.counted} is {group.quorum}, but only {count(pods, 'pod')} can exist "
                f"({sum_up(gang.templates)}): " + ("no pod is ever scheduled" if pods else "no pod could be scheduled")
            )
            hint = (
                f"Set {group.counted} to {pods}, or raise the number of pods."
                if pods
                else "Remove the group, or link pods to it."
            )
            note = Note("min-count-above-pods", group.quorum_path, message, group.quorum, pods or None, hint)
            yield note.on(group.item) if pods else note._replace(proposed=ABSENT).on(group.item, "warning")


@rule(
    "min-count-below-pods",
    "warning",
    "minCount is smaller than the number of pods, so only a part of the gang starts together.",
)
def find_min_count_below_pods(census: Census, settings: Settings) -> Iterator[Finding]:
    """1 < minCount < pods, and nobody asked for it."""
    for gang in census.gangs:
        group, pods = gang.group, gang.pods
        if pods is None or group.quorum is None or not 1 < group.quorum < pods or _is_wanted(gang, settings):
            continue
        message = (
            f"{group.counted} is {group.quorum} of {count(pods, 'pod')} ({sum_up(gang.templates)}): "
            f"{pods - group.quorum} of them may be missing when the others start"
        )
        field = name_min_count(group, gang.templates[0].item)
        hint = f"If the workload cannot run with fewer pods, set {field} to {pods}."
        yield Finding(group.item, group.quorum_path, message, group.quorum, hint=hint)


@rule("min-count-one", "info", "A gang of several pods has minCount 1, so each pod starts on its own.")
def find_min_count_one(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang in census.gangs:
        group, pods = gang.group, gang.pods
        if group.quorum == 1 and pods is not None and pods > 1 and not _is_wanted(gang, settings):
            message = f"{group.counted} is 1 of {pods} pods: each of them starts on its own"
            hint = f"Set {name_min_count(group, gang.templates[0].item)} to {pods} to start them together."
            yield Finding(group.item, group.quorum_path, message, 1, hint=hint)


@rule("gang-without-head", "warning", "The workers of a Ray cluster can meet minCount without the head.")
def find_gang_without_head(census: Census) -> Iterator[Finding]:
    for gang in census.gangs:
        head = next((each for each in gang.templates if each.path[-2:] == ("headGroupSpec", "template")), None)
        quorum = gang.group.quorum or 0
        if head is None or quorum < 2 or head.item.ref.group != "ray.io" or not gang.can_spare(head):
            continue
        message = (
            f"{gang.group.counted} is {quorum}, which the other {count((gang.pods or 0) - 1, 'pod')} can meet: if the "
            "head does not fit, they start without it and keep their nodes"
        )
        all_pods = f"set {gang.group.counted} to the number of all pods"
        hint = f"Put the head into a separate group (granularity: Group), or {all_pods}."
        yield Finding(gang.group.item, gang.group.quorum_path, message, quorum, hint=hint)


@rule("min-count-above-scaler", "warning", "An autoscaler may leave fewer pods than minCount.")
def find_min_count_above_scaler(census: Census) -> Iterator[Finding]:
    floors = dict(_scaler_floors(census))
    for gang in census.gangs if floors else ():
        group = gang.group
        if group.quorum is None:
            continue
        rest = [template for template in gang.templates if id(template.item) not in floors]
        scaled = {id(t.item): floors[id(t.item)] for t in gang.templates if id(t.item) in floors}
        if not scaled or any(template.pods is None for template in rest):
            continue
        lowest = sum(template.pods or 0 for template in rest) + sum(floor for _, floor in scaled.values())
        if lowest < group.quorum:
            scaler = next(iter(scaled.values()))[0]
            message = (
                f"{group.counted} is {group.quorum}, but {scaler.kind} {scaler.name} may scale down to "
                f"{count(lowest, 'pod')}: a replaced pod is then never scheduled"
            )
            field = name_min_count(group, gang.templates[0].item)
            hint = f"Set {field} to at most {lowest}, or raise the lower bound of the {scaler.kind}."
            yield Finding(group.item, group.quorum_path, message, group.quorum, hint=hint)


@rule("group-unused", "warning", "No pod template links to this group.")
def find_group_unused(census: Census, settings: Settings) -> Iterator[Finding]:
    named = {template.link.group for template in census.dangling if template.link}
    for gang in census.gangs:
        group = gang.group
        if gang.templates or group.name in named or (group.path[-1] != "spec" and not census.templates):
            continue
        message = f'no pod template in the files checked links to "{group.name}"'
        hint = f"Set {'.'.join(settings.release.link)}: {group.name} in the pod template, or remove the group."
        if not group.name:
            message = "no pod template can link to a group whose name the API server generates"
            hint = "Give the group a name (metadata.name instead of metadata.generateName), or remove it."
        elif group.path[-1] != "spec":
            hint = f"Set workloadRef.podGroup: {group.template} in the pod template, or remove the entry."
        yield Finding(group.item, group.path, message, hint=hint)


def _is_wanted(gang: LinkedGang, settings: Settings) -> bool:
    """Whether the configuration asks for fewer than all pods of one of the owners."""
    for owner in gang.owners:
        options = options_for(settings, owner).options or settings.gang
        scaled = options.autoscaling == "MinReplicas" and owner.ref.group == "ray.io"
        scaled = scaled or (owner.ref.group == "kubeflow.org" and dig(owner.value, "spec", "elasticPolicy") is not None)
        if options.min_count != "Replicas" or scaled or MIN_COUNT_ANNOTATION in owner.annotations:
            return True
    return False


def _scaler_floors(census: Census) -> Iterator[tuple[int, tuple[Item, int]]]:
    """Objects (by identity) that a scaler changes: the scaler and the number of pods it may leave."""
    scalers = [(item, "minReplicas", 1) for item in census.kind("autoscaling", "HorizontalPodAutoscaler")]
    scalers += [(item, "minReplicaCount", 0) for item in census.kind("keda.sh", "ScaledObject")]
    templates = census.templates if scalers else ()
    targets = {(t.item.space, t.item.ref.group, t.item.kind, t.item.name): t for t in templates}
    for scaler, field, default in scalers:
        target = dig(scaler.value, "spec", "scaleTargetRef")
        group = as_text(target, "apiVersion").rpartition("/")[0] or ("apps" if field == "minReplicaCount" else "")
        kind = as_text(target, "kind") or "Deployment"
        template = targets.get((scaler.space, group, kind, as_text(target, "name")))
        if template is not None:
            floor = as_int(scaler.value, "spec", field)
            yield id(template.item), (scaler, default if floor is None else floor)
    for item in census.kind("kubeflow.org", "PyTorchJob"):
        workers = as_int(item.value, "spec", "elasticPolicy", "minReplicas")
        if workers is not None:
            master = as_int(item.value, "spec", "pytorchReplicaSpecs", "Master", "replicas")
            yield id(item), (item, workers + (1 if master is None else master))
