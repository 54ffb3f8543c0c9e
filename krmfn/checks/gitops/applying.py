"""The order in which Argo CD, Flux and Helm apply groups, and what else pods need, and the pods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import HOOKS, SYNC_WAVE
from krmfn.model.tree import Path
from krmfn.model.values import Fields, as_list, as_text, dig
from krmfn.releases.release import GROUP
from krmfn.survey.census import Census, Template

HOOK: Final = HOOKS[0][0]
_HELM, _WEIGHT = HOOKS[1][:2]
_PHASES: Final = ("PreSync", "Sync", "PostSync")
#: The hooks of a first installation by Helm; Argo CD runs them in the same phases.
_INSTALLING: Final = {"pre-install": "PreSync", "post-install": "PostSync"}
#: Kinds whose health holds the next wave back in Argo CD; others count as done at once.
_WITH_HEALTH: Final = frozenset({"Pod", "Job", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"})


@rule("wave-after-pods")
def find_wave_after_pods(census: Census) -> Matches:
    for item, owner in _pairs(census):
        wave, first = _wave(item), _wave(owner)
        if _HELM in owner.annotations:
            yield from _find_later_hook(item, owner)
        elif wave > first and _phase(item) == _phase(owner):
            blocks = owner.kind in _WITH_HEALTH
            end = "wait for it: the wave never ends" if blocks else "do not start until it exists"
            case, most = ("", first - 1) if _call(item) == "group" else ("needed", first)
            about: Fields = {"call": _call(item), "wave": wave, "owner": owner, "first": first, "end": end}
            values = (str(wave), str(most)) if SYNC_WAVE in item.annotations else ()
            yield tell(item, _find_wave(item), *values, severity=None if blocks else "warning", case=case, **about)
        elif wave < first and _phase(item) == _phase(owner) and _waits_for_pods(item, census):
            yield tell(item, _find_wave(item), str(wave), case="claim", wave=wave, owner=owner, first=first)


def _waits_for_pods(item: Item, census: Census) -> bool:
    """Whether a claim gets its volume when a pod that uses it is scheduled. Source: argo-cd issue 12840."""
    if item.kind != "PersistentVolumeClaim" or dig(item.value, "spec", "volumeName"):
        return False
    from krmfn.capacity.volumes import Volumes

    storage = Volumes(census.facts).find_class(item.value)
    found = census.facts.by_name("storage.k8s.io", "StorageClass").get(storage)
    return as_text(found, "volumeBindingMode") == "WaitForFirstConsumer"


def _call(item: Item) -> str:
    return "group" if item.ref.group == GROUP and item.kind != "PriorityClass" else item.kind


def _find_later_hook(item: Item, owner: Item) -> Matches:
    """Helm runs the hooks of a phase one by one, by weight and then by name, and waits for a Job to complete."""
    mine, theirs = (parse_int(each.annotations.get(_WEIGHT)) or 0 for each in (owner, item))
    same = _phase(owner) == _phase(item) and _HELM in item.annotations
    if same and (theirs, item.name) > (mine, owner.name):
        yield tell(
            item, ("metadata", "annotations", _WEIGHT), str(theirs), case="hook", theirs=theirs, owner=owner, mine=mine
        )


@rule("hook-before-group")
def find_hook_before_group(census: Census) -> Matches:
    for item, owner in _pairs(census):
        mine, theirs = _phase(owner), _phase(item)
        if mine and theirs and _PHASES.index(mine) < _PHASES.index(theirs):
            key = _HELM if HOOK not in owner.annotations and _HELM in owner.annotations else HOOK
            hook = owner.annotations.get(key, mine)
            when = "" if key == _HELM else f", in the phase {theirs}"
            case = "" if _call(item) == "group" else "needed"
            yield tell(
                owner,
                ("metadata", "annotations", key),
                hook,
                case=case,
                call=_call(item),
                other=item,
                key=key,
                when=when,
            )


@rule("workload-after-group")
def find_workload_after_group(census: Census, settings: Settings) -> Matches:
    for gang in census.gangs:
        group = gang.group
        workload = census.workloads.get((group.namespace, group.workload))
        if workload is None:
            continue
        before, own = _wave(workload.item), _wave(group.item)
        if before >= own:
            yield tell(group.item, _find_wave(group.item), str(own), workload=workload, before=before, own=own)


@rule("flux-dry-run")
def find_flux_dry_run(census: Census, settings: Settings) -> Matches:
    for gang in census.gangs if any(map(census.has_text, _FLUX)) else ():
        group = gang.group
        workload = census.workloads.get((group.namespace, group.workload))
        marks = {**group.item.labels, **group.item.annotations}
        flux = next((key for key in marks if key.startswith(_FLUX)), "")
        if workload is not None and flux:
            yield tell(group.item, ("metadata",), workload=workload)


_FLUX: Final = ("kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/")


def _pairs(census: Census) -> Iterator[tuple[Item, Item]]:
    """Every group with every object whose pods need it, where something orders them; parents of a group are needed,
    too, and objects of the input that the pods name."""
    if not any(map(census.has_text, (SYNC_WAVE, HOOK, _HELM))):
        return
    for gang in census.gangs:
        for group in (gang.group, *census.chain(gang.group)[0]):
            for owner in gang.owners:
                yield group.item, owner
        needed = {
            (id(template.item), id(item)): (item, template.item)
            for template in gang.templates
            for group, kind, name in _list_names(template)
            for item in census.kind(group, kind)
            if item.name == name and (kind == "PriorityClass" or item.space == template.item.space)
        }
        yield from needed.values()


def _list_names(template: Template) -> Iterator[tuple[str, str, str]]:
    """What must exist before pods of a template can be created or start: group, kind and name."""
    from krmfn.checks.scheduler.configuration import list_uses  # groups alone do not need it

    spec = template.spec
    yield from (("", use.kind, use.name) for use in list_uses(spec))
    for field, group, kind in (
        ("serviceAccountName", "", "ServiceAccount"),
        ("priorityClassName", "scheduling.k8s.io", "PriorityClass"),
    ):
        yield group, kind, as_text(spec.get(field))
    for volume in as_list(spec, "volumes"):
        yield "", "PersistentVolumeClaim", as_text(volume, "persistentVolumeClaim", "claimName")
    for claim in as_list(spec, "resourceClaims"):
        for kind in ("ResourceClaim", "ResourceClaimTemplate"):
            yield "resource.k8s.io", kind, as_text(claim, f"{kind[0].lower()}{kind[1:]}Name")


def _find_wave(item: Item) -> Path:
    return ("metadata", "annotations", SYNC_WAVE) if SYNC_WAVE in item.annotations else ("metadata",)


def _wave(item: Item) -> int:
    return parse_int(item.annotations.get(SYNC_WAVE)) or 0


def _phase(item: Item) -> str:
    """The phase in which Argo CD or Helm applies the object; "" for hooks of other kinds (Skip, SyncFail, test)."""
    if HOOK not in item.annotations and _HELM in item.annotations:
        hooks = [_INSTALLING.get(hook.strip(), "") for hook in item.annotations[_HELM].split(",")]
        return min(filter(None, hooks), key=_PHASES.index, default="")
    hook = item.annotations.get(HOOK, "Sync").partition(",")[0]
    return hook if hook in _PHASES else ""
