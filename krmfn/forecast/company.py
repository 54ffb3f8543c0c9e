"""Whether pods of others can take away what keeps a gang from starting when it is alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from krmfn.capacity.pods import PodKind, read_kinds, selects
from krmfn.forecast.roster import Pod, Roster
from krmfn.model.selectors import match_labels
from krmfn.model.tree import Path
from krmfn.model.values import Value, as_mapping
from krmfn.survey.facts import Facts

if TYPE_CHECKING:
    Key = tuple[int, Path]

#: What the scheduler says where a node lacks other pods, and what it says of a node that no pod makes suitable.
_LACKS_PODS: Final = ("didn't match pod affinity rules", "didn't match pod topology spread constraints")
_LACKS_LABEL: Final = "didn't match pod topology spread constraints (missing required label)"


class TrialsAlone(NamedTuple):
    """A gang that did not start alone: its pods, and the trials."""

    pods: Sequence[Pod]
    trials: Sequence[Value]


def list_lonely(failed: Mapping[Key, TrialsAlone], roster: Roster, placed: Iterable[str], facts: Facts) -> set[Key]:
    """The gangs that failed for want of pods that others may be: those that are bound, or were `placed` in any trial,
    and those of gangs that may start beside them. Gangs that only wait for each other are not among them."""
    wanted = {key: _list_wanted(each, roster, facts) for key, each in failed.items() if any(map(_lacks_pods, each[1]))}
    lonely: set[Key] = set()
    alive = {*placed, *(pod.name for pod in roster.bound)}
    more = {key for key, names in wanted.items() if names & alive}
    while more:
        lonely |= more
        alive |= {pod.name for key in more for pod in failed[key].pods}
        more = {key for key, names in wanted.items() if key not in lonely and names & alive}
    return lonely


def _list_wanted(failed: TrialsAlone, roster: Roster, facts: Facts) -> set[str]:
    """The pods of others that may be what the pods of a gang lack."""
    own = {pod.name for pod in failed.pods}
    templates = {id(pod.template): pod.template for pod in failed.pods if pod.template is not None}
    kinds = read_kinds(templates.values(), facts)
    others = (pod for pod in (*roster.bound, *roster.waiting) if pod.name not in own)
    return {pod.name for pod in others if _is_wanted(pod, kinds, facts)}


def _lacks_pods(result: Value) -> bool:
    said = [(placed.get("message") or "").replace(_LACKS_LABEL, "") for placed in result["pods"].values()]
    return any(words in text for text in said for words in _LACKS_PODS)


def _is_wanted(pod: Pod, kinds: Iterable[PodKind], facts: Facts) -> bool:
    """Whether an affinity term of one of the kinds may select the pod, or a spread constraint count it."""
    own = next(iter(read_kinds([pod.template], facts)), None) if pod.template is not None else None
    space, labels = pod.name.partition("/")[0], as_mapping(pod.value, "metadata", "labels")
    for kind in kinds:
        if any(selects(term, kind, space, labels, own, facts) is not False for term in kind.together):
            return True
        may_get = own.may_get if own is not None else None
        for spread in kind.spreads:
            if space == kind.namespace and match_labels(spread.selector, labels, may_get) is not False:
                return True
    return False
