"""What there is to know of each kind that makes pods: a file per kind, a WorkloadKind, in `schemas/kinds`.

Who reads a census, an update or kustomize's name references takes it from here alone. A file is read when its kind
turns up. Source: the CRDs and controllers of the projects, at the versions that docs/reference/mapping.md names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from krmfn.krm.lines import read_lines
from krmfn.krm.paths import Path, Texts
from krmfn.krm.results import ResourceRef
from krmfn.model.values import Key, Names, Value, Version, Versions, without_nulls
from krmfn.releases import schemastore
from krmfn.releases.release import Release


class Factor(NamedTuple):
    """A number that pods are counted by: that in `field`, or that of its `entries`, or `default` where it is absent,
    plus `plus`; and not below or above two other numbers. These and the default may be in other fields. It is
    one less where the field `less` is set, is divided by the number in `over`, and is 1 where `where` is not set.
    Without a field it is `default`. With `names`, lists of names of roles, it is the number of the entry whose list has
    the role, 1 where none has. Pods beyond those of the number in `first` come when the first ones run."""

    field: str = ""
    default: int | str = 1
    entries: bool = False
    plus: int = 0
    at_least: int | str = ""
    at_most: int | str = ""
    over: str = ""
    where: str = ""
    less: str = ""
    names: str = ""
    first: str = ""

    @property
    def beginning(self) -> Factor:
        """What counts the pods that do not wait for others to run."""
        return self._replace(field=self.first or self.field)


class Condition(NamedTuple):
    """Whether `field`, or the entry `key` of the mapping there, has the value `value`, or is set where that is None;
    with `unless` the opposite. Without a field it always holds. `reason` and `hint` say what follows; with
    `granularity` for that one alone."""

    field: str = ""
    value: str | None = None
    default: str = ""
    key: str = ""
    unless: bool = False
    reason: str = ""
    hint: str = ""
    granularity: str = ""


class TemplatePath(NamedTuple):
    """A pod template of a kind. In paths `*` stands for every entry of a list or a mapping.

    There are as many pods as the product of `factors` says, None where the object does not say it. A template that
    is `aside` makes pods that belong to no gang. `roles` are the keys that a mapping on the way can have. `name` is
    what its group is called, `name_field` the field of an entry that says it, `noun` what a message calls it. `minimum`
    is the product that at least has to run; with the keys in `elastic`, it always is the quorum. A `head` is a single
    pod that leads the others. `index_labels` are the labels of a pod with the numbers of its replica, which the first
    factors count, `number_label` that with the number of the pod in its replica. Its pods are created when the others
    run where it is `late`. With `spec` it is no pod template, but an entry whose annotations the pods get; fields of
    their spec are there.
    """

    path: str
    factors: tuple[Factor, ...] | None = ()
    aside: bool = False
    roles: Names = ()
    name: str = ""
    name_field: str = "name"
    noun: str = "role"
    minimum: tuple[Factor, ...] = ()
    elastic: Names = ()
    late: tuple[Condition, ...] = ()
    head: bool = False
    index_labels: Names = ()
    number_label: str = ""
    spec: str = ""

    @property
    def counted(self) -> str:
        """The field that a person changes to change the number of pods, empty where there is none."""
        return self.factors[0].field if self.factors else ""


class KindRow:
    """A kind that makes pods.

    `gang` says when it gets one: ByDefault, OnRequest or Never; `reason` and `hint` then say why, and what to do
    instead; of resources in which a condition of `excluded` holds none is possible. `keeper` is the first release of
    its CRD that keeps the link in pod templates: None for kinds that always keep it, "" where no release is known to;
    `early_keeper` is the release that keeps the link of Kubernetes 1.35, "" where none does, None where that is not
    known. `drops` names a version of the API, and the project, of which no release does. `project` is the key under
    which the configuration says which release is installed. `immutable` are fields of spec that cannot change,
    `immutable_running` those that can while the resource is suspended; checks of the server may know more. `managed_by`
    is the path of the field that hands the resource to a controller, `manager` the kind's own one. `order` says when
    the roles start one after the other. `staged` kinds do, or leave one out on purpose. `renewed` kinds build new pods
    beside the old ones; `kept` kinds leave running pods alone when their template changes. `rival` is the path of a
    field that switches on another gang scheduler, which `rival_name` calls by name. `owns` is the path of the field by
    which the kind's own controller makes the groups. `owner_labels` are those of pods that say whose they are. `whole`
    is the path of the field with the number of replicas of all roles, each of which starts by itself.
    """

    def __init__(self, spec: Value) -> None:
        """Read the `spec` of a WorkloadKind, which is free of problems by its schema."""
        spec = complete_roles(_inherit(without_nulls(spec)))
        link, roles, order = spec.get("link", {}), spec.get("roles", ()), spec.get("order", ())
        managed, rival = read_manager(spec), spec.get("rival", {})
        scaled = [{"when": spec["autoscaled"], "reason": _SCALED}] if spec.get("autoscaled") else []
        never, early = link.get("never", {}), link.get("earlier")
        self.group: str = spec["group"]
        self.name: str = spec["kind"]
        self.templates = tuple(map(_read_role, roles))
        self.gang: str = spec.get("gang", "ByDefault")
        self.reason: str = spec.get("reason", "")
        self.hint: str = spec.get("hint", "")
        kept_always = link.get("kept") == "Always" or (not link and "." not in self.group)
        self.keeper: str | None = None if kept_always else link.get("since", "")
        self.early_keeper: str | None = "" if early == "Never" else early
        dropped = ("", self.name) if link.get("kept") == "Never" else ("", "")
        self.drops: Key = next(iter(never.items()), dropped)
        self.project: str = link.get("project", "")
        self.immutable = tuple(spec.get("immutable", ()))
        self.immutable_running = tuple(spec.get("immutableRunning", ()))
        self.managed_by = split_path(managed.get("field", ""))
        self.manager = managed.get("controller", "")
        self.staged = bool(order) or any(role.get("late") for role in roles)
        self.order = () if order == "Optional" else _read_conditions(order)
        self.versions = tuple(spec.get("versions", ()))
        self.renewed, self.kept = (spec.get("update") == word for word in ("Beside", "Kept"))
        self.rival = split_path(rival.get("field", ""))
        self.rival_name: str = rival.get("name", "")
        self.owns = split_path(spec.get("ownScheduling", ""))
        self.owner_labels = tuple(spec.get("podLabels", ()))
        self.excluded = _read_conditions([*spec.get("except", ()), *scaled])
        self.whole = split_path(spec.get("replicas", ""))

    @property
    def shipped(self) -> bool:
        """Whether it is a kind that krmfn itself comes with."""
        return (self.group, self.name) in KINDS.shipped

    @property
    def has_gangs(self) -> bool:
        """Whether a gang is ever generated for it."""
        return self.gang != "Never"

    @property
    def is_read(self) -> bool:
        """Whether there is something to say of its resources: a gang, or why they get none."""
        return bool(self.has_gangs or self.reason)


_SCALED = "an autoscaler decides how many pods it has"
#: A condition as a text: `spec.a` (is set), `!spec.a`, `spec.a=value`, `metadata.annotations[example.com/b]!=value`.
_CONDITION = re.compile(r"(!?)([^!=[]+)(?:\[([^]]+)\])?(?:(!?)=(.*))?", re.DOTALL)


class _Kinds(Mapping[Key, KindRow]):
    """(API group, kind) -> its row. Names are known from the names of the files; a file is read for its row alone."""

    def __init__(self) -> None:
        self._rows: dict[Key, KindRow | None] = {}
        self._files: dict[Key, str] = {}
        self._own: dict[Key, KindRow] = {}
        self.aside: dict[Key, KindRow] = {}

    def forget_own(self) -> None:
        """Know the kinds that are shipped, and no others."""
        self._own, self.aside = {}, {}

    def put_aside(self, kept: Collection[Key] | None = None) -> None:
        """Know of the kinds that are not shipped those in `kept` alone, until the next call; without it all."""
        every = self.aside | self._own
        self._own = {key: row for key, row in every.items() if kept is None or key in kept}
        self.aside = {key: row for key, row in every.items() if key not in self._own}

    def add_own(self, rows: Iterable[KindRow]) -> None:
        """Know these kinds besides those that are shipped, or in their place."""
        self._own.update({(row.group, row.name): row for row in rows})

    @property
    def own(self) -> tuple[KindRow, ...]:
        """The kinds that are not shipped."""
        return tuple(self._own.values())

    @property
    def shipped(self) -> Collection[Key]:
        """The kinds that krmfn itself comes with."""
        return self._list_files().keys()

    def read_file(self, key: Key) -> str:
        """The text of the file of a shipped kind."""
        return schemastore.read_text(self._list_files()[key])

    def _list_files(self) -> Mapping[Key, str]:
        if not self._files:
            for file in sorted(os.listdir(f"{schemastore.root()}/kinds")):
                name, _, group = file.removesuffix(".yaml").partition(".")
                self._files[group, name] = f"kinds/{file}"
        return self._files

    def read_spec(self, key: Key) -> Value:
        """The `spec` in the file of a shipped kind. Raises KeyError."""
        lines = read_lines(self.read_file(key))
        assert lines is not None, f"{key}: not written in the plainest YAML"
        spec: Value = lines.value["spec"]
        return spec

    def find(self, key: Key) -> KindRow | None:
        """The row of a kind, None where krmfn knows nothing of it."""
        if key in self._own:
            return self._own[key]
        if key not in self._rows:
            self._rows[key] = KindRow(self.read_spec(key)) if key in self._list_files() else None
        return self._rows[key]

    def __getitem__(self, key: Key) -> KindRow:
        row = self.find(key)
        if row is None:
            raise KeyError(key)
        return row

    def __contains__(self, key: object) -> bool:
        return key in self._own or key in self._list_files()

    def __iter__(self) -> Iterator[Key]:
        return iter({**self._list_files(), **self._own})

    def __len__(self) -> int:
        return len({**self._list_files(), **self._own})


KINDS = _Kinds()


def split_kind(text: str) -> Key:
    """Group and kind of `RayCluster.ray.io`."""
    name, _, group = text.partition(".")
    return group, name


def _inherit(spec: Value) -> Value:
    """What the spec says, and else the spec of the kind that it is like; of one that it has at a field the roles, and
    what becomes of links."""
    if "like" not in spec:
        return spec
    other = _inherit(KINDS.read_spec(split_kind(spec["like"])))
    if "at" not in spec:
        return {**other, **spec}
    moved = _move({key: other[key] for key in ("roles", "ownScheduling", "link") if key in other}, spec["at"])
    return {**moved, **spec, "roles": [*moved["roles"], *spec.get("roles", ())]}


def complete_roles(spec: Value) -> Value:
    """The spec with whole roles: one that is like an earlier one has what that says, below its own template."""
    roles: list[Value] = []
    for role in spec.get("roles", ()):
        other = next((each for each in roles if "like" in role and each.get("name") == role["like"]), None)
        own = {word: each for word, each in role.items() if word != "like"} if other else role
        roles.append({**_move(other, role["template"], other["template"]), **own} if other else role)
    return {**spec, "roles": roles} if roles else spec


def read_manager(spec: Value) -> Texts:
    """The field that hands a resource to another controller, and the kind's own one; alone it is for spec.managedBy."""
    managed = spec.get("managedBy", {})
    return {"field": "spec.managedBy", "controller": managed} if isinstance(managed, str) else managed


