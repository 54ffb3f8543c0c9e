"""What the pods of one gang have to agree on: priority class, scheduler, preemption policy. Knows no release.

Source: rules R23, R24, R25 of the API reference (kube-scheduler 1.37), C22 (one priority configuration per Workload).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from krmfn.config.settings import Settings
from krmfn.krm.paths import Path, format_path
from krmfn.model.findings import Note
from krmfn.model.schedulers import DEFAULT_SCHEDULER
from krmfn.model.tree import Gang, PodTemplate, leaves

_FIELDS: Final[Mapping[str, Path]] = {
    "priority_class": ("spec", "priorityClassName"),
    "scheduler": ("spec", "schedulerName"),
    "preemption_policy": ("spec", "preemptionPolicy"),
}


class Agreement(NamedTuple):
    """What all pod templates say; empty where they say nothing, or do not agree (then there is a note)."""

    priority_class: str
    scheduler: str
    preemption_policy: str
    notes: tuple[Note, ...]


def agree(gang: Gang, settings: Settings, default_scheduler: str = DEFAULT_SCHEDULER) -> Agreement:
    """What the pods of the gang have in common; a note for each of the three in which two of them differ."""
    templates = [template for leaf in leaves(gang.root) for template in leaf.templates if template.pods > 0]
    default_class = next((name for name, entry in settings.priority_classes.items() if entry.default), "")
    priority, priority_notes = _common(gang, templates, "priority_class", default_class, "priority-not-shared")
    scheduler, scheduler_notes = _common(gang, templates, "scheduler", default_scheduler, "scheduler-not-shared")
    # a pod that does not say its policy gets that of its class, and the classes are compared above
    spoken = [template for template in templates if template.preemption_policy]
    policy, policy_notes = _common(gang, spoken, "preemption_policy", "", "preemption-policy-not-shared")
    return Agreement(priority, scheduler, policy, (*priority_notes, *scheduler_notes, *policy_notes))


def _common(
    gang: Gang, templates: Sequence[PodTemplate], what: str, default: str, rule: str
) -> tuple[str, tuple[Note, ...]]:
    """The value that all share. "" stands for `default`."""
    values = [getattr(template, what) or default for template in templates]
    for template, mine in zip(templates, values, strict=True):
        if mine != values[0]:
            first, other = templates[0], values[0]
            field = _FIELDS[what]
            path = (*template.path, *field)
            message = f"all pods of a gang must have the same {field[-1]}, but it is " + " and ".join(
                f"{_quote(value)} in {_place(gang, place)}" for value, place in ((mine, template), (other, first))
            )
            hint = f"Set one {field[-1]} in all of these pod templates, or do not put them into one gang."
            return "", (Note(rule, path if template.owner == 0 else (), message, mine, other, hint),)
    return getattr(templates[0], what) if templates else "", ()


def _quote(value: str) -> str:
    return f'"{value}"' if value else "not set"


def _place(gang: Gang, template: PodTemplate) -> str:
    path = format_path(template.path)
    return f"{path} of {gang.owners[template.owner]}" if len(gang.owners) > 1 else path
