"""The census: which pods link to which group, computed once and read by every rule.

Names are resolved as kustomize does: a reference may spell a name that the object had before a prefix was put on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krmfn.krm.item import Item, Items, list_holding
from krmfn.model.marks import POD_GROUP, POD_GROUP_BY, PREVIOUS_NAMES, list_previous_names
from krmfn.model.podnumber import divide, read_slice
from krmfn.model.schedulers import DEFAULT_SCHEDULER, Scheduler
from krmfn.model.tree import Path
from krmfn.model.values import Key, Value, as_mapping, as_text, dig, group_by
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import GROUP_LINKS, LINK_FIELDS, SCHEDULING_KINDS
from krmfn.survey.facts import Facts, read_facts
from krmfn.survey.groups import Group, Workload, read_entries, read_group, read_workload
from krmfn.survey.lookup import list_owned
from krmfn.survey.members import Member, from_item

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _Make = TypeVar("_Make", bound=Callable[..., Any])

_NO_FACTS: Value = {}
#: Levels of groups that are followed: many times what schedulers support, and few enough to look at for each group.
HIGHEST = 32


class TemplateLink(NamedTuple):
    """What a pod template names as its group. `replica` is 1.35's podGroupReplicaKey; `path` leads to the name.

    With `bridged` an annotation names it, and the link bridge sets the link. With `by` the value of that label of a pod
    is appended to the name: the template has pods in the groups `<group>-0`, `<group>-1` and so on.
    """

    group: str
    replica: str
    path: Path
    bridged: bool = False
    by: str = ""


class Template(NamedTuple):
    """A pod template of an object: `pods` of it exist at once (None: unknown), in `replicas` sets that the label of its
    link tells apart (0: unknown)."""

    item: Item
    path: Path
    pods: int | None
    count_path: Path
    metadata: Value
    spec: Value
    link: TemplateLink | None
    replicas: int = 0
    apart: Path = ()

    @property
    def is_whole(self) -> bool:
        """Whether the spec of the pods is here; some operators write one of their own."""
        return "containers" in self.spec

    @property
    def spec_path(self) -> Path:
        """Where the pod's spec is in the object."""
        return self.apart or (*self.path, "spec")

    @property
    def metadata_places(self) -> tuple[tuple[Path, Any], ...]:
        """The metadata of the object and of its pods, each behind the path that leads to its `metadata`."""
        return ((), self.item.value.get("metadata")), (self.path, self.metadata)

    @property
    def scheduler(self) -> str:
        """The scheduler, with the API server's default."""
        return as_text(self.spec, "schedulerName") or DEFAULT_SCHEDULER

    @property
    def priority_class(self) -> str:
        """The class the author named."""
        return as_text(self.spec, "priorityClassName")


def count_pods(templates: Iterable[Template]) -> int | None:
    """How many pods of the templates exist at once; None where one of them does not say."""
    pods = [template.pods for template in templates]
    return None if None in pods else sum(number or 0 for number in pods)


class LinkedGang:
    """A group with the templates that link to it. In 1.35 every replica key makes a gang of its own.

    `quorum` is how many pods wait for each other, 0 where none do: to the API server a minCount of 0 is one that is not
    written, and it refuses both. `pods` is how many of the group exist at once, None when a template does not say;
    `owners` are the objects whose templates link here, in order.
    """

    __slots__ = ("group", "owners", "pods", "quorum", "templates")

    def __init__(self, group: Group, templates: Sequence[Template]) -> None:
        """Count."""
        self.group = group
        self.quorum = group.quorum or 0
        self.templates = templates
        self.pods = count_pods(templates)
        self.owners = tuple({id(template.item): template.item for template in templates}.values())

    def list_needed(self) -> list[Template]:
        """The templates without whose pods the quorum is not met, as far as anybody knows."""
        quorum = self.quorum or 1
        known = sum(each.pods or 0 for each in self.templates)
        unknown = sum(each.pods is None for each in self.templates)
        return [each for each in self.templates if unknown > (each.pods is None) or known - (each.pods or 0) < quorum]


