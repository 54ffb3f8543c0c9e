"""What a pod's volume claims demand of a node, which claims no pod ever gets, and how many volumes a node can attach.

The volumes of a CSI driver are counted like a resource of the node.

Source: pkg/scheduler/framework/plugins/{volumebinding,volumezone,nodevolumelimits},
k8s.io/component-helpers/storage/volume.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.capacity.pods import PodKind
from krmfn.model.selectors import match_labels
from krmfn.model.values import Value, as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.facts import Amounts, ClusterNode, Facts, Resources, read_resources

UNREACHABLE = "node(s) didn't match PersistentVolume's node affinity"
UNZONED = "node(s) had no available volume zone"
UNBOUND = "pod has unbound immediate PersistentVolumeClaims"
UNBINDABLE = "node(s) didn't find available persistent volumes to bind"

_BETA = "failure-domain.beta.kubernetes.io/"
_GA = "topology.kubernetes.io/"
#: Labels of a volume that say where it is. A node that has none of them is in no zone, and takes every volume.
ZONES = tuple(f"{prefix}{name}" for prefix in (_BETA, _GA) for name in ("zone", "region"))
_DEFAULT = ("storageclass.kubernetes.io/", "storageclass.beta.kubernetes.io/")
_NOWHERE = {"matchExpressions": [{"key": key, "operator": "DoesNotExist"} for key in ZONES]}

#: Of the resources that count volumes.
PREFIX = "attachable-volumes-csi-"
_UNLIMITED = 10**18


class NodeTerms(NamedTuple):
    """A node has to match one of the node selector `terms`, or the scheduler gives the `reason`."""

    reason: str
    terms: Sequence[Any]


class Volumes:
    """The claims, volumes and storage classes of the facts."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._claims = facts.by_place("", "PersistentVolumeClaim")
        self._volumes = facts.by_name("", "PersistentVolume")
        self._classes = facts.by_name("storage.k8s.io", "StorageClass")

    def find_missing(self, pod: PodKind) -> str:
        """The scheduler's words for a claim that does not exist, or that no volume can be found for; empty when there
        is none that the facts know to be so."""
        for name in pod.claims:
            claim = self._claims.get((pod.namespace, name))
            if claim is None:
                if self._facts.lists_all("PersistentVolumeClaim"):
                    return f'persistentvolumeclaim "{name}" not found'
                continue
            if dig(claim, "metadata", "deletionTimestamp"):
                return f'persistentvolumeclaim "{name}" is being deleted'
            volume = as_text(claim, "spec", "volumeName")
            if volume and volume not in self._volumes and self._facts.lists_all("PersistentVolume"):
                return f'persistentvolume "{volume}" not found'
            if not volume and self._is_hopeless(claim):
                return self._explain(claim)
        return next((self._explain(claim) for claim in self.list_made(pod) if self._is_hopeless(claim)), "")

    def list_demands(self, pod: PodKind) -> tuple[NodeTerms, ...]:
        """What the claims demand of a node: of bound ones the volume's affinity and zone, of those that wait for their
        first consumer that a volume, or a place to make one, is there."""
        known = (self._claims.get((pod.namespace, name)) for name in pod.claims)
        claims = [*(claim for claim in known if claim is not None), *self.list_made(pod)]
        return tuple(demand for claim in claims for demand in self._list_demands(claim))

    def _list_demands(self, claim: Value) -> Iterator[NodeTerms]:
        name = as_text(claim, "spec", "volumeName")
        volume = self._volumes.get(name)
        if volume is not None:
            terms = _read_terms(volume)
            if terms is not None:
                yield NodeTerms(UNREACHABLE, terms)
            labels = as_mapping(volume, "metadata", "labels")
            for key in ZONES:
                if labels.get(key):
                    yield NodeTerms(UNZONED, _spell_zone(key, labels[key]))
        elif not name and self._waits(claim):
            found = [_read_terms(volume) for volume in self._find_candidates(claim)]
            if not self._is_static(claim):
                found.append(_read_places(self.find_storage(claim)))
            if None not in found:  # else it can be anywhere
                yield NodeTerms(UNBINDABLE, [term for terms in found for term in terms or ()])

    def _knows_all(self) -> bool:
        """Whether the facts tell all volumes that a claim can get, and what makes more of them."""
        return all(map(self._facts.lists_all, ("PersistentVolume", "StorageClass")))

    def find_storage(self, claim: Value) -> Value | None:
        """The storage class of a claim; None where there is none, or it is not known."""
        return self._classes.get(self._find_class(claim))

    def _find_class(self, claim: Value) -> str:
        """The name of a claim's storage class: of one that names none, the default one; empty for none at all."""
        named = dig(claim, "spec", "storageClassName")
        if named is not None:
            return as_text(named)
        older = as_text(claim, "metadata", "annotations", "volume.beta.kubernetes.io/storage-class")
        return older or next((name for name, value in self._classes.items() if _is_default(value)), "")

    def is_told(self, space: str, name: str) -> bool:
        """Whether the facts tell what becomes of a claim: a bound one's volume, or the volumes that an unbound one can
        get where nothing makes more of them."""
        claim = self._claims.get((space, name))
        if claim is None:
            return self._facts.lists_all("PersistentVolumeClaim")
        volume = as_text(claim, "spec", "volumeName")
        return volume in self._volumes if volume else self._is_static(claim)

    def list_made(self, pod: PodKind) -> Iterator[Value]:
        """The claims that will be made for each pod, but for those that are there already."""
        reserved = [as_mapping(volume, "spec", "claimRef") for volume in self._volumes.values()]
        there = [*self._claims, *((as_text(ref, "namespace"), as_text(ref, "name")) for ref in reserved)]
        for claim in pod.made:
            prefix, suffix = claim["prefix"], claim["suffix"]
            if not any(
                space == pod.namespace and name.startswith(prefix) and name.endswith(suffix) for space, name in there
            ):
                yield claim

    def _is_hopeless(self, claim: Value) -> bool:
        """Whether no volume is there for an unbound claim, and nothing makes one."""
        return self._is_static(claim) and not self._find_candidates(claim)

    def _explain(self, claim: Value) -> str:
        """What the scheduler says of a claim for which there is no volume, and the class where it is to blame."""
        if self._waits(claim):
            return UNBINDABLE
        name = self._find_class(claim)
        return f'{UNBOUND} (no StorageClass "{name}")' if name and name not in self._classes else UNBOUND

    def _is_static(self, claim: Value) -> bool:
        """Whether nothing makes a volume for the claim."""
        storage = self.find_storage(claim)
        made = storage is not None and storage.get("provisioner") != "kubernetes.io/no-provisioner"
        return self._knows_all() and not made

    def _waits(self, claim: Value) -> bool:
        """Whether the scheduler chooses the volume."""
        return self._knows_all() and dig(self.find_storage(claim), "volumeBindingMode") == "WaitForFirstConsumer"

    def _find_candidates(self, claim: Value) -> list[Value]:
        name = self._find_class(claim)
        return [volume for volume in self._volumes.values() if _may_serve(volume, claim, name)]

    def is_single(self, pod: PodKind) -> bool:
        """Whether only one pod can use one of the claims."""
        claims = (self._claims.get((pod.namespace, name)) for name in pod.claims)
        return any(as_list(claim, "spec", "accessModes") == ["ReadWriteOncePod"] for claim in claims)