def _move(value: Any, at: str, old: str = "spec") -> Any:
    """A value with the paths at and below `at` that are at and below `old`."""
    if isinstance(value, Mapping):
        return {key: _move(each, at, old) for key, each in value.items()}
    if isinstance(value, list):
        return [_move(each, at, old) for each in value]
    inside = isinstance(value, str) and f"{value}.".startswith(f"{old}.")
    return at + value.removeprefix(old) if inside else value


def _read_role(role: Value) -> TemplatePath:
    count = role.get("count", [])
    return TemplatePath(
        role["template"],
        None if count == "Unknown" else _read_factors(count),
        role.get("aside", False),
        tuple(role.get("keys", ())),
        role.get("name", ""),
        role.get("nameField", "name"),
        role.get("noun", "role"),
        _read_factors(role.get("minimum", [])),
        tuple(role.get("elastic", ())),
        _read_conditions(role.get("late", [])),
        role.get("head", False),
        (index,) if isinstance(index := role.get("index", ()), str) else tuple(index),
        role.get("podIndex", ""),
        role.get("podSpec", ""),
    )


def list_conditions(written: Any) -> list[Value]:
    """Conditions of which one has to hold, each as a mapping. One needs no list, and may be a text; those in `when`
    have what stands beside it. An empty one always holds: a word or true in place of a field."""
    found: list[Value] = []
    for each in written if isinstance(written, list) else [written] if written else []:
        if isinstance(each, Mapping):
            found += [{**each, **one} for one in list_conditions(each["when"])] if "when" in each else [each]
        elif isinstance(each, str) and each != "Optional" and (parts := _CONDITION.fullmatch(each)):
            words = zip(("field", "key", "value"), parts.group(2, 3, 5), strict=True)
            unless = bool(parts[1] or parts[4])
            found.append({**{word: part for word, part in words if part is not None}, "unless": unless})
        else:
            found.append({})
    return found


