"""Issues of other projects: pods that never started because of a count, a link, a name, a namespace or a queue.

Each case is a manifest of our own with the mistake that the issue is about, and the change that mends it. The mistake
is told, with what to do, and nothing is told of the mended manifest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

import krmfn

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = [
    case for path in sorted(HERE.glob("*.yaml")) for case in yaml.safe_load(path.read_text())
]


def check(case: dict[str, Any], text: str) -> krmfn.Findings:
    """What is told of a manifest, without infos."""
    spec = {"kubernetes": {"version": "1.37"}, **case.get("config", {})}
    found = krmfn.validate(text.encode(), config={"metadata": {"name": "gangs"}, "spec": spec})
    return krmfn.Findings((*found.errors, *found.warnings))


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(case["issue"].split("/")[-3::2]))
def test_the_mistake_is_told_and_nothing_of_the_mended_manifest(case: dict[str, Any]) -> None:
    bad = good = case["bad"]
    for old, new in case["good"].items():
        assert old in good
        good = good.replace(old, new)
    if case.get("drop"):
        bad = bad.partition("---\n")[2]
    found = check(case, bad)
    told = found.of(*case["told"])
    assert {result.tags["rule"] for result in told} == set(case["told"]), found
    assert all(result.tags.get("hint") for result in told)
    mended = check(case, good)
    assert not mended, mended


def test_there_are_enough() -> None:
    assert len(CASES) >= 60
    assert len({rule for case in CASES for rule in case["told"]}) >= 30
