"""What speaks against a group for a resource that asks for one, whatever its kind is."""

from __future__ import annotations

from krmfn.config import Settings
from krmfn.krm.types import Final
from krmfn.model.findings import Note
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Group, leaves

#: Schedulers with groups of their own. They ignore those of scheduling.k8s.io, and default-scheduler ignores theirs.
OTHER_SCHEDULERS: Final = frozenset({"yunikorn", *(row.name for row in SCHEDULERS.values())})


def find_obstacle(group: Group, settings: Settings) -> Note | None:
    """Why a resource gets no group although it has pods, None when nothing speaks against one."""
    if settings.scheduler != "Kubernetes":
        return None
    templates = [template for leaf in leaves(group) for template in leaf.templates]
    scheduler = templates[0].scheduler if templates else ""
    # Pods of one gang with two schedulers are a mistake of their own.
    if scheduler not in OTHER_SCHEDULERS or any(template.scheduler != scheduler for template in templates):
        return None
    message = f"{scheduler} does not read PodGroups of scheduling.k8s.io: no group is generated"
    choice = next((choice for choice, row in SCHEDULERS.items() if row.name == scheduler), "Volcano")
    hint = f"Remove schedulerName, or use the groups of that scheduler (scheduler: {choice} in the configuration)."
    return Note("scheduler-elsewhere", (*templates[0].path, "spec", "schedulerName"), message, scheduler, hint=hint)