def _read_conditions(written: Any) -> tuple[Condition, ...]:
    return tuple(
        Condition(**{word: part for word, part in each.items() if word != "when"}) for each in list_conditions(written)
    )


def _read_factors(product: Any) -> tuple[Factor, ...]:
    """A product, whose one factor needs no list."""
    return tuple(map(_read_factor, product if isinstance(product, list) else [product]))


def _read_factor(factor: Any) -> Factor:
    """A factor as it is written: a number, a field, or a mapping."""
    if isinstance(factor, int):
        return Factor(default=factor)
    if isinstance(factor, str):
        return Factor(factor)
    entries = factor.get("entries", False)
    words = ("atLeast", "atMost", "dividedBy", "where", "oneLessWith", "naming", "first")
    more = (factor.get(word, "") for word in words)
    default = factor.get("default", 0 if entries else 1)
    return Factor(factor["field"], default, entries, factor.get("plus", 0), *more)


def split_path(path: str) -> Names:
    """The steps of a path as files of kinds write it; none of an empty one."""
    return tuple(path.split(".")) if path else ()


@lru_cache(1024)  # a kind has few fields, and its objects few entries
def place(field: str, stars: Path) -> Path:
    """The path of a field of a role, in the entry that `stars` lead to; a number in it is that of an entry."""
    left = iter(stars)
    return tuple(next(left, step) if step == "*" else _read_step(step) for step in split_path(field))