class Census(NamedTuple):
    """The input, counted. `objects` is everything; `old` the earlier state, None when none was given. `shared` holds
    what several rules work out of it (see once)."""

    objects: Items
    old: Items | None
    templates: tuple[Template, ...]
    gangs: tuple[LinkedGang, ...]
    dangling: tuple[Template, ...]
    composites: Mapping[Key, Group]
    workloads: Mapping[Key, Workload]
    groups: Mapping[Key, Group]
    by_kind: Mapping[Key, Items]
    by_item: Mapping[int, Sequence[Template]]
    facts: Facts
    asking: tuple[Item, ...]
    shared: dict[Any, Any]

    @property
    def lost(self) -> tuple[Template, ...]:
        """The templates whose pods wait for a group that is neither in the input nor among the facts."""
        return tuple(
            each
            for each in self.dangling
            if each.link and (each.item.space, each.link.group) not in self.facts.groups
            if not each.spec.get("nodeName")  # a pod that its manifest binds does not wait
        )

    def kind(self, group: str, kind: str) -> Items:
        """The objects of one kind, in order."""
        return self.by_kind.get((group, kind), ())

    def list_scheduling(self) -> list[Item]:
        """The Workloads, PodGroups and CompositePodGroups of the input."""
        return [item for kind in SCHEDULING_KINDS for item in self.kind(GROUP, kind)]

    def gangs_with(self, *fields: str) -> list[LinkedGang]:
        """The gangs that have one of these fields in the spec of the group, of a group above it, or of its pods; in
        order. A rule about a field need not look at others, which are nearly all."""
        index = _index_fields(self)
        return [self.gangs[number] for number in sorted({place for field in fields for place in index.get(field, ())})]

    def linked(self, *fields: str) -> Iterator[tuple[LinkedGang, Template]]:
        """The templates of all gangs, or of those with one of these fields, each behind its gang."""
        gangs = self.gangs_with(*fields) if fields else self.gangs
        return ((gang, template) for gang in gangs for template in gang.templates)

    def gangs_of(self, group: str, kind: str) -> Sequence[tuple[LinkedGang, Item]]:
        """The gangs of pods of one kind of object, each with the object, in order."""
        return _index_owners(self).get((group, kind), ())

    def marked(self, part: str, key: str) -> Sequence[Template]:
        """The templates whose pods have this key among their labels or annotations (`part`), in order."""
        return _index_marks(self).get((part, key), ())

    def scheduled_by(self, scheduler: str) -> Sequence[Template]:
        """The templates of a scheduler's pods, in order."""
        return list_schedulers(self).get(scheduler, ())

    def has_text(self, word: str) -> bool:
        """False where no object has `word` in its keys and strings."""
        known: dict[str, bool] = self.shared.setdefault("words", {})
        if word not in known:
            sign = word.encode()
            likely = any(item.touched or item.source.list_signs((sign,)) for item in _list_texts(self))
            known[word] = likely and any(item.may_hold(sign) for item in self.objects)
        return known[word]

    def chain(self, group: Group) -> tuple[list[Group], str]:
        """The composites above `group`, nearest first, and what ends the chain: "", "missing", "cycle", or "deep" for
        the HIGHEST of them where there are more."""
        above: list[Group] = []
        seen = {id(group.item)}
        parent = group.parent
        while parent:
            composite = self.composites.get((group.namespace, parent))
            if composite is None:
                return above, "missing"
            if id(composite.item) in seen:
                return above, "cycle"  # which is another one from every group of it
            if len(above) == HIGHEST:
                return above, "deep"
            seen.add(id(composite.item))
            above.append(composite)
            parent = composite.parent
        return above, ""

    def ancestors(self, group: Group) -> list[Group]:
        """The composites above `group`, nearest first."""
        return self.chain(group)[0]

    def lineage(self, group: Group) -> list[Group]:
        """`group` and the composites above it, nearest first."""
        return [group, *self.ancestors(group)]

    def root(self, group: Group) -> Group:
        """The topmost group that `chain` reaches from `group`."""
        return self.lineage(group)[-1]

    def templates_of(self, item: Item) -> Sequence[Template]:
        """The pod templates of one object, in order."""
        return self.by_item.get(id(item), ())


