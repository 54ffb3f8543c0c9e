"""Groups as the scheduler sees them, read from the objects of any release into one shape.

1.35 has no PodGroup object: there every entry of a Workload's `podGroups` is one. Must not judge: a field of the wrong
type reads as absent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from krmfn.krm.item import Item
from krmfn.model.tree import Path
from krmfn.model.values import Key, Names, Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import COUNTS, TEMPLATES, find_word, read_fields, read_mode

Policy = Literal["gang", "basic", ""]
_POLICY = "schedulingPolicy"
#: The identity of the object that has the group, and the path in it: in 1.35 an object has several groups.
GroupKey = tuple[int, Path]


class Group(NamedTuple):
    """A PodGroup or, when `composite`, a CompositePodGroup.

    `path` is where its fields are: `spec`, or an entry of `spec.podGroups` in 1.35. `quorum` is minCount or
    minGroupCount, None when the policy is no gang (then one is enough) or the value is unreadable. `workload` and
    `template` are what it refers to. `spec` has the names of 1.37, whatever the release calls them.
    """

    item: Item
    namespace: str
    name: str
    path: Path
    policy: Policy
    quorum: int | None
    quorum_path: Path
    parent: str
    workload: str
    template: str
    spec: Value
    composite: bool = False

    @property
    def key(self) -> GroupKey:
        """What is different for every group."""
        return id(self.item), self.path

    @property
    def full_name(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def counted(self) -> str:
        """The name of the field with the quorum: `minCount`."""
        return str(self.quorum_path[-1])

    @property
    def topology_key(self) -> str:
        """The label of nodes of which all pods have to get one value; empty without a constraint."""
        return read_topology_key(self.spec)

    @property
    def disruption_mode(self) -> str:
        """The disruption mode that is written: `Pod`/`PodGroup` of 1.36 read as Single and All."""
        return read_mode(self.spec.get("disruptionMode"))

    @property
    def priority_class(self) -> str:
        """The class that the author named; admission may fill in a default later."""
        return as_text(self.spec, "priorityClassName")


class Workload(NamedTuple):
    """A Workload. `controller` is the group, kind and name of its controllerRef; `templates` are those of PodGroups and
    of CompositePodGroups by name, each with its path."""

    item: Item
    namespace: str
    name: str
    controller: tuple[str, str, str]
    templates: Mapping[str, tuple[Path, Value]]


def read_topology_key(spec: Value) -> str:
    """The key of the only topology constraint that there can be; empty without one."""
    return as_text(spec, "schedulingConstraints", "topology", 0, "key")


def read_entries(workload: Item) -> Iterator[Group]:
    """The groups in a Workload of 1.35; none in those of later releases."""
    if workload.api_version == f"{GROUP}/v1alpha1":
        for name, (path, spec) in _list_templates(workload.value):
            policy, quorum, field = read_policy(spec.get(_POLICY), "PodGroup")
            place = (*path, *_find_gang(dig(workload.value, *path)), field)
            full = f"{workload.name}/{name}"
            yield Group(workload, workload.space, full, path, policy, quorum, place, "", workload.name, name, spec)


def read_group(item: Item) -> Group:
    """Reads a PodGroup or CompositePodGroup of any release."""
    written = as_mapping(item.value, "spec")
    spec = read_fields(written)
    policy, quorum, field = read_policy(spec.get(_POLICY), item.kind)
    workload, template = _read_reference(spec)
    return Group(
        item=item,
        namespace=item.space,
        name=item.name,
        path=("spec",),
        policy=policy,
        quorum=quorum,
        quorum_path=("spec", *_find_gang(written), field),
        parent=as_text(spec, "parentCompositePodGroupName"),
        workload=workload,
        template=template,
        spec=spec,
        composite=item.kind == "CompositePodGroup",
    )


def read_workload(item: Item) -> Workload:
    """Reads a Workload of any release."""
    spec = dig(item.value, "spec")
    reference = as_mapping(spec, find_word(spec, "controllerRef"))
    controller = (as_text(reference, "apiGroup"), as_text(reference, "kind"), as_text(reference, "name"))
    return Workload(item, *item.key, controller, dict(_list_templates(item.value)))


def _list_templates(manifest: Value) -> Iterator[tuple[str, tuple[Path, Value]]]:
    open_lists: list[tuple[Path, Any]] = [(("spec",), manifest.get("spec"))]
    while open_lists:
        base, node = open_lists.pop(0)
        for name in ("podGroupTemplates", "compositePodGroupTemplates"):
            field = find_word(node, name)
            for index, entry in enumerate(as_list(node, field)):
                path = (*base, field, index)
                yield as_text(entry, "name"), (path, read_fields(as_mapping(entry)))
                if name == "compositePodGroupTemplates":
                    open_lists.append((path, entry))


def read_policy(value: object, kind: str) -> tuple[Policy, int | None, str]:
    """The policy of a group of this kind, or of a template for one: the name of the policy, the quorum (None if there
    is none, or if it is unreadable), and the name of the field that has it."""
    policy = as_mapping(value)
    gang, fields = as_mapping(policy, "gang"), COUNTS[kind]
    field = next((field for field in fields if field in gang), fields[0])
    if policy.get("gang") is not None:
        return "gang", as_int(gang.get(field)), field
    return ("basic" if policy.get("basic") is not None else "", None, field)


def _find_gang(fields: Any) -> Path:
    """The path of the gang policy in a group or a template, as its release spells it."""
    policy = find_word(fields, _POLICY)
    return policy, find_word(dig(fields, policy), "gang")


def _read_reference(spec: Value) -> Key:
    *path, last = find_reference(spec)
    value = as_mapping(spec, *path)
    return as_text(value, "workloadName"), as_text(value.get(last))


def find_reference(spec: Value) -> Names:
    """The path from the spec of a group to the name of its template, as its release spells it."""
    present = [path for path in TEMPLATES if as_mapping(spec, *path[:-1])]
    named = [path for path in present if dig(spec, *path) is not None]
    return (*named, *present, TEMPLATES[-1])[0]
