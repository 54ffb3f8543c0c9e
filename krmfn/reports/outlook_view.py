"""What all formats of an outlook (what would run, and where) share: words for gangs, and how many nodes are shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from krmfn.forecast.standing import Load, Outlook, Standing
from krmfn.model.quantity import add, format_quantity
from krmfn.model.values import group_by
from krmfn.model.wording import count, join

#: By verdict: what it means, and how one gang, and how several are counted that have it.
_VERDICTS: Mapping[str, tuple[str, str, str]] = {
    "runs": ("starts", "runs", "run"),
    "never": ("never starts", "never", "never"),
    "waits": ("waits for capacity that other pods use", "waits", "wait"),
    "grows": ("waits for nodes that a node pool can add", "waits for nodes", "wait for nodes"),
    "depends": ("starts or not, depending on the order", "depends on the order", "depend on the order"),
    "open": ("no rule excludes it", "open", "open"),
}
#: What a verdict means, in a few words.
MEANINGS: Mapping[str, str] = {verdict: meaning for verdict, (meaning, _, _) in _VERDICTS.items()}
#: Colours that tell gangs apart, also for colour-blind people (after Okabe and Ito, 2008), each with the colour of the
#: text on it.
PALETTE = (
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
    """What a gang's verdict means. A gang that no rule excludes may still have a warning."""
    return "may not start" if standing.verdict == "open" and standing.rule else MEANINGS[standing.verdict]


class View(NamedTuple):
    """The outlook of a world, whose name is empty where there is only one. `unasked` says why a simulator was not
    asked; `kueue` is the version of the Kueue that was."""

    world: str
    outlook: Outlook
    unasked: str = ""
    kueue: str = ""


#: A world before and after a change; None: it is new.
Outlooks = tuple[View | None, View]


def summarize(outlook: Outlook) -> str:
    """How many gangs have which verdict.

    >>> summarize(Outlook((), None, "", ()))
    'no gangs'
    """
    counts: Counter[str] = Counter(standing.verdict for standing in outlook.standings)
    if not counts:
        return "no gangs"
    numbers = ((counts[verdict], one, several) for verdict, (_, one, several) in _VERDICTS.items())
    told = (f"{number} {one if number == 1 else several}" for number, one, several in numbers if number)
    return f"{count(len(outlook.standings), 'gang')}: {', '.join(told)}"


def name_authority(view: View) -> str:
    """Who says what would run: the simulators that were asked, or rules only, and why."""
    outlook = view.outlook
    asked = [f"the manager of Kueue {view.kueue}"] if outlook.queued and view.kueue else []
    asked += [f"the scheduler of Kubernetes {outlook.simulator}"] if outlook.simulator else []
    if asked:
        return f"by {join(asked)}, run on the facts about the cluster" + (f"; {view.unasked}" if view.unasked else "")
    if outlook.loads is None:
        return "without data about nodes: add it with --cluster" + (f"; {view.unasked}" if outlook.queued else "")
    return f"by rules only: {view.unasked}" if view.unasked else "by rules only"


def note_worlds(views: Sequence[View]) -> str:
    """A note where several worlds were placed on the same nodes; empty otherwise."""
    if sum(view.outlook.loads is not None for view in views) < 2:
        return ""
    return (
        "Each of these worlds is placed alone in the cluster. To place them together, give krmfn fit the files that "
        "kustomize builds from them."
    )


def spell_pods(standing: Standing) -> str:
    """How many pods of a gang would get a node, of how many: `3/4`; the number of pods where no scheduler was run."""
    total = len(standing.places)
    return str(total) if standing.verdict == "open" else f"{standing.placed}/{total}"


def list_nodes(standing: Standing) -> list[tuple[str, int]]:
    """The nodes that a gang would get, with how many of its pods."""
    found = Counter(place.node for place in standing.places if place.node)
    return sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))


def list_places(standing: Standing, outlook: Outlook) -> dict[str, int]:
    """The domains that a gang would get, each with how many of its pods. A node without a domain is one itself."""
    domains = {load.name: load.domain for load in outlook.loads or () if load.domain}
    found: dict[str, int] = {}
    for node, pods in list_nodes(standing):
        add(found, {domains.get(node, node): pods})
    return found


def spell_nodes(standing: Standing, most: int = 4) -> str:
    """The first `most` of list_nodes() in words: `n1 ×2, n2`."""
    return spell_places(list_nodes(standing), "nodes", most)


def spell_site(standing: Standing) -> str:
    """`" on n1 ×2, n2"` of a gang that runs."""
    return f" on {spell_nodes(standing)}" if standing.verdict == "runs" and standing.placed else ""


def spell_places(places: Sequence[tuple[str, int]], noun: str, most: int = 4) -> str:
    """The first `most` nodes or domains, each with the number of its pods: `n1 ×2, n2 and 3 more nodes`."""
    if len(places) == most + 1:
        most += 1  # its name says more than "and 1 more"
    shown = ", ".join(f"{name} ×{pods}" if pods > 1 else name for name, pods in places[:most])
    rest = len(places) - most
    return f"{shown} and {rest} more {noun}" if rest > 0 else shown


def spell_preempted(pods: Sequence[str]) -> str:
    """The first four pods that have to make room."""
    return f"preempted: {spell_places([(pod, 1) for pod in pods], 'pods')}"


def list_resources(loads: Sequence[Load]) -> list[str]:
    """The resources to show of nodes: devices, then CPU and memory; those that pods use, or all if none are used."""
    used = {name for load in loads for name, amount in load.used.items() if amount}
    used = used or {name for load in loads for name in load.allocatable}
    devices = sorted(name for name in used if "/" in name and not name.startswith("kubernetes.io/"))
    return [*devices, *(name for name in ("cpu", "memory") if name in used)]


def spell_share(load: Load, resource: str) -> str:
    """How much of a node's resource is used, of how much; `–` where it has none.

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
    """The first of all nodes that are alike, each with their number. A node with pods of gangs is like no other, or
    with `gangs` like those that have as many pods of the same gangs."""

    def describe(load: Load) -> object:
        if load.gangs and not gangs:
            return id(load)
        return tuple([tuple(sorted(part.items())) if isinstance(part, Mapping) else part for part in load[1:]])

    return [(alike[0], len(alike)) for alike in group_by(describe, loads).values()]


def name_alike(load: Load, number: int, spell: Callable[[str], str] = str) -> str:
    """The name of an entry of group_alike, as the format spells it: `n1 and 2 like it`."""
    return spell(load.name) + (f" and {number - 1} like it" if number > 1 else "")


def spell_pods_of(load: Load, spell: Callable[[str], str] = str) -> str:
    """The pods of a node by gang, as the format spells a name: `ml/train ×2, 3 others`."""
    gangs = [f"{spell(gang)} ×{pods}" for gang, pods in load.gangs.items()]
    return ", ".join([*gangs, *([count(load.others, "other")] if load.others else [])])


def sort_alike(grouped: Iterable[tuple[Load, int]]) -> list[tuple[Load, int]]:
    """Entries of group_alike by domain, those with pods of a gang first."""
    return sorted(grouped, key=lambda entry: (entry[0].domain, not entry[0].gangs))


def sum_domains(loads: Iterable[Load]) -> list[tuple[Load, int]]:
    """Each domain as if it were one node, with the number of its nodes; ordered by name."""
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
