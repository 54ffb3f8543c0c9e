"""Where pods want to be, to nodes and to one another, in the ways that few manifests use."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from conformance.scheduler.made.clusters import HOST, RACK, ZONE
from conformance.scheduler.made.mistakes import pod_specs

Value = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def objects_of(scenario: Value) -> list[Value]:
    """Everything that the gangs of a scenario consist of."""
    return [value for gang in scenario["gangs"] for value in gang["objects"]]


def choose_spec(random: Random, scenario: Value) -> Value:
    """One of the pod templates; an empty one, that nobody sees, where there is none."""
    return random.choice(list(pod_specs(objects_of(scenario))) or [{"containers": [{}]}])


def node_terms(random: Random, scenario: Value) -> bool:
    """Node selector terms of the less usual kinds, several at once."""
    name = random.choice(scenario["nodes"])["metadata"]["name"]
    terms: tuple[Value, ...] = (
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]},
        {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [name]}]},
        {"matchExpressions": [{"key": "gen", "operator": "Gt", "values": ["2"]}]},
        {"matchExpressions": [{"key": "pool", "operator": "Lt", "values": ["2"]}]},
        {"matchExpressions": [{"key": "missing", "operator": "NotIn", "values": ["x"]}]},
        {"matchExpressions": [{"key": "missing", "operator": "DoesNotExist"}, {"key": HOST, "operator": "Exists"}]},
    )
    wanted = {"nodeSelectorTerms": copy.deepcopy(random.sample(terms, random.choice((1, 1, 2))))}
    choose_spec(random, scenario).setdefault("affinity", {})["nodeAffinity"] = {REQUIRED: wanted}
    return True


def both_ways(random: Random, scenario: Value) -> bool:
    """Together in a zone and apart on hosts, or the other way round; several terms."""
    specs = list(pod_specs(objects_of(scenario)))
    selector = {"matchExpressions": [{"key": "app", "operator": random.choice(("Exists", "Exists", "DoesNotExist"))}]}
    for spec in specs[: random.choice((1, 2, 9))]:
        wide, narrow = random.choice(((ZONE, HOST), (RACK, HOST), (HOST, ZONE)))
        together = [{"topologyKey": wide, "labelSelector": selector}]
        if random.random() < 0.3:
            together.append({"topologyKey": RACK, "labelSelector": selector, "namespaceSelector": {}})
        spec["affinity"] = {"podAffinity": {REQUIRED: together}}
        if random.random() < 0.7:
            apart = [{"topologyKey": narrow, "labelSelector": selector}]
            spec["affinity"]["podAntiAffinity"] = {REQUIRED: apart}
    return True


def to_one_another(random: Random, scenario: Value) -> bool:
    """Each template near, or away from, the pods of the next one: the templates get a label each."""
    specs = list(pod_specs(objects_of(scenario)))
    holders = [value for value in objects_of(scenario) if value["kind"] == "Pod"]
    if len(specs) < 2 or holders:
        return False
    kind, key = random.choice(("podAffinity", "podAntiAffinity")), random.choice((HOST, ZONE, RACK))
    for number, template in enumerate(_templates(objects_of(scenario))):
        template.setdefault("metadata", {}).setdefault("labels", {})["part"] = str(number)
        labels = {"part": str((number + 1) % len(specs))}
        term = {"topologyKey": key, "labelSelector": {"matchLabels": labels}}
        if random.random() < 0.6:
            template["spec"].setdefault("affinity", {})[kind] = {REQUIRED: [term]}
    return True


def _templates(value: object) -> list[Value]:
    """All pod templates below a value."""
    if isinstance(value, dict):
        if isinstance(value.get("spec"), dict) and "containers" in value["spec"]:
            return [value]
        return [template for entry in value.values() for template in _templates(entry)]
    return [template for entry in value for template in _templates(entry)] if isinstance(value, list) else []


def spreads(random: Random, scenario: Value) -> bool:
    """Two constraints at once, over hosts and zones; without a selector; that count by a hash."""
    specs = list(pod_specs(objects_of(scenario)))
    for spec in specs[: random.choice((1, 9))]:
        spec["topologySpreadConstraints"] = []
        for key in random.sample((HOST, ZONE, RACK, "pool"), random.choice((1, 2, 2))):
            constraint: Value = {"maxSkew": random.choice((1, 2)), "topologyKey": key}
            constraint["whenUnsatisfiable"] = random.choice(("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"))
            if random.random() < 0.8:
                constraint["labelSelector"] = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
                if random.random() < 0.3:
                    constraint["matchLabelKeys"] = [random.choice(("run", "pod-template-hash"))]
            if constraint["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.4:
                constraint["minDomains"] = random.choice((2, 4))
            for field in ("nodeTaintsPolicy", "nodeAffinityPolicy"):
                if random.random() < 0.3:
                    constraint[field] = random.choice(("Honor", "Ignore"))
            spec["topologySpreadConstraints"].append(constraint)
    return True


def ports(random: Random, scenario: Value) -> bool:
    """Ports of sidecars, of several containers and protocols, on one address or all, shared by templates."""
    for spec in list(pod_specs(objects_of(scenario)))[: random.choice((1, 2, 9))]:
        box = random.choice((*spec["containers"], *spec.get("initContainers", [])))
        ports: list[Value] = []
        for number in random.sample((7000, 7001, 7002), random.choice((1, 2))):
            port: Value = {"containerPort": number, "hostPort": number}
            if random.random() < 0.3:
                port["hostIP"] = random.choice(("127.0.0.1", "10.0.0.1", "0.0.0.0"))
            if random.random() < 0.3:
                port["protocol"] = random.choice(("UDP", "TCP", "SCTP"))
            ports.append(port)
        box["ports"] = ports
    return True
