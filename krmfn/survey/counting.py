"""How many pods each resource makes, as its source counts them, for the checks."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.model.findings import Finding, Note
from krmfn.model.rules import RULES
from krmfn.sources import count_pods
from krmfn.survey.census import Census, take_census
from krmfn.survey.gangs import list_present
from krmfn.survey.lookup import make_lookup
from krmfn.survey.members import Member, from_tree


def count_members(some: Iterable[Item], items: Items, settings: Settings) -> tuple[list[Member], list[Finding]]:
    """The pod templates of some of the items (all of kinds that are read) and what their controllers would refuse.

    Counted whether the resource asks for a gang or not, because the pods exist either way.
    """
    find = make_lookup(items, settings)
    members: list[Member] = []
    findings = []
    for item in some:
        reading = count_pods(item.value, item.ref, settings, find)
        findings += [note.on(item) for note in reading.notes if _is_severe(note, item)]
        if reading.group is not None:
            members += from_tree(item, reading.value, reading.group)
    return members, findings


def count_all(items: Items, settings: Settings) -> Census:
    """The census of all items, each with the pods that its source counts."""
    members, _ = count_members(list_present(items), items, settings)
    return take_census(items, members, None, settings.cluster)


def _is_severe(note: Note, item: Item) -> bool:
    """Whether the controller would refuse the resource, gang or no gang. What the API server itself refuses in a Job
    is told by the checks of the server, in its own words."""
    return RULES[note.rule].severity == "error" and item.group != "batch"
