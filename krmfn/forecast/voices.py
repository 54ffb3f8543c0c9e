"""What a cluster says itself of the objects of a gang: their conditions, and the events about them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from krmfn.krm.item import Item
from krmfn.model.values import Key, Value, as_list, as_text, dig
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP
from krmfn.releases.spelling import NAMED


class Explanation(NamedTuple):
    """A cause, what to change, and the rule that found it."""

    text: str
    way_out: str = ""
    rule: str = ""


class Told(NamedTuple):
    """What the cluster says of an object: its kind and name, and the words."""

    kind: str
    name: str
    text: str


def find_way(table: str, said: str) -> str:
    """What helps against something that was said; empty where nobody knows."""
    ways: Mapping[str, str] = schemastore.load("ways.json")[table]
    return next((way for words, way in ways.items() if words in said), "")


def group_said(said: Iterable[Told]) -> Iterator[str]:
    """What was said of objects of a kind in the same words, once, with the names of the first three."""
    found: dict[Key, dict[str, None]] = {}
    told: set[tuple[str, str, str]] = set()
    for kind, name, text in said:
        words = (kind, name, text.partition(": ")[2])  # a condition and an event have each their own reason
        if words not in told:
            told.add(words)
            found.setdefault((kind, text), {})[name] = None
    for (kind, text), names in found.items():
        several, rest = "s" if len(names) > 1 else "", len(names) - 3
        yield f"{kind}{several} {', '.join(list(names)[:3])}{f' and {rest} more' if rest > 0 else ''}: {text}"


def listen(about: Iterable[Item], items: Iterable[Item]) -> Iterator[Told]:
    """What conditions of objects, and events about them, say; the newest event last."""
    about = list(about)
    for item in about:
        for text in read_conditions(item):
            yield Told(item.kind, item.name, text)
    names = {(item.kind, item.space, item.name) for item in about}
    for event in sorted((item.value for item in items if item.kind == "Event"), key=_find_time):
        target: Any = dig(event, "involvedObject") or dig(event, "regarding")
        kind, space, name = (as_text(target, key) for key in ("kind", "namespace", "name"))
        reason = as_text(event, "reason")
        known = (kind, space or as_text(event, "metadata", "namespace"), name) in names
        if known and (dig(event, "type") != "Normal" or reason in UNGROWN):
            text = as_text(dig(event, "message") or dig(event, "note"))
            yield Told(kind, name, f"{reason}: {text.removeprefix('(combined from similar events): ')}")


def _find_time(event: Value) -> str:
    """When an event happened last."""
    keys = (("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",), ("metadata", "creationTimestamp"))
    return next((text for key in keys if (text := as_text(event, *key))), "")


def read_conditions(item: Item) -> Iterator[str]:
    """Conditions of pods and groups that say no; of groups also all that other releases may have."""
    status = dig(item.value, "status")
    for condition in (*as_list(status, "conditions"), *as_list(status, "schedulingConditions")):
        kind, reason, text = (as_text(condition, key) for key in ("type", "reason", "message"))
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
    for condition in as_list(item.value, "status", "conditions"):
        kind, reason = (NAMED.get(word, word) for word in (as_text(condition, key) for key in ("type", "reason")))
        ways = schemastore.load("ways.json")["groups"]
        way = ways.get(reason)
        if "should have the same" in as_text(condition, "message"):  # how 1.37 says it
            way = ways["PodGroupError"]
        if way and kind in _CONDITIONS and dig(condition, "status") == "False":
            text = as_text(condition, "message") or "it gives no reason"
            yield Explanation(f"the scheduler does not accept {item.kind} {item.name}: {text}", way)


#: What autoscalers say of a pod: events that are no warnings.
UNGROWN: Final = ("NotTriggerScaleUp", "Nominated")
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
        *(("QuotaReserved", "False"), ("Evicted", "True"), ("DeactivationTarget", "True"), ("Active", "False")),
        *(("Unschedulable", "True"), ("UnschedulableOnNodePool", "True")),
    )
)
