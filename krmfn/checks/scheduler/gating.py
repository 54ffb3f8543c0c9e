"""Feature gates: which ones the objects need, and which of them somebody said are off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.rule import rule
from krmfn.config import Settings
from krmfn.model.findings import Finding
from krmfn.model.gates import note_gates
from krmfn.model.marks import is_generated
from krmfn.model.values import as_mapping
from krmfn.model.wording import join
from krmfn.releases.gates import list_needed
from krmfn.survey.census import Census, once
from krmfn.survey.facts import Facts
from krmfn.survey.groups import Group


@rule("cluster-gates", "info", "Groups that were written by hand need feature gates that are off by default.")
def find_gates_needed(census: Census, settings: Settings) -> Iterator[Finding]:
    """Once: what hand-written groups need. Generated ones have a note of their own."""
    groups = [group for group in _list_groups(census) if not is_generated(group.item)]
    note = note_gates(settings.release, _values(groups), settings.feature_gates, "cluster-gates", ("apiVersion",))
    if note:
        yield note.on(groups[0].item)


@rule("cluster-gate-off", "warning", "A feature gate that the objects need is off.")
def find_gate_off(census: Census, settings: Settings) -> Iterator[Finding]:
    """Once for each gate, at the first group."""
    yield from _find_off(_list_groups(census), census, settings)


def list_gates_off(census: Census, settings: Settings) -> list[Finding]:
    """The same, at every group that needs the gate."""
    return [found for group in _list_groups(census) for found in _find_off([group], census, settings)]


def _find_off(groups: list[Group], census: Census, settings: Settings) -> Iterator[Finding]:
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
            message = (
                f"{gate} is off on {join(off)}: {_EFFECTS.get(gate, 'the fields that need it are ignored')}, and "
                "nothing reports it"
            )
            hint = f"Turn {gate} on for {join(list(components))}, or remove the objects and fields that need it."
            yield Finding(groups[0].item, ("apiVersion",), message, hint=hint, rule="cluster-gate-off")


def _blame(component: str, gate: str, facts: Facts) -> str:
    """The component, and who shows that the gate is off there."""
    for program in facts.programs:
        if program.component == component and program.gates.get(gate) is False:
            if gate in program.named:
                return f"{component} (--feature-gates of pod {program.pod})"
            return f"{component} (by default: no flag of pod {program.pod} names it)"
    return component


@rule("gate-dependency", "error", "A feature gate is on, but one that it depends on is off.")
def find_gate_dependency(census: Census, settings: Settings) -> Iterator[Finding]:
    groups = _list_groups(census)
    places = {"the configuration": settings.feature_gates, **census.facts.gates}
    for place, gates in places.items() if groups else ():
        for gate, row in settings.release.gates.items():
            missing = [other for other in row.needs if gates.get(other) is False]
            if gates.get(gate) is True and missing:
                message = f"{place} has {gate} on, but {join(missing)} off: a component with these gates does not start"
                hint = f"Turn {join(missing)} on as well."
                yield Finding(groups[0].item, ("apiVersion",), message, hint=hint)


@rule("gate-gone", "warning", "A feature gate is set that the release no longer has, or has locked.")
def find_gate_gone(census: Census, settings: Settings) -> Iterator[Finding]:
    groups = _list_groups(census)
    places = {"the configuration": settings.feature_gates, **census.facts.gates}
    for place, gates in places.items() if groups else ():
        gone = sorted(settings.release.gone_gates & set(gates))
        known = settings.release.gates.values()
        fixed = [gate.name for gate in known if gate.locked and gates.get(gate.name, gate.default) != gate.default]
        if fixed:
            message = (
                f"{place} sets {join(fixed)}, which Kubernetes {settings.release} has locked to its default: a "
                "component that is started with it exits with an error"
            )
            hint = f"Remove {join(fixed)} from --feature-gates."
            yield Finding(groups[0].item, ("apiVersion",), message, hint=hint, severity="error")
        if gone:
            message = (
                f"{place} names {join(gone)}, which Kubernetes {settings.release} no longer has: a component that is "
                "started with it, on or off, exits with an error"
            )
            hint = f"Remove {join(gone)} from --feature-gates before the upgrade to {settings.release}."
            running = place != "the configuration"
            yield Finding(groups[0].item, ("apiVersion",), message, hint=hint, severity="error" if running else None)


@rule("facts-missing", "info", "Something was not checked, because data about the cluster is missing.")
def find_facts_missing(census: Census) -> Iterator[Finding]:
    groups = _list_groups(census)
    if not groups:
        return
    open_questions = []
    if census.facts.nodes is None:
        keys = sorted({group.topology_key for group in groups if group.topology_key})
        labels = f" and whether nodes have {join(keys)}" if keys else ""
        open_questions.append(f"whether the gangs fit the nodes{labels} (no node data)")
    classes = {template.priority_class for gang in census.gangs for template in gang.templates}
    unknown = sorted(name for name in classes if name and name not in census.facts.priority_classes)
    told = any(group.priority_class for group in groups)  # of groups the server stage tells
    if unknown and not told and not census.facts.complete_classes:
        open_questions.append(
            f"whether {join(unknown)} exist{'s' if len(unknown) == 1 else ''} (no data about priority classes)"
        )
    if open_questions:
        message = f"not checked: {join(open_questions)}"
        hint = "Add the output of `kubectl get nodes,priorityclasses,resourcequotas -A -o yaml` with --cluster."
        yield Finding(groups[0].item, ("apiVersion",), message, hint=hint)


@rule(
    "constraint-without-preemption",
    "info",
    "A group with a topology key does not preempt other pods.",
    needs="topology-keys",
    lacks="topology-preemption",
)
def find_constraint_without_preemption(census: Census, settings: Settings) -> Iterator[Finding]:
    for gang in census.gangs_with("schedulingConstraints"):
        if gang.group.topology_key:
            message = (
                f"the scheduler of {settings.release} evicts no pods for a group with a topology key "
                f"({gang.group.topology_key}), whatever its priority"
            )
            hint = "If the gang must be able to preempt, remove the topology key."
            path = (*gang.group.path, "schedulingConstraints")
            yield Finding(gang.group.item, path, message, hint=hint)


@once
def _list_groups(census: Census) -> list[Group]:
    groups = [*census.composites.values(), *(gang.group for gang in census.gangs)]
    return list({id(group.item): group for group in groups}.values())


def _values(groups: list[Group]) -> Iterator[Mapping[str, Any]]:
    for group in groups:
        spec = as_mapping(group.item.value, *group.path)  # gates have the names of the release
        yield {"apiVersion": group.item.api_version, "kind": group.item.kind, "spec": spec}


_EFFECTS = {
    "GenericWorkload": "the link is dropped or ignored and pods are scheduled one by one",
    "GangScheduling": "policies are ignored and pods are scheduled one by one",
    "TopologyAwareWorkloadScheduling": "topology keys are dropped or ignored",
    "CompositePodGroup": "every group of a tree is scheduled independently",
    "WorkloadAwarePreemption": "disruptionMode and priorityClassName of groups are dropped",
    "PodGroupPreemptionPolicy": "preemptionPolicy of groups is dropped",
}
