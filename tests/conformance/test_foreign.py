"""The groups for other schedulers are those that a real server with their definitions took (`conformance foreign`)."""

from __future__ import annotations

from conformance.foreign import make_groups, read_recorded
from krmfn.model.schedulers import SCHEDULERS

RECORDED = {record["case"]: record for record in read_recorded()}


def test_every_group_is_one_that_a_server_took() -> None:
    """What is generated now is what was sent; the server refused each of them with a field that does not exist."""
    made = dict(make_groups())
    assert made == {case: record["object"] for case, record in RECORDED.items()}
    assert {record["code"] for record in RECORDED.values()} == {201}
    assert {record["spoiled"] for record in RECORDED.values()} == {400}


def test_the_cases_show_what_the_schedulers_have() -> None:
    assert {case.split()[0] for case in RECORDED} == set(SCHEDULERS)
    kai = [record["object"]["spec"] for case, record in RECORDED.items() if case.startswith("KAI ")]
    assert any("subGroups" in spec for spec in kai)
    assert all("topologyConstraint" in spec and spec["queue"] == "research" for spec in kai)
