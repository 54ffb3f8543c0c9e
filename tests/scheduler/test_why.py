"""`krmfn why` on recorded clusters as they were when all was quiet: what runs is well, the rest has a cause."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import krmfn.forecast
from conformance.scheduler.pods import expand
from conformance.scheduler.replay import configuration
from conformance.scheduler.storage import DATA, read
from krmfn.config import read_settings
from krmfn.forecast.diagnosis import Diagnosis, find_object
from krmfn.krm import Item
from krmfn.pipeline import explain
from krmfn.releases import schemastore

EVERY = 20


def list_live(scenario: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects of a scenario as the API server had them: pods with owners, nodes and conditions."""
    outcome = scenario["together"]
    said = {pod: text for text, pods in outcome["said"] for pod in pods}
    yield from (*scenario["stored"], *scenario["running"])
    for value in (value for gang in scenario["gangs"] for value in gang["objects"]):
        if value["kind"] != "Pod":
            yield value
        for made in expand(value):
            pod = copy.deepcopy(made)
            name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
            if name in outcome["refused"]:
                continue
            if value["kind"] != "Pod":
                owner = {"apiVersion": value["apiVersion"], "kind": value["kind"], "name": value["metadata"]["name"]}
                pod["metadata"]["ownerReferences"] = [{**owner, "controller": True, "uid": "u"}]
            if name in outcome["bound"]:
                pod["spec"]["nodeName"] = outcome["bound"][name]
            elif name in said:
                reason, _, message = said[name].partition(": ")
                condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
                pod["status"] = {"conditions": [condition]}
            yield pod


def explain_all(scenario: dict[str, Any]) -> Iterator[tuple[str, Diagnosis]]:
    """For each gang without a spoilt link to a node: whether all of its pods were bound, or none, and the diagnosis."""
    given = configuration(scenario)
    classes = [value for value in scenario["stored"] if value["kind"] == "PriorityClass"]
    given["spec"]["cluster"]["items"] = [*scenario["nodes"], *classes]
    items = [Item.new(value) for value in list_live(scenario)]
    for gang in scenario["gangs"]:
        if "node_name" in gang["spoilt"]:
            continue
        pods = [
            f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for v in gang["objects"] for pod in expand(v)
        ]
        bound = sum(pod in scenario["together"]["bound"] for pod in pods)
        top = next((v for v in gang["objects"] if not v["apiVersion"].startswith("scheduling.")), gang["objects"][0])
        word = f"{top['kind']}/{top['metadata'].get('namespace', 'default')}/{top['metadata']['name']}"
        found = find_object(items, word)
        state = "all" if bound == len(pods) else "none" if not bound else "some"
        yield state, explain(items, read_settings(given), found[0])


@pytest.mark.slow
def test_what_runs_is_well_and_the_rest_has_a_cause() -> None:
    told = Counter[tuple[str, bool]]()
    unknown = 0
    for number, scenario in enumerate(read(DATA, "1.37")):
        if number % EVERY == 0:
            for state, diagnosis in explain_all(scenario):
                told[state, not diagnosis.cause] += 1
                unknown += diagnosis.cause.startswith("the data does not show")
    assert told["all", True] > 40
    assert not told["all", False]
    assert told["none", False] > 60
    assert not told["none", True]
    assert unknown <= 2


def test_each_cause_of_the_table_is_told_somewhere() -> None:
    modules = Path(str(krmfn.forecast.__file__)).parent.glob("*.py")
    nodes = (node for module in modules for node in ast.walk(ast.parse(module.read_text())))
    told = {node.value for node in nodes if isinstance(node, ast.Constant)}
    assert schemastore.load("ways.json")["causes"].keys() <= told
