"""Measures cel-python on the CEL rules that recorded custom resources meet: `python -m conformance.celpython`, where
cel-python is installed. What the evaluator of krmfn says is what the servers answered (tests/conformance/test_custom).
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from typing import Any

from conformance.custom import RECORDED, find_one
from conformance.ending import Unable, end
from conformance.storage import read_records
from krmfn.krm.results import ABSENT
from krmfn.server.cel import EvaluationFailed, compile_rule
from krmfn.server.custom import find_rules


def list_evaluations() -> Iterator[tuple[str, Any]]:
    """Each rule with the value that it is evaluated for."""
    for record in read_records(RECORDED):
        body = record["object"]
        group, _, api_version = body["apiVersion"].rpartition("/")
        known = find_one(record["project"], record["version"], group, body["kind"], api_version)
        (structure,) = known.structures.values()
        unknown: list[Any] = []
        completed = structure.complete(dict(body), unknown)
        if record["code"] in (201, 422) and not unknown and not structure.check(completed):
            for _, rule, _, value, _, _ in find_rules(structure, structure.resolve(structure.root), completed, ABSENT):
                yield rule["rule"], value


def main(words: Sequence[str]) -> int:
    """Measures; takes no words."""
    began = time.process_time()
    if importlib.util.find_spec("celpy") is None:
        raise Unable("celpy is not installed: pip install cel-python")
    celpy: Any = importlib.import_module("celpy")
    adapter: Any = importlib.import_module("celpy.adapter")
    imported = time.process_time() - began
    environment = celpy.Environment()
    programs: dict[str, Any] = {}
    agree = count = 0
    theirs = ours = 0.0
    for rule, value in list_evaluations():
        if rule not in programs:
            programs[rule] = environment.program(environment.compile(rule))
        began = time.process_time()
        try:
            said: Any = bool(programs[rule].evaluate({"self": adapter.json_to_cel(value)}))
        except celpy.CELEvalError:
            said = "error"
        between = time.process_time()
        try:
            wanted: Any = compile_rule(rule)({"self": value}) is True
        except EvaluationFailed:
            wanted = "error"
        ours += time.process_time() - between
        theirs += between - began
        count += 1
        agree += said == wanted
        if said != wanted:
            print(f"{rule}: {said}, not {wanted}")
    print(
        f"{count} evaluations of {len(programs)} rules: {agree} agree; import {imported * 1000:.0f} ms; "
        f"each {theirs / count * 1e6:.0f} us, by krmfn {ours / count * 1e6:.0f} us"
    )
    return 0


if __name__ == "__main__":
    end(main)
