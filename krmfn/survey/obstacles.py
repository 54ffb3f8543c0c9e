"""What speaks against a group for a resource that asks for one: its scheduler, or that its kind is not supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from krmfn.config import Settings
from krmfn.config.selection import OPT_IN
from krmfn.krm.item import Item, list_holding
from krmfn.model.findings import Finding, Note
from krmfn.model.kinds import KINDS
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Group, leaves
from krmfn.model.wording import find_nearest
from krmfn.sources import is_read

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


def find_strangers(items: Iterable[Item]) -> Iterator[Finding]:
    """A finding for every item that carries krmfn.dev/gang: "true" and is of no kind that is read: silence would look
    like success. Looks at the bytes before anything is read, since most items ask for nothing."""
    for item in list_holding(items, OPT_IN.encode()):
        if not is_read(item.ref.group, item.kind) and item.annotations.get(OPT_IN) == "true":
            message = f"{item.api_version} {item.kind} cannot become a gang: krmfn does not support this kind"
            path = ("metadata", "annotations", OPT_IN)
            yield Finding(item, path, message, "true", hint=_suggest(item), rule="kind-not-supported")


def _suggest(item: Item) -> str:
    """The kind that was probably meant: the same word in another group, or a similar one."""
    read = [key for key in KINDS if is_read(*key)]
    kinds = sorted({kind for _, kind in read})
    nearest = item.kind if item.kind in kinds else find_nearest(item.kind, kinds, 0.8)
    groups = sorted(group for group, kind in read if kind == nearest)
    if not nearest and "." in item.ref.group:
        return "Describe the kind: krmfn kinds --from its CustomResourceDefinition drafts the file."
    if not nearest:
        return 'Remove the annotation. "What each kind becomes" in the documentation lists the supported kinds.'
    return f"Did you mean {' or '.join(f'{nearest} of {group}' if group else f'{nearest} of v1' for group in groups)}?"
