"""Feature gates: which ones the objects need, and which of them somebody said are off."""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.rule import Match, Matches, rule, spell, tell
from krmfn.config import Settings
from krmfn.model.findings import Finding
from krmfn.model.marks import is_generated
from krmfn.model.rules import RULES
from krmfn.model.values import Value, as_mapping
from krmfn.model.wording import join
from krmfn.releases import schemastore
from krmfn.releases.release import list_needed
from krmfn.survey.census import Census, once
from krmfn.survey.facts import Facts
from krmfn.survey.groups import Group
from krmfn.targets.emission import note_gates


@rule("cluster-gates")
def find_gates_needed(census: Census, settings: Settings) -> Matches:
    """Once: what hand-written groups need. Generated ones have a note of their own."""
    groups = [group for group in _list_groups(census) if not is_generated(group.item)]
    note = note_gates(settings.release, _values(groups), settings.feature_gates, "cluster-gates", ("apiVersion",))
    if note:
        yield note.on(groups[0].item)


@rule("cluster-gate-off")
def find_gate_off(census: Census, settings: Settings) -> Matches:
    """Once for each gate, at the first group."""
    yield from _find_off(_list_groups(census), census, settings)


def list_gates_off(census: Census, settings: Settings) -> list[Finding]:
    """The same, at every group that needs the gate."""
    found = (told for group in _list_groups(census) for told in _find_off([group], census, settings))
    return [spell(RULES["cluster-gate-off"], told, settings) for told in found]


def _find_off(groups: list[Group], census: Census, settings: Settings) -> Iterator[Match]:
    places = (settings.feature_gates, *census.facts.gates.values())
    is_any_off = any(on is False for gates in places for on in gates.values())
    for gate in list_needed(settings.release, _values(groups)) if groups and is_any_off else ():
        components = settings.release.gates[gate].components
        off = [
            _blame(name, gate, census.facts)
            for name in components
            if census.facts.gates.get(name, {}).get(gate) is False
        ]
        if settings.feature_gates.get(gate) is False:
            off = ["the cluster"]
        if off:
            effect = schemastore.load("ways.json")["gateEffects"].get(gate, "the fields that need it are ignored")
            yield tell(groups[0].item, ("apiVersion",), gate=gate, off=off, effect=effect, names=list(components))


def _blame(component: str, gate: str, facts: Facts) -> str:
    """The component, and who shows that the gate is off there."""
    for program in facts.programs:
        if program.component == component and program.gates.get(gate) is False:
            if gate in program.named:
                return f"{component} (--feature-gates of pod {program.pod})"
            return f"{component} (by default: no flag of pod {program.pod} names it)"
    return component


@rule("gate-dependency")
def find_gate_dependency(census: Census, settings: Settings) -> Matches:
    groups = _list_groups(census)
    for place, gates in {"the configuration": settings.feature_gates, **census.facts.gates}.items() if groups else ():
        for gate, row in settings.release.gates.items():
            missing = [other for other in row.needs if gates.get(other) is False]
            if gates.get(gate) is True and missing:
                yield tell(groups[0].item, ("apiVersion",), place=place, gate=gate, missing=missing)


@rule("gate-gone")
def find_gate_gone(census: Census, settings: Settings) -> Matches:
    groups = _list_groups(census)
    for place, gates in {"the configuration": settings.feature_gates, **census.facts.gates}.items() if groups else ():
        gone = sorted(settings.release.gone_gates & set(gates))
        known = settings.release.gates.values()
        fixed = [gate.name for gate in known if gate.locked and gates.get(gate.name, gate.default) != gate.default]
        if fixed:
            yield tell(groups[0].item, ("apiVersion",), error=True, place=place, fixed=fixed)
        if gone:
            yield tell(
                groups[0].item, ("apiVersion",), case="gone", error=place != "the configuration", place=place, gone=gone
            )


@rule("facts-missing")
def find_facts_missing(census: Census) -> Matches:
    groups = _list_groups(census)
    if not groups:
        return
    open_questions = []
    if census.facts.nodes is None:
        keys = sorted({group.topology_key for group in groups if group.topology_key})
        labels = f" and whether nodes have {join(keys)}" if keys else ""
        open_questions.append(f"whether the gangs fit the nodes{labels} (no node data)")
    classes = {template.priority_class for _, template in census.linked()}
    unknown = sorted(name for name in classes if name and name not in census.facts.priority_classes)
    told = any(group.priority_class for group in groups)  # of groups the server stage tells
    if unknown and not told and not census.facts.complete_classes:
        open_questions.append(
            f"whether {join(unknown)} exist{'s' if len(unknown) == 1 else ''} (no data about priority classes)"
        )
    if open_questions:
        yield tell(groups[0].item, ("apiVersion",), open_questions=open_questions)


@rule("constraint-without-preemption")
def find_constraint_without_preemption(census: Census) -> Matches:
    for gang in census.gangs_with("schedulingConstraints"):
        if gang.group.topology_key:
            yield tell(gang.group, ("schedulingConstraints",), gang=gang)


@once
def _list_groups(census: Census) -> list[Group]:
    groups = [*census.composites.values(), *(gang.group for gang in census.gangs)]
    return list({id(group.item): group for group in groups}.values())


def _values(groups: list[Group]) -> Iterator[Value]:
    for group in groups:
        spec = as_mapping(group.item.value, *group.path)  # gates have the names of the release
        yield {"apiVersion": group.item.api_version, "kind": group.item.kind, "spec": spec}
