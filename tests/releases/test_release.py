"""What release.json says agrees with the schemas beside it, and with what the code asks for."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from krmfn.model.rules import RULES
from krmfn.releases import schemastore
from krmfn.releases.release import (
    GROUP,
    Release,
    UnknownRelease,
    assume_gates,
    complete,
    find_release,
    first_release,
    has,
    list_needed,
    list_releases,
    newest_release,
)

ROOT = Path(__file__).parents[2]
RELEASES = [find_release(name) for name in list_releases()]
each = pytest.mark.parametrize("name", list_releases())


def schemas_of(name: str) -> dict[str, dict[str, Any]]:
    paths = schemastore.list_paths(f"kubernetes/{name}")
    return {path.rpartition("/")[2].removesuffix(".json"): schemastore.load(path) for path in paths}


def nodes_of(value: Any, key: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every mapping in a schema, with the name of the property that it describes."""
    if isinstance(value, dict):
        yield key, value
        for child_key, child in value.items():
            if child_key == "properties" and isinstance(child, dict):
                for field, schema in child.items():
                    yield from nodes_of(schema, field)
            else:
                yield from nodes_of(child, key)
    elif isinstance(value, list):
        for child in value:
            yield from nodes_of(child, key)


@each
def test_kinds_and_their_gates_are_those_of_the_schemas(name: str) -> None:
    release = find_release(name)
    found = {s["x-kubernetes-kind"]: s for s in schemas_of(name).values() if s.get("x-kubernetes-group") == GROUP}
    assert set(found) == set(release.kinds)
    for kind, schema in found.items():
        versions = schema["x-kubernetes-versions"]
        assert set(versions) == set(release.kinds[kind])
        gates = {gate for gate in release.gates.values() if kind in gate.kinds}
        for needed in versions.values():
            assert {gate.name for gate in gates} | {need for gate in gates for need in gate.needs} >= set(needed)
            assert {gate.name for gate in gates} <= set(needed)


@each
def test_versions_are_ordered_by_stability(name: str) -> None:
    def stability(version: str) -> tuple[bool, bool, str]:
        return "alpha" in version, "beta" in version, version

    for versions in find_release(name).kinds.values():
        assert list(versions) == sorted(versions, key=stability)


@each
def test_the_link_is_a_field_of_pods(name: str) -> None:
    field, leaf = find_release(name).link
    nodes = dict(nodes_of(schemas_of(name)["pod"]))
    assert {field, leaf} <= set(nodes)
    others = {release.link[0] for release in RELEASES} - {field}
    assert not others & set(nodes)


@each
def test_fields_of_gates_are_those_that_the_schemas_drop(name: str) -> None:
    """Of the kinds of scheduling.k8s.io, and no field is given to a gate that does not guard it."""
    release = find_release(name)
    guarded: dict[str, set[str]] = {}
    for schema in schemas_of(name).values():
        if schema.get("x-kubernetes-group") == GROUP:
            for field, node in nodes_of(schema):
                if gate := node.get("x-kubernetes-feature-gate"):
                    guarded.setdefault(gate, set()).add(field)
    for gate in release.gates.values():
        dropped = guarded.pop(gate.name, set()) - {"priority"}  # nobody writes it: admission does
        assert dropped <= gate.fields | {"resourceClaimStatuses"}
    assert not guarded


@each
def test_gates_stand_before_those_that_need_them(name: str) -> None:
    seen: set[str] = set()
    for gate in find_release(name).gates.values():
        assert set(gate.needs) <= seen
        assert gate.components
        assert gate.stage in ("alpha", "beta", "ga")
        seen.add(gate.name)


def test_features_are_asked_for_and_features_that_are_asked_for_exist() -> None:
    """A mistyped feature would silence its rules on every release."""
    known = {feature for release in RELEASES for feature in release.features}
    asked = {feature for rule in RULES.values() for feature in (rule.needs, rule.lacks) if feature}
    for path in (ROOT / "krmfn").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[-1], ast.Constant):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("has", "first_release", "is_obeyed"):
                asked.add(str(node.args[-1].value))
    assert asked <= known
    assert known <= asked, "a feature that nothing asks for"


