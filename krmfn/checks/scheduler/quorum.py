"""minCount against the pods that can exist."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Matches, name_min_count, rule, tell, tell_quorum
from krmfn.config import Settings, options_for
from krmfn.krm.item import Item
from krmfn.krm.results import ABSENT
from krmfn.model.values import as_count, as_int, as_text, dig
from krmfn.survey.census import Census, LinkedGang
from krmfn.survey.jobs import list_own_gangs

MIN_COUNT_ANNOTATION = "krmfn.dev/min-count"


@rule("min-count-above-pods")
def find_min_count_above_pods(census: Census, settings: Settings) -> Matches:
    """minCount is greater than the sum of all linked templates' pods; of a Job that makes its group, than its own."""
    for gang in (*census.gangs, *list_own_gangs(census, settings)):
        group, pods = gang.group, gang.pods
        if gang.templates and pods is not None and gang.quorum > pods:
            yield tell_quorum(group, pods or ABSENT, warning=not pods, case="" if pods else "none", gang=gang)


@rule("min-count-below-pods")
def find_min_count_below_pods(census: Census, settings: Settings) -> Matches:
    """1 < minCount < pods, and nobody asked for it."""
    for gang in census.gangs:
        group, pods = gang.group, gang.pods
        if pods is not None and 1 < gang.quorum < pods and not _is_wanted(gang, settings):
            missing, field = pods - gang.quorum, name_min_count(group, gang.templates[0].item)
            yield tell_quorum(group, group=group, pods=pods, gang=gang, missing=missing, field=field)


@rule("min-count-one")
def find_min_count_one(census: Census, settings: Settings) -> Matches:
    for gang in census.gangs:
        group, pods = gang.group, gang.pods
        if gang.quorum == 1 < (pods or 0) and not _is_wanted(gang, settings):
            yield tell_quorum(group, group=group, pods=pods, field=name_min_count(group, gang.templates[0].item))


@rule("gang-without-head")
def find_gang_without_head(census: Census) -> Matches:
    for gang in census.gangs:
        head = next((each for each in gang.templates if each.path[-2:] == ("headGroupSpec", "template")), None)
        if head is None or gang.quorum < 2 or head.item.group != "ray.io":
            continue
        if all(each is not head for each in gang.list_needed()):
            all_pods = f"set {gang.group.counted} to the number of all pods"
            yield tell_quorum(gang.group, gang=gang, number=(gang.pods or 0) - 1, all_pods=all_pods)


@rule("min-count-above-scaler")
def find_min_count_above_scaler(census: Census) -> Matches:
    floors = dict(_scaler_floors(census))
    for gang in census.gangs if floors else ():
        group = gang.group
        rest = [template for template in gang.templates if id(template.item) not in floors]
        scaled = {id(t.item): floors[id(t.item)] for t in gang.templates if id(t.item) in floors}
        if not scaled or any(template.pods is None for template in rest):
            continue
        lowest = sum(template.pods or 0 for template in rest) + sum(floor for _, floor in scaled.values())
        if lowest < gang.quorum:
            scaler = next(iter(scaled.values()))[0]
            field = name_min_count(group, gang.templates[0].item)
            yield tell_quorum(group, group=group, scaler=scaler, lowest=lowest, field=field)


@rule("group-unused")
def find_group_unused(census: Census) -> Matches:
    named = {template.link.group for template in census.dangling if template.link}
    for gang in census.gangs:
        group = gang.group
        if gang.templates or group.name in named or (group.path[-1] != "spec" and not census.templates):
            continue
        case = "entry" if group.path[-1] != "spec" else ""
        yield tell(group.item, group.path, case=case if group.name else "unnamed", group=group)


def _is_wanted(gang: LinkedGang, settings: Settings) -> bool:
    """Whether the configuration asks for fewer than all pods of one of the owners."""
    for owner in gang.owners:
        options = options_for(settings, owner).options or settings.gang
        scaled = options.autoscaling == "MinReplicas" and owner.group == "ray.io"
        scaled = scaled or (owner.group == "kubeflow.org" and dig(owner.value, "spec", "elasticPolicy") is not None)
        if options.min_count != "Replicas" or scaled or MIN_COUNT_ANNOTATION in owner.annotations:
            return True
    return False


def _scaler_floors(census: Census) -> Iterator[tuple[int, tuple[Item, int]]]:
    """Objects (by identity) that a scaler changes: the scaler and the number of pods it may leave."""
    scalers = [(item, "minReplicas", 1) for item in census.kind("autoscaling", "HorizontalPodAutoscaler")]
    scalers += [(item, "minReplicaCount", 0) for item in census.kind("keda.sh", "ScaledObject")]
    templates = census.templates if scalers else ()
    targets = {(t.item.space, *t.item.group_kind, t.item.name): t for t in templates}
    for scaler, field, default in scalers:
        target = dig(scaler.value, "spec", "scaleTargetRef")
        group = as_text(target, "apiVersion").rpartition("/")[0] or ("apps" if field == "minReplicaCount" else "")
        kind = as_text(target, "kind") or "Deployment"
        template = targets.get((scaler.space, group, kind, as_text(target, "name")))
        if template is not None:
            yield id(template.item), (scaler, as_count(scaler.value, "spec", field, default=default))
    for item in census.kind("kubeflow.org", "PyTorchJob"):
        workers = as_int(item.value, "spec", "elasticPolicy", "minReplicas")
        if workers is not None:
            yield id(item), (item, workers + as_count(item.value, "spec", "pytorchReplicaSpecs", "Master", "replicas"))
