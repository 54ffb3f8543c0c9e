"""What speaks against a group for a resource that asks for one, whatever its kind is: who starts its pods, and when."""

from __future__ import annotations

from typing import Final

from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Note
from krmfn.model.tree import Group, leaves

#: Schedulers with groups of their own. They ignore those of scheduling.k8s.io, and default-scheduler ignores theirs.
OTHER_SCHEDULERS: Final = frozenset({"volcano", "kai-scheduler", "yunikorn"})
#: Hooks that run before everything else is applied. Sources: Argo CD user guide, "Sync Phases and Waves"; Helm docs,
#: "Chart Hooks".
_HOOKS: Final = {
    "argocd.argoproj.io/hook": frozenset({"PreSync"}),
    "helm.sh/hook": frozenset({"pre-install", "pre-upgrade", "pre-rollback"}),
}


def find_obstacle(item: Item, group: Group, settings: Settings) -> Note | None:
    """Why a resource gets no group although it has pods, None when nothing speaks against one."""
    for key, early in _HOOKS.items():
        phases = {word.strip() for word in str(item.annotations.get(key, "")).split(",")} & early
        if phases:
            message = f"runs as {min(phases)} hook, and a group would be applied after that: the hook would wait for it"
            hint = "Make it no hook, or write the group by hand as a hook of the same phase."
            return Note("hook-without-group", ("metadata", "annotations", key), message, hint=hint)
    if settings.scheduler != "Kubernetes":
        return None
    for template in (template for leaf in leaves(group) for template in leaf.templates):
        if template.scheduler in OTHER_SCHEDULERS:
            message = f"{template.scheduler} does not read PodGroups of scheduling.k8s.io: no group is generated"
            hint = "Remove schedulerName, or use that scheduler's own groups (scheduler: Volcano in the configuration)."
            path = (*template.path, "spec", "schedulerName")
            return Note("scheduler-elsewhere", path, message, template.scheduler, hint=hint)
    return None