def _is_default(storage: Value) -> bool:
    annotations = as_mapping(storage, "metadata", "annotations")
    return any(as_text(annotations.get(f"{prefix}is-default-class")) == "true" for prefix in _DEFAULT)


def _read_terms(volume: Value) -> Sequence[Any] | None:
    """The node selector terms of a volume; None when it can be used everywhere."""
    terms = dig(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
    return None if terms is None else as_list(terms)


def _spell_zone(key: str, value: object) -> list[Any]:
    """The nodes of a volume with this label, whose value can be several zones, as node selector terms."""
    wanted = {"operator": "In", "values": as_text(value).split("__")}
    newer = key.replace(_BETA, _GA)
    terms = [{"matchExpressions": [{**wanted, "key": key}]}, _NOWHERE]
    if newer != key:
        terms.append({"matchExpressions": [{"key": key, "operator": "DoesNotExist"}, {**wanted, "key": newer}]})
    return terms


def _read_places(storage: Value | None) -> Sequence[Any] | None:
    """Where a class makes volumes, as node selector terms; None for everywhere."""
    expressions = (as_list(place, "matchLabelExpressions") for place in as_list(storage, "allowedTopologies"))
    found = [
        {"matchExpressions": [{**as_mapping(entry), "operator": "In"} for entry in entries]} for entries in expressions
    ]
    return found or None


def _may_serve(volume: Value, claim: Value, storage: str) -> bool:
    """Whether an unbound claim of this storage class can get the volume."""
    wanted, given = as_mapping(claim, "spec"), as_mapping(volume, "spec")
    reserved = given.get("claimRef")
    if reserved is not None and any(
        as_text(reserved, field) != as_text(claim, "metadata", field)
        for field in ("namespace", "name", *(["uid"] if dig(reserved, "uid") else []))
    ):
        return False
    size, modes = read_resources(given.get("capacity")).get("storage"), given.get("accessModes")
    least = read_resources(dig(wanted, "resources", "requests")).get("storage", 0)
    labels = as_mapping(volume, "metadata", "labels")
    return (
        as_text(given, "storageClassName") == storage
        and (size is None or size >= least)
        and (modes is None or all(mode in as_list(modes) for mode in as_list(wanted, "accessModes")))
        and (given.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
        and not dig(volume, "metadata", "deletionTimestamp")
        and (wanted.get("selector") is None or match_labels(wanted["selector"], labels, lambda _: False) is True)
    )


def read_limits(facts: Facts) -> Mapping[str, Resources]:
    """How many volumes each node can attach, by the resource of the driver; of drivers without a limit nothing."""
    limits: dict[str, Amounts] = defaultdict(dict)
    for value in facts.objects("storage.k8s.io", "CSINode"):
        mine = limits[as_text(value, "metadata", "name")]
        for driver in as_list(value, "spec", "drivers"):
            most = as_int(driver, "allocatable", "count")
            if most is not None:
                mine[f"{PREFIX}{as_text(driver, 'name')}"] = most * 10**9
    return limits


def limit_attachments(nodes: Sequence[ClusterNode], limits: Mapping[str, Resources]) -> Sequence[ClusterNode]:
    """The nodes, each with the volumes that it can attach; where its CSINode names no limit, any number."""
    names = {name for mine in limits.values() for name in mine}
    return [
        node._replace(allocatable={**node.allocatable, **dict.fromkeys(names, _UNLIMITED), **limits.get(node.name, {})})
        for node in nodes
    ]


def count_attachments(pod: PodKind, volumes: Volumes, limited: Collection[str]) -> Resources:
    """The volumes that are made for each pod of a kind, by the resources that are `limited` on some node."""
    found: Amounts = defaultdict(int)
    for claim in volumes.list_made(pod) if limited else ():
        name = f"{PREFIX}{as_text(volumes.find_storage(claim), 'provisioner')}"
        if name in limited:
            found[name] += 10**9
    return found
