"""What pods get after they are written and before they are scheduled: tolerations and labels to select nodes by.

Source: plugin/pkg/admission/extendedresourcetoleration; Kueue's pkg/podset (the nodeLabels and tolerations of the
flavors that it assigns).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from krmfn.krm.item import Item
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import as_list, as_mapping, as_text
from krmfn.survey.facts import Facts

_KUEUE: Final = "kueue.x-k8s.io"
_PLUGIN: Final = "ExtendedResourceToleration"
#: Labels of the nodes of managed clusters whose API servers run the plugin: GKE, EKS, AKS.
_MANAGED: Final = ("cloud.google.com/gke", "eks.amazonaws.com/", "kubernetes.azure.com/")
_EVERYTHING: Final[Mapping[str, Any]] = {"operator": "Exists"}


def list_added_tolerations(item: Item, requests: Iterable[str], facts: Facts) -> Iterator[Mapping[str, Any]]:
    """Tolerations that pods of `item` with these requests may get: of any flavor that Kueue may assign, everything
    where the flavors are not known; and for taints that are called like a requested extended resource."""
    if item.labels.get(KUEUE_QUEUE):
        groups = _find_flavors(item, facts)
        flavors = [flavor for group in groups or () for flavor in group]
        if groups is None and facts.lists_all("ResourceFlavor"):
            flavors = list(facts.objects(_KUEUE, "ResourceFlavor"))
        elif groups is None:
            yield _EVERYTHING
        yield from (each for flavor in flavors for each in as_list(flavor, "spec", "tolerations"))
    if _runs_plugin(facts):
        yield from ({"key": name, "operator": "Exists", "effect": "NoSchedule"} for name in requests if "/" in name)


def list_added_labels(item: Item, facts: Facts) -> Mapping[str, Any]:
    """The labels that nodes need besides, for what Kueue admits: those of a flavor without an alternative, if any node
    has them (a rule about Kueue tells where none has)."""
    groups = _find_flavors(item, facts) if item.labels.get(KUEUE_QUEUE) else None
    labels: dict[str, Any] = {}
    for group in groups or ():
        given = as_mapping(group[0], "spec", "nodeLabels") if len(group) == 1 else {}
        if any(given.items() <= node.labels.items() for node in facts.nodes or ()):
            labels |= given
    return labels


def _find_flavors(item: Item, facts: Facts) -> Sequence[Sequence[Mapping[str, Any]]] | None:
    """The flavors of the queue that an object waits in, by group of resources; None where one is not known."""
    local = facts.by_place(_KUEUE, "LocalQueue").get((item.space, item.labels[KUEUE_QUEUE]))
    queue = facts.by_name(_KUEUE, "ClusterQueue").get(as_text(local, "spec", "clusterQueue"))
    flavors = facts.by_name(_KUEUE, "ResourceFlavor")
    groups = [
        [as_text(flavor, "name") for flavor in as_list(group, "flavors")]
        for group in as_list(queue, "spec", "resourceGroups")
    ]
    if not groups or not flavors.keys() >= {name for names in groups for name in names}:
        return None
    return [[flavors[name] for name in names] for names in groups]


def _runs_plugin(facts: Facts) -> bool:
    managed = any(key.startswith(_MANAGED) for node in (facts.nodes or ())[:10] for key in node.labels)
    return managed or _PLUGIN in facts.plugins