def once(make: _Make) -> _Make:
    """Of a function of a census, also of one that takes settings, which are the same for a census: it is run once."""

    def recall(census: Census, *settings: Any) -> Any:
        if make not in census.shared:
            census.shared[make] = make(census, *settings)
        return census.shared[make]

    return recall  # type: ignore[return-value]  # it is called as `make` is


@once
def _index_fields(census: Census) -> dict[str, list[int]]:
    index = defaultdict(list)
    for number, gang in enumerate(census.gangs):
        group = gang.group
        groups = census.lineage(group)
        specs = [*(each.spec for each in groups), *(each.spec for each in gang.templates)]
        for field in set[str]().union(*specs):
            index[field].append(number)
    return index


@once
def _index_owners(census: Census) -> dict[Key, list[tuple[LinkedGang, Item]]]:
    index = defaultdict(list)
    for gang in census.gangs:
        for owner in gang.owners:
            index[owner.group_kind].append((gang, owner))
    return index


@once
def _index_marks(census: Census) -> dict[Key, list[Template]]:
    index = defaultdict(list)
    for template in census.templates:
        for part in ("labels", "annotations"):
            for key in as_mapping(template.metadata.get(part)):
                index[part, key].append(template)
    return index


@once
def list_schedulers(census: Census) -> dict[str, list[Template]]:
    """The templates by the scheduler of their pods."""
    return group_by(lambda template: template.scheduler, census.templates)


@once
def _list_texts(census: Census) -> list[Item]:
    """An object of each text."""
    return list({id(item if item.touched else item.source): item for item in census.objects}.values())


def group_marked(census: Census, part: str, key: str) -> dict[Key, list[Template]]:
    """The templates that carry a label or an annotation, by namespace and its value."""

    def name(template: Template) -> Key:
        return template.item.space, as_text(template.metadata[part][key])

    return group_by(name, (each for each in census.marked(part, key) if name(each)[1] and each.pods != 0))


def list_linked(census: Census, row: Scheduler) -> list[tuple[Item, list[Template]]]:
    """The PodGroups of another scheduler, each with the templates whose pods name it."""
    items = census.kind(row.group, "PodGroup")
    groups = group_marked(census, *row.link) if items else {}
    return [(item, groups.get(item.key, [])) for item in items]


def take_census(
    objects: Items,
    members: Iterable[Member],
    old: Items | None = None,
    cluster: Value = _NO_FACTS,
    asking: Iterable[Item] = (),
) -> Census:
    """Count. `members` come from the sources; other kinds with pod templates are counted here.

    `asking` are the objects that a gang is to be generated for.
    """
    read = group_by(lambda member: id(member.item), members)
    owned = list_owned(objects)
    templates: list[Template] = []
    groups: list[Group] = []
    composites: dict[Key, Group] = {}
    workloads: dict[Key, Workload] = {}
    for item in objects:
        if item.group != GROUP:
            if id(item) not in owned:
                templates += map(_template, from_item(item, read.get(id(item), ())))
        elif item.kind == "PodGroup":
            groups.append(read_group(item))
        elif item.kind == "CompositePodGroup":
            composites.setdefault(item.key, read_group(item))
        elif item.kind == "Workload":
            workloads.setdefault(item.key, read_workload(item))
            groups += read_entries(item)
    index: dict[Key, Group] = {}
    for group in groups:
        index.setdefault((group.namespace, group.name), group)
    renamed = {id(item) for item in list_holding(objects, PREVIOUS_NAMES.encode())}
    for known_names in (index, composites, workloads):
        _add_previous_names(known_names, renamed)
    gangs, dangling = _muster(groups, index, templates)
    by_kind = group_by(lambda item: item.group_kind, objects)
    by_item = group_by(lambda template: id(template.item), templates)
    facts = read_facts(cluster, by_kind)
    counted = (tuple(templates), gangs, dangling, composites, workloads, index, by_kind, by_item, facts)
    return Census(objects, old, *counted, tuple(asking), {})


