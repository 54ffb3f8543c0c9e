"""Which gangs a set of items asks for: selection, reading, shaping, joining across resources, and what speaks against a
group: its scheduler, or that its kind is not supported.

Changes nothing. Must not know how a gang is written down; that is the target's part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from krmfn.config import GangOptions, Settings, options_for
from krmfn.config.selection import OPT_IN, Selection
from krmfn.krm.item import Item, Items, list_holding, list_identified
from krmfn.krm.results import ABSENT, Severity
from krmfn.model.findings import Finding, Findings, Note
from krmfn.model.kinds import KINDS
from krmfn.model.marks import PREFIX, leave_out_local
from krmfn.model.names import name_gang
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.tree import Gang, Group, leaves
from krmfn.model.values import Value
from krmfn.model.wording import find_nearest
from krmfn.sources import is_read, read_tree
from krmfn.survey.lookup import list_owned, make_lookup

TYPE_CHECKING = False  # as typing spells it, without the time that importing it takes
if TYPE_CHECKING:
    from krmfn.sources.manifest import SourceReading


#: In the names of all annotations and labels by which a resource can ask for a gang: ours, and those of KubeRay.
_SIGNS = (PREFIX.encode(), b"ray.io/")


class Asked(NamedTuple):
    """A gang and the items that it is for, in the order in which its pod templates count their owners. `findings` are
    what there is to say about its shape, which the configuration decides."""

    gang: Gang
    items: tuple[Item, ...]
    findings: tuple[Finding, ...] = ()


class Survey(NamedTuple):
    """What the items ask for. `undecided` ones are left out by a selector: another configuration may select them."""

    asked: tuple[Asked, ...]
    findings: tuple[Finding, ...]
    undecided: tuple[Item, ...] = ()


class _Wish(NamedTuple):
    item: Item
    options: GangOptions
    group: Group
    value: Value


def survey(items: Items, settings: Settings) -> Survey:
    """The gangs of `items`, in the order of their first resource.

    Resources of one namespace with the same `krmfn.dev/gang-group` are one gang; its members are in the order of kind
    and name, so that the order of the files does not show.
    """
    find = make_lookup(items, settings)
    asking = list_holding(items, *_SIGNS)
    findings: list[Finding] = list(find_strangers(items if KINDS.aside else asking))
    undecided = []
    gangs: dict[object, list[_Wish]] = {}
    for item in _leave_out_made(asking if settings.select.mode == "OptIn" else items, items):
        chosen = _choose(settings, item)
        findings += [note.on(item) for note in chosen.notes]
        if chosen.options is None:
            if chosen.why == "not selected" and settings.select.mode == "Explicit":
                undecided.append(item)
            continue
        reading = read_tree(item.value, item.ref, chosen.options, settings, find)
        name = chosen.options.gang_group  # whose members are compared with each other
        if reading.group is not None and not name and (obstacle := find_obstacle(reading.group, settings)):
            reading = reading._replace(group=None, notes=(*reading.notes, obstacle))
        findings += [note.on(item, _weigh(note, chosen.options, reading)) for note in reading.notes]
        if reading.group is not None:
            wish = _Wish(item, chosen.options, reading.group, reading.value)
            gangs.setdefault((item.space, name) if name else id(item), []).append(wish)
    return Survey(tuple(map(_ask, gangs.values())), tuple(findings), tuple(undecided))


def list_present(items: Items) -> tuple[Item, ...]:
    """All items of kinds that can become gangs, whether they want to or not, save those that another one made."""
    return tuple(_leave_out_made(items, items))


def list_unasked(items: Items, settings: Settings) -> tuple[Item, ...]:
    """The items that can become gangs and of which nobody said whether they are to be one."""
    if settings.select.mode == "Explicit":  # a selector says it of all
        return ()
    return tuple(item for item in list_present(items) if _choose(settings, item).why == "not selected")


def _leave_out_made(some: Iterable[Item], items: Items) -> Iterator[Item]:
    """Those of some items that can become gangs, and that none of all the items made."""
    owned = list_owned(items)
    return (item for item in leave_out_local(_list_sources(some)) if id(item) not in owned)


def _list_sources(items: Iterable[Item]) -> Iterator[Item]:
    """The items of kinds that can become gangs."""
    known = {}
    for item in list_identified(items):
        ref = item.ref
        kind = (ref.api_version, ref.kind)
        if kind not in known:
            known[kind] = is_read(ref)
        if known[kind]:
            yield item
        elif not item.source.path:
            item.release()  # of a long list, which is often asked for no more than who its items are


def _choose(settings: Settings, item: Item) -> Selection:
    """As options_for; but annotations are not read where the text shows that nothing opts in."""
    mode, selector = settings.select
    is_left_out = mode == "OptIn" or (selector is not None and not selector.matches(item))
    if is_left_out and not item.may_hold(*_SIGNS):
        return Selection(None, "not selected")
    return options_for(settings, item)


def _weigh(note: Note, options: GangOptions, reading: SourceReading) -> Severity | None:
    """The severity of a note on a resource, None for the rule's. What nobody asked for in particular is not missed: a
    resource that its controller refuses gets no gang, and the others get theirs."""
    from krmfn.model.rules import RULES

    usual = RULES[note.rule].severity
    if reading.group is None and not options.requested and usual != "info":
        return "info" if usual == "warning" else "warning"
    return "warning" if options.requested and note.rule == "value-unknown" else None


def _weigh_minimum(note: Note, item: Item) -> Severity | None:
    """A minimum of the configuration is for all resources; those that cannot have it are told, and get their gangs."""
    configured = note.rule == "minimum-unused" and note.path[-1] not in item.annotations
    return "warning" if configured else None


def _ask(wishes: list[_Wish]) -> Asked:
    """One gang over `wishes`."""
    from krmfn.survey.shape import SharingResource, join, shape

    wishes = sorted(wishes, key=lambda wish: (wish.item.kind, wish.item.name))
    items = tuple(wish.item for wish in wishes)
    members = []
    findings = []
    for wish in wishes:
        shaped = shape(wish.group, wish.options)
        findings += [note.on(wish.item, _weigh_minimum(note, wish.item)) for note in shaped.notes]
        members.append(SharingResource(wish.item.ref, shaped.group, wish.options))
    ref, root, options = members[0]
    name = options.gang_group or name_gang(ref.kind, ref.name)
    naming: str = options.naming
    if options.gang_group:
        root, naming, notes = join(name, members)
        findings += [note.on(items[index]) for index, note in notes]
    owners, values = tuple(member.ref for member in members), tuple(wish.value for wish in wishes)
    return Asked(Gang(name, ref.namespace, owners, root, naming, values), items, tuple(findings))


#: Schedulers with groups of their own. They ignore those of scheduling.k8s.io, and default-scheduler ignores theirs.
OTHER_SCHEDULERS = frozenset({"yunikorn", *(row.name for row in SCHEDULERS.values())})


def find_obstacle(group: Group, settings: Settings) -> Note | None:
    """Why a resource gets no group although it has pods, None when nothing speaks against one."""
    if settings.scheduler != "Kubernetes":
        return None
    templates = [template for leaf in leaves(group) for template in leaf.templates]
    schedulers = {template.scheduler for template in templates}
    if len(schedulers) != 1 or schedulers.isdisjoint(OTHER_SCHEDULERS):  # two of one gang are a mistake of their own
        return None
    (scheduler,) = schedulers
    from krmfn.model.rules import tell

    choice = next((choice for choice, row in SCHEDULERS.items() if row.name == scheduler), "Volcano")
    path = (*templates[0].path, "spec", "schedulerName")
    return tell("scheduler-elsewhere", path, "", scheduler, choice=choice)


def find_strangers(items: Iterable[Item]) -> Findings:
    """A finding for every item that carries krmfn.dev/gang: "true" and is of no kind that is read: silence would look
    like success. Looks at the bytes before anything is read, since most items ask for nothing. Of a kind that somebody
    has described elsewhere, those that say nothing get one, too."""
    for item in items if KINDS.aside else list_holding(items, OPT_IN.encode()):
        said = item.annotations.get(OPT_IN, "true" if item.group_kind in KINDS.aside else "")
        if said == "true" and not is_read(item.ref):
            message = f"{item.api_version} {item.kind} cannot become a gang: krmfn does not support this kind"
            path = ("metadata", "annotations", OPT_IN)
            severity: Severity | None = None if OPT_IN in item.annotations else "info"
            found = Finding(item, path, message, item.get(path, ABSENT), hint=_suggest(item), severity=severity)
            yield found._replace(rule="kind-not-supported")


def _suggest(item: Item) -> str:
    """The kind that was probably meant: the same word in another group, or a similar one."""
    if item.group_kind in KINDS.aside:
        return "The build does not know its WorkloadKind: list that file under resources: of the kustomization."
    read = [key for key, row in KINDS.items() if row.is_read]
    nearest = find_nearest(item.kind, sorted({kind for _, kind in read}), 0.8)
    groups = sorted(group for group, kind in read if kind == nearest)
    if nearest != item.kind and item.group not in groups and "." in item.group:
        return (
            "Describe the kind in a file among these manifests, in a kustomization under resources:; "
            "krmfn kinds --from its CustomResourceDefinition drafts it."
        )
    if not nearest:
        return 'Remove the annotation. "What each kind becomes" in the documentation lists the supported kinds.'
    return f"Did you mean {' or '.join(f'{nearest} of {group}' if group else f'{nearest} of v1' for group in groups)}?"