def _read_step(step: str) -> str | int:
    return int(step) if step.isdecimal() and len(step) < 10 else step


def find_kind(ref: ResourceRef) -> KindRow | None:
    """The row of the kind of an object, None where krmfn knows nothing of it."""
    return KINDS.find(ref.group_kind)


def list_names(group: str) -> list[str]:
    """The kinds of an API group."""
    return [name for other, name in KINDS if other == group]


def find_ray_cluster(kind: str) -> Names:
    """Where a kind of KubeRay keeps its cluster; () for other kinds."""
    row = KINDS.find(("ray.io", kind))
    return tuple(row.templates[0].path.split(".")[:-2]) if row else ()


def find_own_scheduling(ref: ResourceRef, release: Release) -> Names:
    """The path of the field by which the kind's own controller makes the groups, () where it has none."""
    kind, owns = find_kind(ref), release.owns.get(f"{ref.kind}.{ref.group}", "")
    return (kind.owns if kind else ()) or split_path(owns)


def kuberay_keeps(version: Version, field: str) -> bool:
    """Whether the CRDs of KubeRay `version`, which prune pod templates by their schema, keep the link `field` in them.
    Source: the CRDs at the tags v1.3.0 to v1.7.0."""
    return version == (1, 6) if field == "workloadRef" else version >= (1, 7)


def keeps_link(kind: KindRow, installed: Versions) -> bool | None:
    """Whether the CRD of a kind keeps `schedulingGroup` in pod templates, by the installed releases of projects; None
    where that is not known: no release is given, or one whose last number decides."""
    version = installed.get(kind.project)
    if version is None or not kind.keeper:
        return None
    *first, patch = map(int, f"{kind.keeper.rpartition(' ')[2].removeprefix('v')}.0".split(".")[:3])
    return None if patch and version == tuple(first) else version >= tuple(first)


def list_linked() -> list[KindRow]:
    """The kinds whose pod templates may keep a link to a group: Kubernetes' own, and those that krmfn generates for."""
    return [kind for kind in KINDS.values() if kind.has_gangs or "." not in kind.group]
