"""What all formats of an outlook (what would run, and where) share: sums, names, and what is shown of many nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from krmfn.forecast.standing import Load, Outlook, Standing
from krmfn.model.quantity import add, format_quantity
from krmfn.model.values import group_by
from krmfn.model.wording import count, join

#: What a verdict means, in a few words.
MEANINGS: Mapping[str, str] = {
    "runs": "starts",
    "never": "never starts",
    "waits": "waits for capacity that other pods use",
    "grows": "waits for nodes that a node pool can add",
    "depends": "starts or not, depending on the order",
    "open": "no rule excludes it",
}
#: How one gang, and how several are counted that have a verdict.
_COUNTED: Mapping[str, tuple[str, str]] = {
    "runs": ("runs", "run"),
    "never": ("never", "never"),
    "waits": ("waits", "wait"),
    "grows": ("waits for nodes", "wait for nodes"),
    "depends": ("depends on the order", "depend on the order"),
    "open": ("open", "open"),
}
#: Colours that tell gangs apart, also for people who see fewer of them (after Okabe and Ito, 2008), each with an ink
#: that can be read on it.
LIGHT = (
    ("#0072b2", "#ffffff"),
    ("#e69f00", "#111111"),
    ("#009e73", "#111111"),
    ("#cc79a7", "#111111"),
    ("#56b4e9", "#111111"),
    ("#d55e00", "#111111"),
    ("#f0e442", "#111111"),
    ("#6a51a3", "#ffffff"),
)


def spell_verdict(standing: Standing) -> str:
    """What a gang's verdict means; a warning takes from it that nothing is known against the gang."""
    return "may not start" if standing.verdict == "open" and standing.rule else MEANINGS[standing.verdict]


class View(NamedTuple):
    """The outlook of a world; `world` is empty for an only one. `unasked` says why a simulator was not asked; `kueue`
    is the version of the Kueue that was."""

    world: str
    outlook: Outlook
    unasked: str = ""
    kueue: str = ""


#: What would become of the gangs of a world, before and after a change.
Outlooks = tuple[View | None, View]


def summarize(outlook: Outlook) -> str:
    """How many gangs there are of each verdict.

    >>> summarize(Outlook((), None, "", ()))
    'no gangs'
    """
    counts: Counter[str] = Counter(standing.verdict for standing in outlook.standings)
    if not counts:
        return "no gangs"
    pairs = ((counts[verdict], words) for verdict, words in _COUNTED.items())
    told = (f"{number} {words[number > 1]}" for number, words in pairs if number)
    return f"{count(len(outlook.standings), 'gang')}: {', '.join(told)}"


def name_authority(view: View) -> str:
    """Who says so."""
    outlook = view.outlook
    asked = [f"the manager of Kueue {view.kueue}"] if outlook.queued and view.kueue else []
    asked += [f"the scheduler of Kubernetes {outlook.simulator}"] if outlook.simulator else []
    if asked:
        return f"by {join(asked)}, run on the facts about the cluster" + (f"; {view.unasked}" if view.unasked else "")
    if outlook.loads is None:
        return "without data about nodes: add it with --cluster" + (f"; {view.unasked}" if outlook.queued else "")
    return f"by rules only: {view.unasked}" if view.unasked else "by rules only"


def note_worlds(views: Sequence[View]) -> str:
    """What to know where several worlds share the nodes, else empty."""
    if sum(view.outlook.loads is not None for view in views) < 2:
        return ""
    return (
        "Each of these worlds is placed alone in the cluster. To place them together, give krmfn fit the files that "
        "kustomize builds from them."
    )


def spell_pods(standing: Standing) -> str:
    """How many pods of a gang would get a node, of how many; the number alone where nothing is known of that."""
    total = len(standing.places)
    return str(total) if standing.verdict == "open" else f"{standing.placed}/{total}"


def list_nodes(standing: Standing) -> list[tuple[str, int]]:
    """The nodes that a gang would get, with how many of its pods."""
    found = Counter(place.node for place in standing.places if place.node)
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))


def list_places(standing: Standing, outlook: Outlook) -> dict[str, int]:
    """The domains of an outlook's nodes that a gang would get, with how many of its pods; nodes where it has none."""
    domains = {load.name: load.domain for load in outlook.loads or () if load.domain}
    found: dict[str, int] = {}
    for node, pods in list_nodes(standing):
        add(found, {domains.get(node, node): pods})
    return found


def spell_nodes(standing: Standing, most: int = 4) -> str:
    """The same in words: the first `most` of them."""
    return spell_places(list_nodes(standing), "nodes", most)


