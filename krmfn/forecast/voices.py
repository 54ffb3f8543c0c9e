"""What a cluster says itself of the objects of a gang: their conditions, and the events about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from krmfn.krm.item import Item
from krmfn.model.values import as_list, as_text, dig
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import NAMED


class Explanation(NamedTuple):
    """A cause, what to change, and the rule that found it."""

    text: str
    way_out: str = ""
    rule: str = ""


def group_said(said: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """What was said of objects of a kind in the same words, once, with the names of the first three."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    told: set[tuple[str, str, str]] = set()
    for kind, name, text in said:
        words = (kind, name, text.partition(": ")[2])  # a condition and an event have each their own reason
        if words not in told:
            told.add(words)
            found.setdefault((kind, text), {})[name] = None
    for (kind, text), names in found.items():
        several, rest = "s" if len(names) > 1 else "", len(names) - 3
        yield f"{kind}{several} {', '.join(list(names)[:3])}{f' and {rest} more' if rest > 0 else ''}: {text}"


def listen(about: Iterable[Item], pods: Iterable[Item], items: Iterable[Item]) -> Iterator[tuple[str, str, str]]:
    """What conditions and events say: kind and name of the object, and the words."""
    pods = list(pods)
    for item in (*about, *pods):
        for text in read_conditions(item):
            yield item.kind, item.name, text
    names = {(item.kind, item.space, item.name) for item in (*about, *pods)}
    events = [item for item in items if item.kind == "Event"]
    for event in sorted(
        events, key=lambda each: as_text(dig(each.value, "lastTimestamp") or dig(each.value, "eventTime"))
    ):
        target: Any = dig(event.value, "involvedObject") or dig(event.value, "regarding")
        key = (
            as_text(dig(target, "kind")),
            as_text(dig(target, "namespace")) or event.space,
            as_text(dig(target, "name")),
        )
        if key in names and dig(event.value, "type") != "Normal":
            text = as_text(dig(event.value, "message") or dig(event.value, "note"))
            yield key[0], key[2], f"{as_text(dig(event.value, 'reason'))}: {text}"


def read_conditions(item: Item) -> Iterator[str]:
    """Conditions of pods and groups that say no; of groups also all that other releases may have."""
    status = dig(item.value, "status")
    for condition in (*as_list(dig(status, "conditions")), *as_list(dig(status, "schedulingConditions"))):
        kind, reason, text = (as_text(dig(condition, key)) for key in ("type", "reason", "message"))
        if item.ref.group in FOREIGN:
            if (kind, dig(condition, "status")) in _STUCK and text:
                yield f"{reason or kind}: {text}"
            continue
        if NAMED.get(kind, kind) in _CONDITIONS and dig(condition, "status") == "False" and text:
            yield f"{reason}: {text}"
        elif kind and NAMED.get(kind, kind) not in _CONDITIONS and item.ref.group == GROUP and text:
            yield f"{kind} is {dig(condition, 'status')} ({reason}): {text}"


def read_refusals(item: Item) -> Iterator[Explanation]:
    """Of conditions whose reason says that waiting does not help."""
    for condition in as_list(dig(item.value, "status", "conditions")):
        kind, reason = (NAMED.get(word, word) for word in (as_text(dig(condition, key)) for key in ("type", "reason")))
        way = _REFUSALS.get(reason)
        if "should have the same" in as_text(dig(condition, "message")):  # how 1.37 says it
            way = _REFUSALS["PodGroupError"]
        if way and kind in _CONDITIONS and dig(condition, "status") == "False":
            text = as_text(dig(condition, "message")) or "it gives no reason"
            yield Explanation(f"the scheduler does not accept {item.kind} {item.name}: {text}", way)


_CONDITIONS: Final = (
    *("PodScheduled", "PodGroupScheduled", "PodGroupInitiallyScheduled", "CompositePodGroupScheduled"),
    "CompositePodGroupInitiallyScheduled",
)
#: Groups of the objects that other schedulers make or read for a gang, and their names.
FOREIGN: Final[Mapping[str, str]] = {
    "kueue.x-k8s.io": "Kueue",
    "scheduling.volcano.sh": "Volcano",
    "scheduling.run.ai": "KAI",
}
#: Conditions of these objects that say no (Kueue v0.19.2, Volcano v1.15.1, KAI-Scheduler v0.17.0).
_STUCK: Final = frozenset(
    (
        *(("QuotaReserved", "False"), ("Evicted", "True"), ("DeactivationTarget", "True")),
        *(("Unschedulable", "True"), ("UnschedulableOnNodePool", "True")),
    )
)
#: Reasons of the types of scheduling.k8s.io (1.38) after which a scheduling cycle is not enough, and what helps.
_REFUSALS: Final[Mapping[str, str]] = {
    "PodGroupError": "Give all pods and groups of the gang one scheduler, one priority and one preemption policy.",
    "CompositePodGroupError": "Correct the parents of the groups, and give the whole tree one priority and one policy.",
    "SchedulerError": "Check the log of the scheduler that the pods name.",
}
