"""What the server stored in answer to an accepted request: what it filled in, dropped and changed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from krmfn.server.spell import to_api
from krmfn.server.strategy import RANDOM
from tests.conformance.replay import DATA, Record, answer, fill_carried, kind_of, profile_of, read

#: Written anew on every request, and left out by those who recorded.
UNRECORDED = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields", "selfLink")

Result = dict[str, Any]


@pytest.mark.parametrize("profile", sorted(path.name.split(".jsonl")[0] for path in DATA.glob("verdicts/*.jsonl.xz")))
def test_stored(profile: str) -> None:
    """Of the profiles in `verdicts`: what the rig of this repository records is compared by `compare`."""
    records = [record for record in read("verdicts", profile) if is_told(record)]
    assert len(records) > 250
    found = ((record["id"], our_result(record), recorded_result(record)) for record in records)
    differences = [f"{name}: {ours}, expected {theirs}" for name, ours, theirs in found if ours != theirs]
    assert not differences, f"{len(differences)} differences\n" + "\n".join(differences[:10])


def is_told(record: Record) -> bool:
    return record["verdict"]["accepted"] and record["operation"] != "status" and "raw" not in record


def recorded_result(record: Record) -> Result:
    """The recorder compared text: of an annotation `null` it says changed, of an empty generateName nothing."""
    result = {name: value for name, value in record.get("result", {}).items() if name != "changed"}
    changed = {
        path: pair for path, pair in record.get("result", {}).get("changed", {}).items() if "annotations" not in path
    }
    if changed:
        result["changed"] = changed
    return {name: sorted(value) if isinstance(value, list) else value for name, value in result.items()}


def our_result(record: Record) -> Result:
    kind = kind_of(profile_of(record), record["kind"])
    answered = answer(profile_of(record), record)
    stored = json.loads(json.dumps(to_api(kind.root, answered.stored)).replace(RANDOM, "<random>"))
    sent = fill_carried(record) if "old" in record else json.loads(json.dumps(record["object"]))
    for one in (stored, sent):
        for name in UNRECORDED:
            one["metadata"].pop(name, None)
    result: Result = {"dropped": [], "nulls": [], "defaulted": {}, "changed": {}}
    compare_values(sent, stored, "", result)
    if kind.pod_spec:
        pods = ".".join(kind.pod_spec)
        result = {name: keep_known(value, pods, kind.name) for name, value in result.items()}
    if not result["defaulted"].get("status", True):
        del result["defaulted"]["status"]  # `status: {}` of a fresh object was not recorded
    result["defaulted"] = {path: value for path, value in result["defaulted"].items() if "annotations" not in path}
    result["dropped"] = [path for path in result["dropped"] if path != "metadata.generateName"]
    return {name: sorted(value) if isinstance(value, list) else value for name, value in result.items() if value}


def keep_known(found: Any, pods: str, kind: str) -> Any:
    """Of built-in kinds, the fields of scheduling only: that is what was recorded, and what this engine answers for."""

    def known(path: str) -> bool:
        names = [f"{pods}.{name}" for name in ("schedulingGroup", "workloadRef", "evictionR")]
        if kind == "Pod":
            names.append(f"{pods}.pr")
        return path.startswith(tuple(names)) or "scheduling" in path.split(".")

    if isinstance(found, list):
        return [path for path in found if known(path)]
    return {path: value for path, value in found.items() if known(path)}


def compare_values(sent: Any, stored: Any, path: str, result: Result) -> None:
    """As the recorder compares what was sent with what came back."""
    if isinstance(sent, dict) and isinstance(stored, dict):
        for key in sent.keys() | stored.keys():
            inner = f"{path}.{key}" if path else key
            if key not in stored:
                if sent[key] is not None:
                    result["dropped"].append(inner)
            elif key in sent:
                compare_values(sent[key], stored[key], inner, result)
            elif stored[key] is None:
                result["nulls"].append(inner)
            else:
                result["defaulted"][inner] = stored[key]
    elif isinstance(sent, list) and isinstance(stored, list) and len(sent) == len(stored):
        for index, (one, other) in enumerate(zip(sent, stored, strict=True)):
            compare_values(one, other, f"{path}[{index}]", result)
    elif sent is None and stored is not None:
        result["defaulted"][path] = stored
    elif sent != stored:
        if stored is None:
            result["dropped"].append(path)
        else:
            result["changed"][path] = [sent, stored]
