"""Packing and bounds against a second reader that tries every distribution of a few pods over a few nodes."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from krmfn.capacity import Obeyed, prove
from krmfn.config import read_settings
from krmfn.krm import Item
from krmfn.survey.counting import count_all

Value = dict[str, Any]
SIZES = st.integers(1, 6)
NODES = st.lists(st.tuples(SIZES, SIZES, st.sampled_from("ab"), st.booleans()), min_size=1, max_size=4)
#: What a pod asks for; of 0 it does not speak.
REQUESTS = st.integers(0, 6)
#: cpu, memory, how many, apart on a host, tolerates.
TEMPLATES = st.lists(
    st.tuples(REQUESTS, REQUESTS, st.integers(1, 3), st.booleans(), st.booleans()), min_size=1, max_size=2
)


def make(nodes: list[Any], templates: list[Any], least: int, key: str) -> tuple[list[Value], Value]:
    """The manifests, and the configuration with the nodes."""
    objects: list[Value] = []
    for number, (cpu, memory, pods, apart, tolerates) in enumerate(templates):
        requests = {"cpu": cpu} | ({"memory": f"{memory}Gi"} if memory else {})
        spec: Value = {
            "restartPolicy": "Never",
            "schedulingGroup": {"podGroupName": "g"},
            "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
        }
        if apart:
            selector = {"matchLabels": {"app": str(number)}}
            term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": selector}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        if tolerates:
            spec["tolerations"] = [{"operator": "Exists"}]
        template = {"metadata": {"labels": {"app": str(number)}}, "spec": spec}
        job = {"parallelism": pods, "completions": pods, "template": template}
        metadata = {"name": f"j{number}", "namespace": "ml"}
        objects.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job})
    group: Value = {"schedulingPolicy": {"gang": {"minCount": least}}}
    if key:
        group["schedulingConstraints"] = {"topology": [{"key": key}]}
    metadata = {"name": "g", "namespace": "ml"}
    kind = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": metadata}
    objects.append({**kind, "spec": group})
    facts = []
    for number, (cpu, memory, zone, tainted) in enumerate(nodes):
        taints = [{"key": "x", "effect": "NoSchedule"}] if tainted else []
        amounts = {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "3"}
        facts.append({"name": f"n{number}", "labels": {"zone": zone}, "taints": taints, "allocatable": amounts})
    return objects, {
        "spec": {"cluster": {"nodes": facts}},
        "apiVersion": "krmfn.dev/v1alpha1",
        "kind": "GangScheduling",
    }


def fits(nodes: list[Any], templates: list[Any], least: int, key: str) -> bool:
    """Whether some distribution places so many pods, in one zone where there is a key."""
    pods = [(number, *template) for number, template in enumerate(templates) for _ in range(template[2])]
    for zone in "ab" if key else (None,):
        places = [number for number, node in enumerate(nodes) if zone in (None, node[2])]
        for choice in product((None, *places), repeat=len(pods)):
            if sum(place is not None for place in choice) >= least and is_valid(nodes, pods, choice):
                return True
    return False


def is_valid(nodes: list[Any], pods: list[Any], choice: tuple[int | None, ...]) -> bool:
    for place, (cpu, memory, _, tainted) in enumerate(nodes):
        here = [pod for pod, chosen in zip(pods, choice, strict=True) if chosen == place]
        if sum(pod[1] for pod in here) > cpu or sum(pod[2] for pod in here) > memory or len(here) > 3:
            return False
        if tainted and not all(pod[5] for pod in here):
            return False
        if any(pod[4] and other[0] == pod[0] and other is not pod for pod in here for other in here):
            return False
        if any(sum(each[0] == pod[0] for each in here) > 1 for pod in here if pod[4]):
            return False
    return True


@settings(max_examples=300, deadline=None)
@given(NODES, TEMPLATES, st.integers(0, 2), st.sampled_from(["", "zone"]))
@example([(4, 1, "a", False)], [(1, 0, 1, False, False), (1, 1, 1, False, False)], 0, "")
def test_what_is_called_impossible_is_and_for_few_pods_everything_impossible_is_found(
    nodes: list[Any], templates: list[Any], spare: int, key: str
) -> None:
    least = max(1, sum(template[2] for template in templates) - spare)
    objects, configuration = make(nodes, templates, least, key)
    chosen = read_settings(configuration)
    items = [Item.new(value) for value in objects]
    census = count_all(items, chosen)
    obstacles = list(prove(census, Obeyed(trees=True, keys=True, remembers=True, claims=True)))
    assert bool(obstacles) != fits(nodes, templates, least, key), obstacles


def prove_impossible(nodes: list[Value], objects: list[Value]) -> bool:
    """Whether there is a proof that a gang cannot start on these nodes."""
    chosen = read_settings(
        {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": {"cluster": {"nodes": nodes}}}
    )
    items = [Item.new(value) for value in objects]
    census = count_all(items, chosen)
    return bool(list(prove(census, Obeyed(trees=True, keys=True, remembers=True, claims=True))))


@pytest.mark.parametrize(("pods", "impossible"), [(110, False), (111, True)])
def test_a_node_takes_as_many_pods_as_the_kubelet_does_by_default(pods: int, impossible: bool) -> None:
    """Where nobody says how many: maxPods of the kubelet."""
    objects, _ = make([], [(1, 1, pods, False, False)], pods, "")
    node = {"name": "n", "allocatable": {"cpu": "1000", "memory": "1000Gi"}}
    assert prove_impossible([node], objects) == impossible


@pytest.mark.parametrize(
    ("operator", "bound", "impossible"), [("Gt", "2", False), ("Gt", "3", True), ("Lt", "4", False), ("Lt", "3", True)]
)
def test_labels_are_compared_as_numbers(operator: str, bound: str, impossible: bool) -> None:
    """The value of such a label counts, although no pod names it."""
    objects, _ = make([], [(1, 1, 1, False, False)], 1, "")
    term = {"matchExpressions": [{"key": "generation", "operator": operator, "values": [bound]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    objects[0]["spec"]["template"]["spec"]["affinity"] = {"nodeAffinity": required}
    node = {"name": "n", "labels": {"generation": "3"}, "allocatable": {"cpu": "4", "memory": "4Gi"}}
    assert prove_impossible([node], objects) == impossible
