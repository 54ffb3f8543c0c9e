"""The generator of requests: fixed by its seed, reaching every kind and operation; and what records are made of."""

from __future__ import annotations

import json
from itertools import islice
from random import Random

import pytest

from conformance.address import BUILT_IN
from conformance.difference import carry, compare, filled_in
from conformance.generate.breakage import break_once
from conformance.generate.kinds import shape_of
from conformance.generate.mix import GOVERNING, OTHERS, WITHOUT_PODS, cases, make_object
from conformance.offline import kind_of
from conformance.versions import read_profiles
from krmfn.server.requests import create

PROFILES = read_profiles()


@pytest.mark.parametrize("name", ["1.35-was", "1.36-was"])
def test_a_seed_fixes_the_cases(name: str) -> None:
    first, again, other = (list(islice(cases(PROFILES[name], seed), 60)) for seed in (1, 1, 2))
    assert json.dumps(first) == json.dumps(again)
    assert json.dumps(first) != json.dumps(other)


def test_every_kind_is_created_and_updated() -> None:
    profile = PROFILES["1.37-was-all"]
    seen = {(case.kind, case.operation) for case in islice(cases(profile, 3), 600)}
    seen |= {(case.kind, case.operation) for case in islice(cases(profile, 3, OTHERS), 200)}
    for kinds_alone in (WITHOUT_PODS, GOVERNING):
        seen |= {(case.kind, case.operation) for case in islice(cases(profile, 3, kinds_alone), 400)}
    kinds = {*profile.served, *BUILT_IN} - {"APIService"}
    assert seen >= {(kind, operation) for kind in kinds for operation in ("create", "update")}


def test_unbroken_workloads_are_valid() -> None:
    profile = PROFILES["1.37-was-all"]
    rng = Random("valid")
    kind = kind_of(profile, "Workload")
    made = [make_object(profile, "Workload", rng) for _ in range(100)]
    accepted = sum(create(kind, body).accepted for body in made)
    assert accepted > 90, "what is meant to be valid is mostly refused"


def test_a_mistake_changes_the_object_and_leaves_the_original() -> None:
    profile = PROFILES["1.36-was-all"]
    rng = Random("broken")
    changed = 0
    for _ in range(100):
        body = make_object(profile, "PodGroup", rng)
        before = json.dumps(body)
        broken, label = break_once(body, shape_of("PodGroup", "1.36"), rng)
        assert json.dumps(body) == before
        assert label
        changed += json.dumps(broken) != before
    assert changed > 80


def test_differences_of_an_accepted_request() -> None:
    sent = {"kind": "K", "metadata": {"name": "a"}, "spec": {"x": 1, "gone": [], "null": None, "list": [{"a": 1}]}}
    returned = {
        "kind": "K",
        "metadata": {"name": "a", "uid": "u", "namespace": "default"},
        "spec": {"x": 2, "null": 7, "empty": None, "list": [{"a": 1, "b": 2}]},
        "status": {},
    }
    assert compare("PodGroup", sent, returned) == {
        "defaulted": {"metadata.namespace": "default", "spec.null": 7, "spec.list[0].b": 2},
        "dropped": ["spec.gone"],
        "changed": {"spec.x": [1, 2]},
        "nulls": ["spec.empty"],
    }


def test_only_missing_fields_whose_parent_is_there_are_carried() -> None:
    filled = filled_in(
        {"spec": {"a": {}}}, {"spec": {"a": {"deep": 1}, "b": 2, "c": 3}, "metadata": {"finalizers": ["f"]}}
    )
    assert filled == {"spec.a.deep": 1, "spec.b": 2, "spec.c": 3, "metadata": {"finalizers": ["f"]}}
    full, added = carry("PodGroup", {"spec": {"b": None}}, filled)
    assert full == {"spec": {"b": None, "c": 3}}
    assert added == {"spec.c": 3}