@pytest.mark.parametrize(
    "text", ["1.37", "v1.37", "1.37.0", "1.37.2", "v1.37.1-gke.1000", "v1.37.3+k3s1", "v1.37.1-eks-abc", " 1.37 "]
)
def test_versions_are_read_as_clusters_print_them(text: str) -> None:
    assert find_release(text) is find_release("1.37")


@pytest.mark.parametrize(
    "text", ["", "1", "1.3", "1.370", "2.37", "1.37.1.2", "1.34", "x", "../1.37", "1.37/..", "१.३७"]
)
def test_what_is_no_release_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(UnknownRelease, match=r"use 1\.35, .* or 1\.\d+$"):
        find_release(text)


def test_the_default_is_the_newest_release() -> None:
    released = [release for release in RELEASES if not release.preview]
    assert newest_release() is released[-1]
    assert first_release("pod-groups").name == "1.36"
    assert first_release("composite-groups").name == "1.37"


def test_a_feature_is_there_while_its_gate_may_be_on() -> None:
    release = find_release("1.37")
    assert has(release, {}, "composite-groups")
    assert not has(release, {"CompositePodGroup": False}, "composite-groups")
    assert not has(release, {}, "job-groups"), "an opt-in gate"
    assert has(release, {"WorkloadWithJob": True}, "job-groups")
    assert not has(find_release("1.36"), {"CompositePodGroup": True}, "composite-groups")


def test_gates_that_are_not_named_have_their_default_beside_one_that_is_on() -> None:
    release = find_release("1.36")
    assert complete({}, release) == {}
    assert complete({"GangScheduling": False}, release) == {"GangScheduling": False}
    completed = complete({"GenericWorkload": True, "Other": True}, release)
    assert completed == {**dict.fromkeys(release.gates, False), "GenericWorkload": True, "Other": True}


def test_a_gate_that_fills_in_fields_is_assumed_where_an_object_has_them() -> None:
    release = find_release("1.37")
    assert not assume_gates({}, release, "kind: PodGroup")["PodGroupPreemptionPolicy"]
    assert assume_gates({}, release, "preemptionPolicy: Never")["PodGroupPreemptionPolicy"]
    assert assume_gates({"PodGroupPreemptionPolicy": True}, release, "")["PodGroupPreemptionPolicy"]


def test_the_gates_that_objects_need() -> None:
    release = find_release("1.37")
    group = {"apiVersion": release.api_version("PodGroup"), "kind": "PodGroup", "spec": {}}
    child = {**group, "spec": {"parentCompositePodGroupName": "a"}}
    assert list_needed(release, []) == ()
    assert list_needed(release, [group]) == ("GenericWorkload",)
    assert list_needed(release, [child]) == (
        "GenericWorkload",
        "TopologyAwareWorkloadScheduling",
        "CompositePodGroup",
    )
    assert list_needed(release, [{**child, "apiVersion": "scheduling.volcano.sh/v1beta1"}]) == ()


def test_the_data_has_no_key_that_nothing_reads() -> None:
    for name in list_releases():
        row = json.loads((ROOT / "schemas" / "kubernetes" / name / "release.json").read_text())
        assert set(row) <= {
            "version",
            "preview",
            "kinds",
            "link",
            "template",
            "modes",
            "gates",
            "features",
            "unreadable",
            "goneGates",
            "lacks",
            "names",
            "owns",
        }
        for gate in row["gates"].values():
            keys = {
                "stage",
                "default",
                "needs",
                "components",
                "optIn",
                "locked",
                "kinds",
                "fields",
                "fills",
                "features",
            }
            assert set(gate) <= keys


def test_a_gate_of_kinds_that_are_withdrawn_brings_nothing() -> None:
    row = schemastore.load(f"kubernetes/{newest_release()}/release.json")
    kinds = {kind: versions for kind, versions in row["kinds"].items() if kind != "CompositePodGroup"}
    assert [Release("1.99", {**row, "kinds": each}).has("composite-groups") for each in (row["kinds"], kinds)] == [
        True,
        False,
    ]
