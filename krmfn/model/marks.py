"""How a generated object is marked, so that the next run and the checks find it again. Knows no kind."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.item import Item, list_holding
from krmfn.krm.paths import Texts
from krmfn.krm.results import ResourceRef

#: Before the name of every annotation of ours, and the API group of our configuration.
PREFIX = "krmfn.dev/"
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "krmfn"
GENERATED_FROM = "krmfn.dev/generated-from"
REVISION = "krmfn.dev/revision"
#: On pods: the group that they are in, where a scheduler knows groups by labels.
POD_GROUP_LABEL = "krmfn.dev/group"
#: On pods: the PodGroup that the bridge links them to, and the label whose value it appends to the name.
POD_GROUP = "krmfn.dev/pod-group"
POD_GROUP_BY = "krmfn.dev/pod-group-by"
#: Who makes our patch of a training runtime, in the list of a TrainJob.
PATCHER = "krmfn.dev/gangs"
#: The object that `krmfn facts` writes; its spec is spelled like `spec.cluster` of the configuration.
FACTS_KIND = "ClusterFacts"
#: The kind by which users tell of their kinds.
KIND_KIND = "WorkloadKind"
#: What kinds our group has, in its only version.
OWN_KINDS = ("GangScheduling", KIND_KIND, FACTS_KIND)
OWN_VERSION = f"{PREFIX}v1alpha1"
#: What stands in every object that describes a kind: in those of ours, and in those of Karta.
KIND_WORDS = (KIND_KIND.encode(), b"structureDefinition")
#: API groups of objects that steer tools and are sent to no cluster.
TOOL_GROUPS = ("krmfn.dev", "kustomize.config.k8s.io", "kpt.dev")
#: On what kustomize and kpt read and nobody applies.
LOCAL_CONFIG = "config.kubernetes.io/local-config"
#: The names that kustomize says an object had before, oldest first.
PREVIOUS_NAMES = "internal.config.kubernetes.io/previousNames"
#: Kueue: the label that names the queue of a resource, and the annotation that says with how few pods a Job may start.
KUEUE_QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE_MINIMUM = "kueue.x-k8s.io/job-min-parallelism"
#: Kueue: the label of pods that it admits together; their Workload has this name.
KUEUE_POD_GROUP = "kueue.x-k8s.io/pod-group-name"
#: How Flux applies an object: `Merge` adds fields to the one that the cluster has, or creates it.
FLUX_APPLY = "kustomize.toolkit.fluxcd.io/ssa"
SYNC_WAVE = "argocd.argoproj.io/sync-wave"

#: What makes an object a hook of Argo CD or Helm, its weight among hooks (Argo CD: the sync wave), when it is deleted.
HOOKS = (
    ("argocd.argoproj.io/hook", "", "argocd.argoproj.io/hook-delete-policy"),
    ("helm.sh/hook", "helm.sh/hook-weight", "helm.sh/hook-delete-policy"),
)
#: What earlier versions wrote to make Argo CD and Flux create an object anew; taken off again.
RECREATE: Texts = {
    "argocd.argoproj.io/sync-options": "Force=true,Replace=true",
    "kustomize.toolkit.fluxcd.io/force": "enabled",
}


def is_local(item: Item) -> bool:
    """Whether an object is for kustomize and kpt alone, and is sent to no cluster."""
    return item.may_hold(LOCAL_CONFIG.encode()) and item.annotations.get(LOCAL_CONFIG, "false") != "false"


def leave_out_local(items: Iterable[Item]) -> list[Item]:
    """The items without those that are sent to no cluster."""
    items = list(items)
    local = {id(item) for item in list_holding(items, LOCAL_CONFIG.encode()) if is_local(item)}
    return [item for item in items if id(item) not in local] if local else items


def name_source(owner: ResourceRef) -> str:
    """The owner as the annotation spells it: `RayCluster.ray.io/demo`, `Pod/demo` in the core group."""
    kind = f"{owner.kind}.{owner.group}" if owner.group else owner.kind
    return f"{kind}/{owner.name}"


def name_sources(owners: Iterable[ResourceRef]) -> str:
    """All owners of a gang, sorted, so that the order of the input does not show."""
    return ",".join(sorted(map(name_source, owners)))


def is_generated(item: Item) -> bool:
    """Whether the object carries the label of generated objects."""
    return item.labels.get(MANAGED_BY) == MANAGER


def list_previous_names(item: Item) -> list[str]:
    """The names that the object had before in the same build, oldest first."""
    return [name for name in item.annotations.get(PREVIOUS_NAMES, "").split(",") if name]


def list_sources(item: Item) -> list[str]:
    """What the object was generated from, as `RayCluster.ray.io/demo`; empty without the mark."""
    return [source for source in item.annotations.get(GENERATED_FROM, "").split(",") if source]
