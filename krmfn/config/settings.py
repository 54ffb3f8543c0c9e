"""The settings of a run as records. Holds no default: those stand in the schema of the configuration, and
`read_settings(None)` gives them. Knows nothing about reading.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from krmfn.krm.item import Items
from krmfn.krm.paths import Texts
from krmfn.krm.results import FileRef, Severity
from krmfn.model.values import Names, Value, Version, Versions
from krmfn.releases.release import Release, has

if TYPE_CHECKING:
    from krmfn.config.selectors import Selector

Scheduler: TypeAlias = 'Literal["Kubernetes", "Volcano", "SchedulerPlugins", "KAI"]'
LinkBy: TypeAlias = 'Literal["Template", "Bridge", "Auto"]'
Manager: TypeAlias = 'Literal["None", "KubernetesWAS", "Volcano", "YuniKorn", "SchedulerPlugins", "KAI"]'


class GangOptions(NamedTuple):
    """How the gang of one resource is formed (`spec.gang` of the configuration, overrides and annotations applied).

    `requested` says that somebody meant this resource: it carries an opt-in, or a selector names it.
    It is False when `select: All` swept it in; sources are then more careful. `levels` reads the text of `slices`.
    """

    granularity: Literal["Cluster", "Group", "Replica"]
    min_count: Literal["Replicas", "MinReplicas"] | int
    autoscaling: Literal["Skip", "MinReplicas"]
    topology_key: str
    group_topology_keys: Texts
    disruption_mode: str
    naming: Literal["Stable", "Revisioned"]
    gang_group: str
    slices: str
    min_groups: int | None
    group_min_counts: Mapping[str, int]
    requested: bool = False

    @property
    def levels(self) -> tuple[tuple[str, int], ...]:
        """The slices, each a topology key and a number of pods."""
        pairs = (part.strip().rpartition("=") for part in self.slices.split(",") if part)
        return tuple((key, int(size)) for key, _, size in pairs)

    @property
    def nested(self) -> bool:
        """Whether the pods of one template are in several groups that wait for each other."""
        return bool(self.slices) or (
            self.granularity == "Replica" and (self.min_groups is not None or bool(self.group_min_counts))
        )


class KubeRay(NamedTuple):
    """The KubeRay installation: version of its CRDs as (major, minor), and what the operator itself creates."""

    version: Version
    manages: Manager


class Select(NamedTuple):
    """Which resources become gangs. `selector` is set with mode Explicit only."""

    mode: Literal["OptIn", "All", "Explicit"]
    selector: Selector | None = None


class Override(NamedTuple):
    """Gang options, by field name of GangOptions, for the resources that `selector` matches."""

    selector: Selector
    changes: Value


#: The keys of `spec.rules` that hold rulings.
RULED = ("select", "ignore", "severity")


class Ruling(NamedTuple):
    """What counts of some findings. `rules` are ids, patterns of ids such as `pod-*`, or stages; `paths` are patterns
    as in .gitignore (none: everywhere). `place` is where it stands, where that is known."""

    rules: Names
    paths: Names = ()
    severity: Severity | None = None
    reason: str = ""
    place: FileRef | None = None


class Rulings(NamedTuple):
    """Which findings count, and how much. Nothing selected: all of them. Paths count from `folder`."""

    select: tuple[Ruling, ...] = ()
    ignore: tuple[Ruling, ...] = ()
    severity: tuple[Ruling, ...] = ()
    folder: str = "."


class Settings(NamedTuple):
    """Everything that the configuration says. `feature_gates` holds only those that were given, `api_versions` the
    pinned version of a kind; `assumed` says that nobody gave the release."""

    release: Release
    api_versions: Texts
    feature_gates: Mapping[str, bool]
    scheduler: Scheduler
    link: LinkBy
    kuberay: KubeRay
    #: Installed versions of other projects, by their keys in schemas/crds/projects.json.
    operators: Versions
    select: Select
    gang: GangOptions
    overrides: tuple[Override, ...]
    mode: Literal["Generate", "Validate"]
    emit_items: Literal["All", "None"]
    fail_on: Literal["error", "warning"]
    cluster: Value
    rules: Rulings = Rulings()
    assumed: bool = False
    #: Files with kinds of the user, as seen from the configuration.
    kind_files: Names = ()
    #: CustomResourceDefinitions that are not among the objects, as --crds gives them.
    definitions: Sequence[Value] = ()
    #: Others of the repository. It is not known which are applied, so those of one kind have to agree with each other,
    #: and with those that come with krmfn.
    rivals: Items = ()
    #: Whether the objects are those of a kustomization that may get a namespace from one that builds on it, or that
    #: nothing deploys where other folders are deployed.
    base: Literal["", "base", "undeployed"] = ""
    #: The priority classes of the cluster (survey.facts.PriorityClass) by name, while gangs are written.
    priority_classes: Mapping[str, Any] = {}

    def has(self, feature: str) -> bool:
        """Whether the cluster has a feature of its release, as far as the feature gates tell."""
        return has(self.release, self.feature_gates, feature)