def spell_site(standing: Standing) -> str:
    """`" on n1 ×2, n2"` of a gang that runs."""
    return f" on {spell_nodes(standing)}" if standing.verdict == "runs" and standing.placed else ""


def spell_places(places: Sequence[tuple[str, int]], noun: str, most: int = 4) -> str:
    """Nodes, or domains of them, with the numbers of their pods: the first `most`."""
    shown = [f"{name} ×{pods}" if pods > 1 else name for name, pods in places[:most]]
    rest = len(places) - most
    return ", ".join(shown) + (f" and {rest} more {noun}" if rest > 1 else f", {places[most][0]}" if rest == 1 else "")


def spell_preempted(pods: Sequence[str]) -> str:
    """Who makes room: the first four of them."""
    return f"preempted: {spell_places([(pod, 1) for pod in pods], 'pods')}"


def list_resources(loads: Sequence[Load]) -> list[str]:
    """The resources to show of nodes: devices that anybody uses, then CPU and memory; of nodes without pods all of
    these."""
    used = {name for load in loads for name, amount in load.used.items() if amount}
    used = used or {name for load in loads for name in load.allocatable}
    devices = sorted(name for name in used if "/" in name and not name.startswith("kubernetes.io/"))
    return [*devices, *(name for name in ("cpu", "memory") if name in used)]


def spell_share(load: Load, resource: str) -> str:
    """How much of a resource is taken, of how much.

    >>> spell_share(Load("n", "", {"cpu": 4 * 10**9}, {"cpu": 10**9}, {}, 0, False), "cpu")
    '1/4'
    >>> spell_share(Load("n", "", {"cpu": 4 * 10**9}, {"cpu": 1_500_000_000}, {}, 0, False), "cpu")
    '1.5/4'
    """
    if not load.allocatable.get(resource) and not load.used.get(resource):
        return "–"
    return f"{_round(load.used.get(resource, 0))}/{_round(load.allocatable.get(resource, 0))}"


def _round(amount: int) -> str:
    """A quantity in at most four digits: shares are looked at, not calculated with."""
    for unit, size in (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20)):
        if amount >= size * 10**9:
            return f"{amount / size / 10**9:.4g}{unit}"
    return f"{amount / 10**9:.4g}" if 10**6 <= amount < 10**13 else format_quantity(amount)


def group_alike(loads: Iterable[Load], gangs: bool = False) -> list[tuple[Load, int]]:
    """Nodes without pods of the gangs that are alike are one entry with their number; the others stay as they are,
    unless those with the same number of pods of the same `gangs` are to be one entry, too."""
    found: list[tuple[Load, int]] = []
    places: dict[str, int] = {}
    for load in loads:
        alike = repr([sorted(part.items()) if isinstance(part, Mapping) else part for part in load[1:]])
        place = places.setdefault(alike, len(found)) if gangs or not load.gangs else len(found)
        if place < len(found):
            found[place] = (found[place][0], found[place][1] + 1)
        else:
            found.append((load, 1))
    return found


def name_alike(load: Load, number: int, spell: Callable[[str], str] = str) -> str:
    """The name of an entry of group_alike, as the format spells it: `n1 and 2 like it`."""
    return spell(load.name) + (f" and {number - 1} like it" if number > 1 else "")


def spell_pods_of(load: Load, spell: Callable[[str], str] = str) -> str:
    """The pods of a node by gang, as the format spells a name: `ml/train ×2, 3 others`."""
    gangs = [f"{spell(gang)} ×{pods}" for gang, pods in load.gangs.items()]
    return ", ".join([*gangs, *([f"{load.others} others"] if load.others else [])])


def sort_alike(grouped: Iterable[tuple[Load, int]]) -> list[tuple[Load, int]]:
    """Entries of group_alike by domain, those with pods of a gang first."""
    return sorted(grouped, key=lambda entry: (entry[0].domain, not entry[0].gangs))


def sum_domains(loads: Iterable[Load]) -> list[tuple[Load, int]]:
    """Each domain as if it were one node, with the number of its nodes, in the order of their names."""
    return [
        (
            Load(
                domain or "other nodes",
                domain,
                _sum(load.allocatable for load in inside),
                _sum(load.used for load in inside),
                _sum(load.gangs for load in inside),
                sum(load.others for load in inside),
                all(load.unschedulable for load in inside),
            ),
            len(inside),
        )
        for domain, inside in sorted(group_by(lambda load: load.domain, loads).items())
    ]


def _sum(amounts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in amounts:
        add(total, each)
    return total
