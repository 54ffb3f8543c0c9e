"""PodCliqueSets: pods, quorums and replicas of each clique are those of the PodGangs that Grove itself makes."""

from __future__ import annotations

import json
import lzma

from conformance.grove import RECORDED, differ

CASES = [json.loads(line) for line in lzma.decompress(RECORDED.read_bytes()).decode().splitlines()]


def test_krmfn_counts_as_grove_does() -> None:
    assert not [found for case in CASES if (found := differ(case))]
    assert len(CASES) > 300


def test_the_answers_are_of_scaling_groups_and_of_examples() -> None:
    scaled = [case for case in CASES if case["object"]["spec"]["template"].get("podCliqueScalingGroups")]
    later = [case for case in scaled if len(case["gangs"]) > case["object"]["spec"]["replicas"]]
    assert len(scaled) > 150
    assert len(later) > 100, "gangs of later replicas"
    assert {"comp-inf-ppln", "simple1"} <= {case["object"]["metadata"]["name"] for case in CASES}, "Grove's own"
