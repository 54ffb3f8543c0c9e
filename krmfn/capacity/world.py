"""The cluster as the facts describe it and as the input will fill it: nodes, volumes, who else is there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from krmfn.capacity.admission import Refusal, find_refusal, list_usage
from krmfn.capacity.devices import Devices, delegate
from krmfn.capacity.nodes import Room, sort_nodes
from krmfn.capacity.obeyed import Obeyed
from krmfn.capacity.pods import PodKind, Spread, Term, selects
from krmfn.capacity.volumes import PREFIX, Volumes, limit_attachments, read_limits
from krmfn.model.selectors import match_labels
from krmfn.model.values import as_mapping, as_text, key_of
from krmfn.survey.census import Census
from krmfn.survey.facts import ClusterNode, Resources


class ClusterModel:
    """Nodes by kind, and answers about what pods refer to. `kinds` are all kinds of pods of the input."""

    def __init__(self, census: Census, kinds: Sequence[PodKind], keys: Sequence[str], obeyed: Obeyed) -> None:
        facts = census.facts
        nodes: Sequence[ClusterNode] = facts.nodes or ()
        self.facts, self.kinds, self.obeyed = facts, kinds, obeyed
        own = {(each.item.space, each.item.name) for each in census.templates if each.item.kind == "Pod"}
        #: Those for which no kind stands.
        self.pods = [pod for pod in facts.objects("", "Pod") if key_of(pod) not in own]
        self.volumes = Volumes(facts)
        self.devices = Devices(facts)
        #: What bounds.fit worked out, by the identity of the kind.
        self.fittings: dict[int, Any] = {}
        self._refusals: dict[int, Refusal | None] = {}
        self._usages: dict[int, Resources] = {}
        #: Whether the facts say which nodes there are.
        self.known = facts.nodes is not None
        terms = [term for kind in kinds for demand in self.volumes.list_demands(kind) for term in demand.terms]
        asked = {name for kind in kinds for name in kind.requests}
        if any(name.startswith(PREFIX) for name in asked):
            nodes = limit_attachments(nodes, read_limits(facts))
        self.room: Room = sort_nodes(delegate(nodes, asked, facts), kinds, keys, terms)

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
        return self.devices.find_missing(pod) or self.volumes.find_missing(pod)

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
        for pod in self.pods:
            space = as_text(pod, "metadata", "namespace")
            yield selects(term, owner, space, as_mapping(pod, "metadata", "labels"), None, self.facts)

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
            as_text(pod, "metadata", "namespace") == owner.namespace
            and match_labels(spread.selector, as_mapping(pod, "metadata", "labels"), lambda _: False)
            for pod in self.pods
        )
