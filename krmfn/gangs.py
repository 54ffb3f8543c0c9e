"""Which gangs a set of items asks for: selection, reading, shaping, and joining across resources.

Changes nothing. Must not know how a gang is written down; that is the target's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from krmfn.config import GangOptions, Settings, options_for
from krmfn.findings import Finding
from krmfn.krm.item import Item
from krmfn.krm.records import NamedTuple
from krmfn.names import name_gang
from krmfn.sources import SOURCES, read_tree
from krmfn.strangers import find_strangers
from krmfn.targets.emission import Gang
from krmfn.tree import Group

LOCAL = "config.kubernetes.io/local-config"


class Asked(NamedTuple):
    """A gang and the items that it is for, in the order in which its pod templates count their owners. `findings` are
    what there is to say about its shape, which the configuration decides."""

    gang: Gang
    items: tuple[Item, ...]
    findings: tuple[Finding, ...] = ()


class Survey(NamedTuple):
    """What the items ask for. `present` are all items of kinds that can become gangs, whether they want to or not;
    `undecided` are those of them that a selector leaves out: another configuration may make gangs of them."""

    asked: tuple[Asked, ...]
    present: tuple[Item, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[Item, ...] = ()


class _Wish(NamedTuple):
    item: Item
    options: GangOptions
    group: Group


def survey(items: Iterable[Item], settings: Settings) -> Survey:
    """The gangs of `items`, in the order of their first resource.

    Resources of one namespace with the same `krmfn.dev/gang-group` are one gang; its members are in the order of kind
    and name, so that the order of the files does not show.
    """
    items = tuple(items)
    present = tuple(
        item for item in items if (item.ref.group, item.kind) in SOURCES and item.annotations.get(LOCAL) != "true"
    )
    findings: list[Finding] = list(find_strangers(items))
    undecided = []
    alone_or_joined: dict[tuple[str, str] | int, list[_Wish]] = {}
    for index, item in enumerate(present):
        chosen = options_for(settings, item)
        findings += [Finding(item, note) for note in chosen.notes]
        if chosen.options is None:
            if chosen.why == "not selected" and settings.select.mode == "Explicit":
                undecided.append(item)
            continue
        reading = read_tree(item.value, item.ref, chosen.options, settings)
        findings += [Finding(item, note) for note in reading.notes]
        if reading.group is not None:
            name = chosen.options.gang_group
            key = (item.namespace, name) if name else index
            alone_or_joined.setdefault(key, []).append(_Wish(item, chosen.options, reading.group))
    asked = tuple(_ask(wishes) for wishes in alone_or_joined.values())
    return Survey(asked, present, tuple(findings), tuple(undecided))


def _ask(wishes: list[_Wish]) -> Asked:
    """One gang over `wishes`."""
    from krmfn.shape import Member, join, shape

    wishes = sorted(wishes, key=lambda wish: (wish.item.kind, wish.item.name))
    items = tuple(wish.item for wish in wishes)
    groups = []
    findings: list[Finding] = []
    for wish in wishes:
        shaped = shape(wish.group, wish.options)
        findings += [Finding(wish.item, note) for note in shaped.notes]
        groups.append(shaped.group)
    name = wishes[0].options.gang_group
    if not name:
        first = wishes[0].item
        gang = _gang(name_gang(first.kind, first.name), items, groups[0], wishes[0].options.naming)
        return Asked(gang, items, tuple(findings))
    members = [Member(wish.item.ref, group, wish.options) for wish, group in zip(wishes, groups, strict=True)]
    joined = join(name, members)
    findings += [Finding(items[index], note) for index, note in joined.notes]
    return Asked(_gang(name, items, joined.group, joined.naming), items, tuple(findings))


def _gang(name: str, items: Sequence[Item], root: Group, naming: str) -> Gang:
    values = tuple(item.value for item in items)
    return Gang(name, items[0].namespace, tuple(item.ref for item in items), root, naming, values)
