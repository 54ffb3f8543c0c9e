"""What the cluster lacks for the groups: feature gates that they need, that are off or that a component would not start
with; and the facts without which something is not checked. Each is told once, at the first group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    """What groups that were written by hand need. Generated ones have a note of their own."""
    groups = [group for group in _list_groups(census) if not is_generated(group.item)]
    note = note_gates(settings.release, _as_objects(groups), settings.feature_gates, "cluster-gates", ("apiVersion",))
    if note:
        yield note.on(groups[0].item)


@rule("cluster-gate-off")
def find_gate_off(census: Census, settings: Settings) -> Matches:
    """Gates that a group needs, where settings or facts say that they are off."""
    yield from _find_off(_list_groups(census), census, settings)


def list_gates_off(census: Census, settings: Settings) -> list[Finding]:
    """The findings of cluster-gate-off at every group that needs the gate, instead of at the first one."""
    found = (told for group in _list_groups(census) for told in _find_off([group], census, settings))
    return [spell(RULES["cluster-gate-off"], told, settings) for told in found]


def _find_off(groups: list[Group], census: Census, settings: Settings) -> Iterator[Match]:
    set_gates, gates_of = settings.feature_gates, census.facts.gates
    if not any(on is False for gates in (set_gates, *gates_of.values()) for on in gates.values()):
        return  # which gates large inputs need takes long to find
    for gate in list_needed(settings.release, _as_objects(groups)):
        components = settings.release.gates[gate].components
        off = [_blame(name, gate, census.facts) for name in components if gates_of.get(name, {}).get(gate) is False]
        if set_gates.get(gate) is False:
            off = ["the cluster"]
        if off:
            effect = schemastore.load("ways.json")["gateEffects"].get(gate, "the fields that need it are ignored")
            yield _tell(groups, gate=gate, off=off, effect=effect, names=list(components))


def _blame(component: str, gate: str, facts: Facts) -> str:
    """The component, and which of its pods shows that the gate is off there."""
    for program in facts.programs:
        if program.component == component and program.gates.get(gate) is False:
            if gate in program.named:
                return f"{component} (--feature-gates of pod {program.pod})"
            return f"{component} (by default: no flag of pod {program.pod} names it)"
    return component


@rule("gate-dependency")
def find_gate_dependency(census: Census, settings: Settings) -> Matches:
    """Gates that are on in a place where another one that they depend on is off."""
    for place, gates in _list_settings(census, settings).items():
        for gate, row in settings.release.gates.items():
            missing = [other for other in row.needs if gates.get(other) is False]
            if gates.get(gate) is True and missing:
                yield _tell(_list_groups(census), place=place, gate=gate, missing=missing)


@rule("gate-gone")
def find_gate_gone(census: Census, settings: Settings) -> Matches:
    """Gates that are set although the release has removed them, or has locked them to another value."""
    for place, gates in _list_settings(census, settings).items():
        gone = sorted(settings.release.gone_gates & gates.keys())
        known = settings.release.gates.values()
        fixed = [gate.name for gate in known if gate.locked and gates.get(gate.name, gate.default) != gate.default]
        if fixed:
            yield _tell(_list_groups(census), error=True, place=place, fixed=fixed)
        if gone:
            error = place != _CONFIGURATION
            yield _tell(_list_groups(census), case="gone", error=error, place=place, gone=gone)


@rule("facts-missing")
def find_facts_missing(census: Census) -> Matches:
    """What would be checked if the nodes and the PriorityClasses were known."""
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
    is_reported = any(group.priority_class for group in groups)  # by the stage server
    if unknown and not is_reported and not census.facts.complete_classes:
        verb = "exists" if len(unknown) == 1 else "exist"
        open_questions.append(f"whether {join(unknown)} {verb} (no data about priority classes)")
    if open_questions:
        yield _tell(groups, open_questions=open_questions)


@rule("constraint-without-preemption")
def find_constraint_without_preemption(census: Census) -> Matches:
    """Groups for which the release's scheduler preempts no pods."""
    for gang in census.gangs_with("schedulingConstraints"):
        if gang.group.topology_key:
            yield tell(gang.group, ("schedulingConstraints",), gang=gang)


_CONFIGURATION = "the configuration"


def _list_settings(census: Census, settings: Settings) -> Mapping[str, Value]:
    """The gates that are set, by where: in the configuration or for a component. None where no group needs any."""
    if not _list_groups(census):
        return {}
    return {_CONFIGURATION: settings.feature_gates, **census.facts.gates}


def _tell(groups: list[Group], **about: Any) -> Match:
    return tell(groups[0].item, ("apiVersion",), **about)


@once
def _list_groups(census: Census) -> list[Group]:
    groups = [*census.composites.values(), *(gang.group for gang in census.gangs)]
    return list({id(group.item): group for group in groups}.values())


def _as_objects(groups: list[Group]) -> Iterator[Value]:
    """The groups as objects of the release: their fields have its names, which are also those of `gates.fields`."""
    for group in groups:
        spec = as_mapping(group.item.value, *group.path)
        yield {"apiVersion": group.item.api_version, "kind": group.item.kind, "spec": spec}
