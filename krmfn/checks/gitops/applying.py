"""The order in which Argo CD, Flux and Helm apply groups, and what else pods need, and the pods. Deletion and
recreation: finalizers, pruning, names that are used again, and what a cluster has to be rid of before an upgrade."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, tell
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.gotext import parse_int
from krmfn.model.marks import HOOKS, SYNC_WAVE
from krmfn.model.tree import Path
from krmfn.model.values import Fields, as_list, as_text, dig, identify
from krmfn.releases.release import GROUP, assume_gates, find_writer, tell_damage
from krmfn.releases.spelling import find_finalizer, list_finalizers
from krmfn.server import answer, kind_of
from krmfn.survey.census import Census, Template
from krmfn.survey.groups import Workload

HOOK = HOOKS[0][0]
_HELM, _WEIGHT = HOOKS[1][:2]
_PHASES = ("PreSync", "Sync", "PostSync")
#: The hooks of a first installation by Helm; Argo CD runs them in the same phases.
_INSTALLING = {"pre-install": "PreSync", "post-install": "PostSync"}
#: Kinds whose health holds the next wave back in Argo CD; others count as done at once.
_WITH_HEALTH = frozenset({"Pod", "Job", "Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"})


@rule("wave-after-pods")
def find_wave_after_pods(census: Census) -> Matches:
    for item, owner in _pairs(census):
        wave, first = _wave(item), _wave(owner)
        if _HELM in owner.annotations:
            yield from _find_later_hook(item, owner)
        elif _phase(item) != _phase(owner):
            continue
        elif wave > first:
            blocks = owner.kind in _WITH_HEALTH
            end = "wait for it: the wave never ends" if blocks else "do not start until it exists"
            call = _call(item)
            case, most = ("", first - 1) if call == "group" else ("needed", first)
            about: Fields = {"call": call, "wave": wave, "owner": owner, "first": first, "end": end}
            values = (str(wave), str(most)) if SYNC_WAVE in item.annotations else ()
            yield tell(item, _find_wave(item), *values, warning=not blocks, case=case, **about)
        elif wave < first and _waits_for_pods(item, census):
            yield tell(item, _find_wave(item), str(wave), case="claim", wave=wave, owner=owner, first=first)


def _waits_for_pods(item: Item, census: Census) -> bool:
    """Whether a claim gets its volume when a pod that uses it is scheduled. Source: argo-cd issue 12840."""
    if item.kind != "PersistentVolumeClaim" or dig(item.value, "spec", "volumeName"):
        return False
    from krmfn.capacity.volumes import Volumes

    return as_text(Volumes(census.facts).find_storage(item.value), "volumeBindingMode") == "WaitForFirstConsumer"


def _call(item: Item) -> str:
    return "group" if item.group == GROUP and item.kind != "PriorityClass" else item.kind


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
            path, found = ("metadata", "annotations", key), owner.annotations.get(key, mine)
            case, when = "" if _call(item) == "group" else "needed", "" if key == _HELM else f", in the phase {theirs}"
            yield tell(owner, path, found, case=case, call=_call(item), other=item, key=key, when=when)


@rule("workload-after-group")
def find_workload_after_group(census: Census) -> Matches:
    for item, workload in _list_described(census):
        before, own = _wave(workload.item), _wave(item)
        if before >= own:
            yield tell(item, _find_wave(item), str(own), workload=workload, before=before, own=own)


@rule("flux-dry-run")
def find_flux_dry_run(census: Census) -> Matches:
    for item, workload in _list_described(census) if any(map(census.has_text, _FLUX)) else ():
        if any(key.startswith(_FLUX) for key in (*item.labels, *item.annotations)):
            yield tell(item, ("metadata",), workload=workload)


def _list_described(census: Census) -> Iterator[tuple[Item, Workload]]:
    """The PodGroups with a Workload that describes them."""
    for group in (gang.group for gang in census.gangs):
        workload = census.workloads.get((group.namespace, group.workload))
        if workload is not None:
            yield group.item, workload


_FLUX = ("kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/")


def _pairs(census: Census) -> Iterator[tuple[Item, Item]]:
    """Every group with every object whose pods need it, where something orders them; parents of a group are needed,
    too, and objects of the input that the pods name."""
    if not any(map(census.has_text, (SYNC_WAVE, HOOK, _HELM))):
        return
    for gang in census.gangs:
        for group in census.lineage(gang.group):
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
    yield "", "ServiceAccount", as_text(spec, "serviceAccountName")
    yield "scheduling.k8s.io", "PriorityClass", template.priority_class
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


OPTIONS = "argocd.argoproj.io/sync-options"
_FLUX_FORCE = "kustomize.toolkit.fluxcd.io/force"


@rule("group-name-reused")
def find_name_reused(census: Census, settings: Settings) -> Matches:
    before = {identify(item.ref): item for item in census.old or () if item.group == GROUP}
    for kind in ("PodGroup", "CompositePodGroup"):
        for item in census.kind(GROUP, kind):
            old = before.get(identify(item.ref))
            path = _refused_path(old, item, settings) if old is not None and old.value != item.value else ()
            if path:
                yield tell(item, path, case=kind if find_finalizer(kind, settings.release) else "")


@rule("force-replace-group")
def find_force_replace(census: Census) -> Matches:
    annotated = any(map(census.has_text, (OPTIONS, _FLUX_FORCE)))
    for item in census.kind(GROUP, "PodGroup") if annotated else ():
        options = {option.strip() for option in item.annotations.get(OPTIONS, "").split(",")}
        key = OPTIONS if {"Force=true", "Replace=true"} <= options else ""
        if item.annotations.get(_FLUX_FORCE) == "enabled":
            key = _FLUX_FORCE
        if key:
            yield tell(item, ("metadata", "annotations", key), item.annotations[key], key=key)


@rule("finalizer-in-git")
def find_finalizer_in_git(census: Census, settings: Settings) -> Matches:
    if not census.has_text("finalizers"):
        return
    known, path = list_finalizers(settings.release), ("metadata", "finalizers")
    for item in census.list_scheduling():
        if written := [name for name in map(as_text, as_list(item.value, *path)) if name in known]:
            yield tell(item, path, written=written[0])


@rule("owner-in-git")
def find_owner_in_git(census: Census) -> Matches:
    path = ("metadata", "ownerReferences")
    for item in census.list_scheduling() if census.has_text(path[-1]) else ():
        if as_list(item.value, *path):
            yield tell(item, path, uid=dig(item.value, *path, 0, "uid"))


def _refused_path(old: Item, new: Item, settings: Settings) -> Path:
    """The field because of which the server refuses the update, although it would take both objects; () otherwise."""
    gates = assume_gates(settings.feature_gates, settings.release, new.text)
    if kind_of(new.value, settings.release.name, gates) is None:
        return ()
    states = [answer(item.value, settings.release.name, gates) for item in (old, new)]
    if not all(verdict is not None and verdict.accepted for verdict in states):
        return ()
    verdict = answer(new.value, settings.release.name, gates, old.value)
    return verdict.causes[0].path if verdict is not None and verdict.causes else ()


#: What only an API server writes: an object with one of them was read from a cluster.
_STORED = ("uid", "resourceVersion", "creationTimestamp")


@rule("stored-version-unreadable")
def find_unreadable(census: Census, settings: Settings) -> Matches:
    """Objects of a dump that would stop the cluster after its upgrade to the settings' release."""
    release = settings.release
    for item in census.objects if any(map(census.has_text, _STORED)) else ():
        metadata = item.value.get("metadata")
        if not isinstance(metadata, dict) or not any(metadata.get(key) for key in _STORED):
            continue
        writer = find_writer(item.value, release)
        if writer:
            damage = tell_damage(item.kind, release)
            yield tell(item, ("apiVersion",), item.api_version, writer=writer, release=release, damage=damage)
