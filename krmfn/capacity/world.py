"""The cluster as the facts describe it and as the input will fill it: nodes, volumes, who else is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krmfn.capacity.admission import Refusal, find_refusal, list_usage
from krmfn.capacity.nodes import Room, sort_nodes
from krmfn.capacity.pods import PodKind, Term, selects
from krmfn.capacity.selectors import match_labels
from krmfn.survey.values import as_list, as_mapping, as_text, dig

if TYPE_CHECKING:
    from krmfn.capacity.obeyed import Obeyed
    from krmfn.capacity.pods import Spread
    from krmfn.survey.facts import Facts, Node, Resources


class World:
    """Nodes by kind, and answers about what pods refer to. `kinds` are all kinds of pods of the input."""

    def __init__(
        self, facts: Facts, nodes: Sequence[Node], kinds: Sequence[PodKind], keys: Sequence[str], obeyed: Obeyed
    ) -> None:
        self.facts, self.kinds, self.obeyed = facts, kinds, obeyed
        self._claims = _index(facts.objects("", "PersistentVolumeClaim"))
        self._devices = _index(facts.objects("resource.k8s.io", "ResourceClaim"))
        self._volumes = {
            as_text(dig(value, "metadata", "name")): value for value in facts.objects("", "PersistentVolume")
        }
        #: What bounds.fit worked out, by the identity of the kind.
        self.fittings: dict[int, Any] = {}
        self._refusals: dict[int, Refusal | None] = {}
        self._usages: dict[int, Resources] = {}
        #: Whether the facts say which nodes there are.
        self.known = facts.nodes is not None
        terms = [term for kind in kinds for found in self.volumes_of(kind) for term in as_list(found)]
        self.room: Room = sort_nodes(nodes, kinds, keys, terms)

    def refusal(self, pod: PodKind) -> Refusal | None:
        """Why the API server never creates pods of this kind, as far as is known."""
        if id(pod) not in self._refusals:
            self._refusals[id(pod)] = find_refusal(pod, self.facts)
        return self._refusals[id(pod)]

    def usage(self, pod: PodKind) -> Resources:
        """What one pod of the kind takes from quotas."""
        if id(pod) not in self._usages:
            self._usages[id(pod)] = list_usage(pod, self.facts)
        return self._usages[id(pod)]

    def missing_claim(self, pod: PodKind) -> str:
        """The scheduler's words for a claim that does not exist, or that no volume can be found for; empty when there
        is none that the facts know to be so."""
        for name in pod.devices:
            if self.facts.lists_all("ResourceClaim") and (pod.namespace, name) not in self._devices:
                return f'resourceclaim.resource.k8s.io "{name}" not found'
        for name in pod.claims:
            claim = self._claims.get((pod.namespace, name))
            if claim is None:
                if self.facts.lists_all("PersistentVolumeClaim"):
                    return f'persistentvolumeclaim "{name}" not found'
                continue
            volume = as_text(dig(claim, "spec", "volumeName"))
            if volume and volume not in self._volumes and self.facts.lists_all("PersistentVolume"):
                return f'persistentvolume "{volume}" not found'
            if not volume and self._finds_no_volume(claim):
                return "node(s) didn't find available persistent volumes to bind"
        return ""

    def _finds_no_volume(self, claim: Mapping[str, Any]) -> bool:
        """Whether nothing makes a volume for the claim, and none is there."""
        name = as_text(dig(claim, "spec", "storageClassName"))
        if not name or not self.facts.lists_all("PersistentVolume") or not self.facts.lists_all("StorageClass"):
            return False
        classes = {
            as_text(dig(value, "metadata", "name")): value
            for value in self.facts.objects("storage.k8s.io", "StorageClass")
        }
        storage = classes.get(name)
        static = storage is None or storage.get("provisioner") == "kubernetes.io/no-provisioner"
        return static and not any(
            as_text(dig(volume, "spec", "storageClassName")) == name and not dig(volume, "spec", "claimRef", "uid")
            for volume in self._volumes.values()
            if not _is_for_another(volume, claim)
        )

    def volumes_of(self, pod: PodKind) -> tuple[Any, ...]:
        """The node selector terms of the volumes that the pod's claims are bound to."""
        found = []
        for name in pod.claims:
            claim = self._claims.get((pod.namespace, name))
            volume = self._volumes.get(as_text(dig(claim, "spec", "volumeName")))
            terms = dig(volume, "spec", "nodeAffinity", "required", "nodeSelectorTerms")
            if terms is not None:
                found.append(terms)
        return tuple(found)

    def single_claims(self, pod: PodKind) -> bool:
        """Whether only one pod can use one of the claims."""
        claims = (self._claims.get((pod.namespace, name)) for name in pod.claims)
        return any(as_list(dig(claim, "spec", "accessModes")) == ["ReadWriteOncePod"] for claim in claims)

    def others_match(self, term: Term, owner: PodKind) -> bool:
        """Whether a pod of another kind may be what the term looks for; also when the facts do not list all pods."""
        return not self.facts.lists_all("Pod") or any(
            answer is not False for answer in self._answers(term, owner, lambda other: other is not owner)
        )

    def finds_nobody(self, term: Term, owner: PodKind) -> bool:
        """Whether no pod that there is or will be can be what the term looks for, its own kind included."""
        return self.facts.lists_all("Pod") and all(
            answer is False for answer in self._answers(term, owner, lambda _: True)
        )

    def _answers(self, term: Term, owner: PodKind, wanted: Any) -> Any:
        for other in self.kinds:
            if wanted(other):
                yield selects(term, owner, other.namespace, other.labels, other, self.facts)
        for pod in self.facts.objects("", "Pod"):
            space = as_text(dig(pod, "metadata", "namespace"))
            yield selects(term, owner, space, as_mapping(dig(pod, "metadata", "labels")), None, self.facts)

    def counts(self, spread: Spread, owner: PodKind) -> bool:
        """Whether a spread constraint certainly counts pods of this kind."""
        return match_labels(spread.selector, owner.labels, owner.may_get) is True

    def counts_only(self, spread: Spread, owner: PodKind) -> bool:
        """Whether a spread constraint certainly counts pods of this kind and certainly no others."""
        if not self.counts(spread, owner) or not self.facts.lists_all("Pod"):
            return False
        others = (other for other in self.kinds if other is not owner and other.namespace == owner.namespace)
        if any(match_labels(spread.selector, other.labels, other.may_get) is not False for other in others):
            return False
        return not any(
            as_text(dig(pod, "metadata", "namespace")) == owner.namespace
            and match_labels(spread.selector, as_mapping(dig(pod, "metadata", "labels")), lambda _: False)
            for pod in self.facts.objects("", "Pod")
        )


def _index(values: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    return {
        (as_text(dig(value, "metadata", "namespace")) or "default", as_text(dig(value, "metadata", "name"))): value
        for value in values
    }


def _is_for_another(volume: Mapping[str, Any], claim: Mapping[str, Any]) -> bool:
    """Whether the volume is reserved for a claim of another name."""
    reserved = dig(volume, "spec", "claimRef")
    wanted = [as_text(dig(claim, "metadata", field)) for field in ("namespace", "name")]
    return reserved is not None and [as_text(dig(reserved, field)) for field in ("namespace", "name")] != wanted
