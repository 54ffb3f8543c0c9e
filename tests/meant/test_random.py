"""Random mistakes in objects that a server takes: the edits never make an object worse than it was written."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from krmfn import server
from krmfn.krm.editing import edit_copy
from krmfn.releases import schemastore
from krmfn.releases.release import find_release, list_releases
from krmfn.server.mends import find_mend
from krmfn.server.schema import Type, find_kind
from krmfn.server.verdict import Cause
from tests.meant.test_mistakes import make_edits, validate

GROUP = "apiVersion: scheduling.k8s.io/v1beta1\nmetadata: {name: a}\n"
RIGHT = [
    f"{GROUP}kind: PodGroup\nspec:\n  schedulingPolicy: {{gang: {{minCount: 4}}}}\n  priorityClassName: high\n"
    "  workloadRef: {workloadName: w, templateName: t}\n  disruptionMode: {all: {}}\n"
    "  schedulingConstraints: {topology: [{key: zone}]}\n  resourceClaims: [{name: a, resourceClaimName: b}]\n",
    f"{GROUP}kind: Workload\nspec:\n  controllerRef: {{apiGroup: batch, kind: Job, name: j}}\n  podGroupTemplates:\n"
    "  - name: a # first\n    schedulingPolicy: {gang: {minCount: 2}}\n"
    "  - name: b\n    schedulingPolicy:\n      basic: {}\n",
    f"{GROUP}kind: CompositePodGroup\nspec:\n  schedulingPolicy:\n    gang:\n      minGroupCount: 2\n"
    "  workloadRef: {workloadName: w, templateName: t}\n  disruptionMode: {single: {}}\n".replace(
        "v1beta1", "v1alpha3"
    ),
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a, labels: {a: b}}\nspec:\n  completions: 4\n  parallelism: 4\n"
    "  completionMode: Indexed\n  template:\n    spec:\n      restartPolicy: Never\n"
    "      schedulingGroup: {podGroupName: g}\n      containers:\n      - name: a\n        image: b\n"
    "        resources: {requests: {cpu: 1}}\n        ports: [{containerPort: 80}]\n",
]
WORDS = sorted({word for row in schemastore.load("kubernetes/dialects.json").values() for word in row})
GATES = dict.fromkeys(find_release("1.37").gates, True)


def count_refusals(text: str) -> int:
    """How many things a server refuses: those that it cannot decode come first."""
    verdict = server.answer(yaml.safe_load(text), "1.37", GATES)
    return 1 if verdict is None else 0 if verdict.accepted else max(1, len(verdict.causes))


def list_places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in pairs:
        yield (*path, key)
        yield from list_places(child, (*path, key))


def spoil(value: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The object with one to three mistakes below its spec."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, 3)):
        places = [path for path in list_places(value) if path[0] == "spec" and len(path) > 1]
        if not places:
            break
        *above, key = chance.choice(places)
        holder: Any = value
        for part in above:
            holder = holder[part]
        match chance.randrange(6):
            case 0 if isinstance(key, str):
                holder[chance.choice(WORDS)] = holder.pop(key)
            case 1 if isinstance(key, str):
                holder[key.lower() if chance.random() < 0.5 else key[:-1] or "x"] = holder.pop(key)
            case 2:
                holder[key] = str(holder[key])
            case 3:
                holder[key] = [holder[key]]
            case 4 if isinstance(holder[key], dict) and holder[key]:
                holder[key] = next(iter(holder[key].values()))
            case _:
                holder[key] = chance.choice([4, "4", True, "Pod", {}, [], {"name": "g"}, None])
    return value


@pytest.mark.parametrize("seed", range(int(os.environ.get("KRMFN_SEEDS", "60"))))
def test_edits_make_nothing_worse(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    spoiled = spoil(yaml.safe_load(chance.choice(RIGHT)), chance)
    text = json.dumps(spoiled) if chance.random() < 0.2 else yaml.safe_dump(spoiled, sort_keys=False)
    path = tmp_path / "a.yaml"
    path.write_text(text)
    found = validate(path)
    assert bool(found) == bool(count_refusals(text)), "what a server takes is not edited"
    edited = make_edits(text, found)
    path.write_text(edited)
    left = validate(path)
    assert bool(left) == bool(count_refusals(edited))
    assert len(left) <= len(found), f"{text}\n---\n{edited}"


def list_structs(of: Type, depth: int) -> Iterator[tuple[str | int, ...]]:
    """The places of objects below a type."""
    for name, field in of.fields.items():
        inner, path = (field.type.item, (name, 0)) if field.type.kind == "list" else (field.type, (name,))
        if depth and inner is not None and inner.kind == "struct":
            yield path
            yield from ((*path, *below) for below in list_structs(inner, depth - 1))


@pytest.mark.parametrize("name", list_releases())
def test_a_word_in_the_place_of_an_object_is_no_defect(name: str) -> None:
    """Also where the field that it would be is called otherwise in that release, as in the workloadRef of 1.35."""
    release, tried = find_release(name), 0
    for word in release.kinds:
        kind = find_kind("scheduling.k8s.io", word, name, dict.fromkeys(release.gates, True))
        pod = find_kind("", "Pod", name, {})
        for root in (each.root for each in (kind, pod) if each):
            for path in list_structs(root, 4):
                cause = Cause("Decode", path, "cannot unmarshal", "wrong-type")
                for value in ("train", 5, ["train"], {"train": 1}, {"": 1}):
                    find_mend(root, edit_copy({}, path, 0, value), cause, release)
                    tried += 1
    assert tried > 500