def _template(member: Member) -> Template:
    whole = member.item.value if member.value is None else member.value
    value = dig(whole, *member.path) if member.path else whole
    spec = as_mapping(whole, *member.apart) if member.apart else as_mapping(value, "spec")
    direct = member.apart or dig(value, "annotations") is not None  # some kinds give pods theirs directly
    place: Path = () if direct else ("metadata",)
    metadata = as_mapping(value, *place)
    link = _read_bridged(metadata, (*member.path, *place)) or _link(spec, member.apart or (*member.path, "spec"))
    known = _count_sets(member, link.by) if link is not None and link.by else 0
    return Template(member.item, member.path, member.pods, member.count_path, metadata, spec, link, known, member.apart)


def _count_sets(member: Member, by: str) -> int:
    """How many groups the pods are in, by the text that tells them apart; 0: not known."""
    if by == member.by:
        return member.replicas
    told = read_slice(by)
    if told is None or by != divide(member.number, told.size) or member.numbered % told.size:
        return 0
    return member.numbered // told.size


def _read_bridged(metadata: Value, path: Path) -> TemplateLink | None:
    """What the annotations ask the link bridge for, which goes before any link in the template."""
    annotations = as_mapping(metadata, "annotations")
    base = as_text(annotations.get(POD_GROUP))
    if not base:
        return None
    return TemplateLink(base, "", (*path, "annotations", POD_GROUP), True, as_text(annotations.get(POD_GROUP_BY)))


def _link(spec: Value, path: Path) -> TemplateLink | None:
    if LINK_FIELDS.isdisjoint(spec):
        return None
    for place in GROUP_LINKS:
        name = as_text(spec, *place)
        if name:
            return TemplateLink(name, "", (*path, *place))
    workload, group = as_text(spec, "workloadRef", "name"), as_text(spec, "workloadRef", "podGroup")
    if workload and group:
        key = as_text(spec, "workloadRef", "podGroupReplicaKey")
        return TemplateLink(f"{workload}/{group}", key, (*path, "workloadRef", "podGroup"))
    return None


def _add_previous_names(known: dict[Key, Any], renamed: Collection[int]) -> None:
    """To groups, composites or Workloads by namespace and name, for items that may have had others."""
    for each in [each for each in known.values() if id(each.item) in renamed]:
        _, slash, entry = each.name.partition("/")
        for name in list_previous_names(each.item):
            known.setdefault((each.namespace, f"{name}/{entry}" if slash else name), each)


def _spread(template: Template, link: TemplateLink, index: Mapping[Key, Group]) -> Iterator[tuple[str, int | None]]:
    """The groups that the pods of a template are in, each with their number: those of one replica where a label tells
    replicas apart. Where it is not known how many there are, every group of such a name is one."""
    stem, pods = f"{link.group}-", template.pods
    if not link.by:
        yield link.group, pods
    elif label := as_text(template.metadata, "labels", link.by):
        yield stem + label, pods
    elif template.replicas:
        for number in range(template.replicas):
            yield f"{stem}{number}", None if pods is None else pods // template.replicas
    else:
        names = [name for space, name in index if space == template.item.space and name.startswith(stem)]
        numbered = [name for name in names if name[len(stem) :].isdecimal()]
        for name in numbered or names or [f"{stem}*"]:
            yield name, None


def _muster(
    groups: Iterable[Group], index: Mapping[Key, Group], templates: Iterable[Template]
) -> tuple[tuple[LinkedGang, ...], tuple[Template, ...]]:
    """The groups with the templates that link to them, and the templates that link to none of them."""
    linked: dict[int, dict[str, list[Template]]] = defaultdict(dict)
    dangling = []
    for template in templates:
        link = template.link
        if link is None:
            continue
        for name, pods in _spread(template, link, index):
            each = template._replace(pods=pods, link=link._replace(group=name)) if link.by else template
            group = index.get((each.item.space, name))
            if group is None:
                dangling.append(each)
            else:
                linked[id(group)].setdefault(link.replica, []).append(each)
    gangs = [LinkedGang(group, found) for group in groups for found in linked.get(id(group), {"": []}).values()]
    return tuple(gangs), tuple(dangling)
