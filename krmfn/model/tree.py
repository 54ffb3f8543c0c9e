"""The tree of groups: what has to start together. Plain data between sources and targets; imports no logic.

A *leaf* is pods that are counted together, a *composite* is groups that are counted together. A leaf can stand for
several pod templates: with one gang over a whole RayCluster, head and workers are one leaf.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from krmfn.krm.results import ResourceRef
from krmfn.model.values import Value

Path = tuple[str | int, ...]
#: "" or a key of a release's `modes`.
DisruptionMode: TypeAlias = str


class PodTemplate(NamedTuple):
    """A pod template of a source, and how many pods of it exist at once.

    `owner` is the index of the source object among those that share the gang (0 unless a gang spans resources).
    `path` leads to the PodTemplateSpec, `count_path` to the field that a person changes to change `pods`.
    The pods of a `bridged` one are linked when they are created, by annotations. `beside` are fields that have to stand
    in the manifest with the link, each with its value. With `apart` there is no PodTemplateSpec: `path` leads to an
    entry whose annotations the pods get, `apart` to fields of their spec.
    """

    owner: int
    path: Path
    pods: int
    count_path: Path
    priority_class: str = ""
    scheduler: str = ""
    preemption_policy: str = ""
    bridged: bool = False
    beside: tuple[tuple[Path, str], ...] = ()
    apart: Path = ()

    @property
    def metadata_path(self) -> Path:
        """Where the labels and annotations of the pods are."""
        return self.path if self.apart else (*self.path, "metadata")

    @property
    def spec_path(self) -> Path:
        """Where the pods' spec is."""
        return self.apart or (*self.path, "spec")


class Leaf(NamedTuple):
    """Pods that are scheduled as one group. `min_count` None means policy basic: no quorum. A `head` is always a single
    pod, which leads the others.

    With `by`, the pods are `replicas` sets alike, and the value of that label of a pod is the number of its set, from 0
    on. `min_count` is that of all sets, until `survey.shape` makes a group of each. `number` is the sum of labels that
    is a pod's own number among all of them (model.podnumber), "" where they have none.
    """

    name: str
    templates: tuple[PodTemplate, ...]
    min_count: int | None
    topology_key: str = ""
    disruption_mode: DisruptionMode = ""
    head: bool = False
    replicas: int = 1
    by: str = ""
    number: str = ""
    unit: str = ""
    first: int = 1

    @property
    def pods(self) -> int:
        """How many pods of the group exist at once; of all sets."""
        return sum(template.pods for template in self.templates)

    @property
    def size(self) -> int:
        """How many pods of one set exist at once."""
        return self.pods // self.replicas if self.replicas else 0


class Composite(NamedTuple):
    """Groups that are scheduled as one. `min_group_count` None means policy basic.

    It stands for `replicas` groups alike, among which those of its children are shared out. With `whole` each of them
    is a gang with all of its leaves, and those of one `unit` are in groups of their own below it.
    """

    name: str
    children: tuple[Group, ...]
    min_group_count: int | None
    topology_key: str = ""
    disruption_mode: DisruptionMode = ""
    replicas: int = 1
    whole: bool = False

    @property
    def width(self) -> int:
        """How many groups each of them has below it."""
        return sum(child.replicas for child in self.children) // self.replicas


Group = Leaf | Composite


class Gang(NamedTuple):
    """Pods that start together, and the resources they come from.

    `name` is the name of the Workload and of the root group: `names.name_gang(kind, name)`, or the name that the
    members of a gang across resources share. `owners` are in the order that `PodTemplate.owner` counts. `naming` is
    "Stable" or "Revisioned". `values` are the owners' manifests, in the same order; only Volcano's target reads them
    (requests and queues), and revisions of kinds that replace their pods by a second set.
    """

    name: str
    namespace: str
    owners: tuple[ResourceRef, ...]
    root: Group
    naming: str = "Stable"
    values: tuple[Value, ...] = ()


def leaves(group: Group) -> tuple[Leaf, ...]:
    """The leaves below `group`, in order; a leaf is its own only one."""
    if isinstance(group, Leaf):
        return (group,)
    return tuple(leaf for child in group.children for leaf in ((child,) if isinstance(child, Leaf) else leaves(child)))
