"""A whole scenario from a seed: a cluster, gates, what is stored and runs there, and one to six gangs."""

from __future__ import annotations

from random import Random
from typing import Any

from conformance.scheduler.made.clusters import make_nodes, make_running, make_stored
from conformance.scheduler.made.mistakes import spoil
from conformance.scheduler.made.rare import enrich
from conformance.scheduler.made.sources import make_source
from conformance.scheduler.made.trees import make_groups
from conformance.versions import read_releases

Value = dict[str, Any]

#: Per release, the newest that is no preview first: its clusters.
PROFILES = {
    name: release.clusters
    for known in (read_releases(), read_releases(previews=True))
    for name, release in reversed(known.items())
}
#: The releases of which decisions, states and reports are recorded.
RECORDED = tuple(reversed(read_releases()))

#: Scenarios from this seed on also have what few manifests have.
RARE = 500_000


def choose_profile(release: str, seed: int) -> int:
    """The number of the scenario's profile: scenarios of one profile share a control plane."""
    chance = Random(f"profile {release} {seed}").random()
    for number, (_, share, _, _) in enumerate(PROFILES[release]):
        chance -= share
        if chance < 0:
            return number
    return 0


def spell_gates(release: str, names: tuple[str, ...]) -> dict[str, bool]:
    """All gates that a release's profiles name, on or off."""
    known = {gate for profile in PROFILES[release] for gates in profile[2:] for gate in gates}
    return {gate: gate in names for gate in sorted(known)}


def make_scenario(release: str, seed: int) -> Value:
    """The scenario: id, release, gates, scheduler_gates, nodes, stored, running, gangs, pods_first."""
    random = Random(f"scenario {release} {seed}")
    name, _, gates, scheduler_gates = PROFILES[release][choose_profile(release, seed)]
    nodes = make_nodes(random)
    stored = make_stored(random, nodes)
    running = make_running(random, nodes)
    spelled = spell_gates(release, gates)
    gangs: list[Value] = []
    wanted = random.choice((1, 1, 1, 2, 2, 2, 3, 3, 4, 6))
    while len(gangs) < wanted:
        gang = _make_gang(random, nodes, f"g{len(gangs)}", release, spelled)
        if gang is not None:
            gangs.append(gang)
    scenario = {
        "id": f"{release}/{seed}",
        "release": release,
        "profile": name,
        "gates": spelled,
        "scheduler_gates": spell_gates(release, scheduler_gates),
        "nodes": nodes,
        "stored": stored,
        "running": running,
        "gangs": gangs,
        "pods_first": random.random() < 0.5,
    }
    if seed >= RARE:
        scenario["rare"] = enrich(random, scenario)
    return scenario


def _make_gang(random: Random, nodes: list[Value], name: str, release: str, gates: dict[str, bool]) -> Value | None:
    if random.random() < 0.55:
        gang = make_source(random, nodes, name, release, gates)
        if gang is None:
            return None
    else:
        gang = make_groups(random, nodes, name, release, gates.get("CompositePodGroup", False))
    spoilt = []
    if random.random() < 0.28:
        for _ in range(random.choice((1, 1, 2))):
            spoilt.append(spoil(random, gang["objects"]))
    return {"name": name, "kind": gang["kind"], "spoilt": [each for each in spoilt if each], "objects": gang["objects"]}
