"""Recorded decisions of Kueue's manager: krmfn never says "never" of a job that was admitted."""

from __future__ import annotations

from functools import cache

import pytest

from conformance.kueue.answers import expand
from conformance.kueue.compare import Row, judge, write_matrix
from conformance.kueue.record import JOBS, read_all
from conformance.kueue.report import read_section
from conformance.kueue.simulated import compare, read_disagreements, resume
from conformance.kueue.worlds import make_world
from krmfn.workspace.simulator import find_simulator


@cache
def list_rows() -> list[Row]:
    """Every job of every record."""
    return [row for record in read_all() for row in judge(record)]


def test_no_proof_is_wrong() -> None:
    wrong = [row for row in list_rows() if row.said == "never" and row.became in ("admitted", "checks pending")]
    assert not wrong


def test_the_report_is_what_is_compared() -> None:
    assert read_section("worlds") == write_matrix(list_rows())


def test_a_seed_gives_the_recorded_world() -> None:
    for record in list(read_all())[::25]:
        world = make_world(record["seed"])
        assert (world.objects, world.configuration) == (record["objects"], record["configuration"])
        assert len(record["answers"]) == sum(value["kind"] in JOBS for value in record["objects"])


def test_the_pod_that_submits_a_ray_job_counts() -> None:
    words = "pod set submitter: resource memory unavailable"
    rows = [row for row in list_rows() if words in row.answer.get("message", "")]
    assert rows
    assert {row.rule for row in rows} <= {"kueue-resource-not-covered", "kueue-queue-too-small"}


def test_domains_are_expanded() -> None:
    level = {"individual": {"prefix": "n", "roots": ["1", "2"]}}
    part = {"domainCount": 2, "valuesPerLevel": [{"universal": "r"}, level], "podCounts": {"individual": [3, 1]}}
    assert expand({"slices": [part]}) == [[["r", "n1"], 3], [["r", "n2"], 1]]


def test_the_simulator_decides_as_the_manager() -> None:
    program = find_simulator("kueue-0.19")
    if not program:
        pytest.skip("no krmfn-simulator-kueue-0.19: ./dev simulator kueue-0.19")
    known = read_disagreements()
    pairs = [pair for record in list(read_all())[3::50] for pair in compare(program, record)]
    assert pairs
    assert not [pair for pair in pairs if not pair.agrees and pair.name not in known]


def test_what_runs_makes_room_in_a_dump_as_if_its_job_had_come() -> None:
    """Worlds in which something was preempted: all jobs but the last one are Workloads of a dump, without their
    Jobs."""
    program = find_simulator("kueue-0.19")
    if not program:
        pytest.skip("no krmfn-simulator-kueue-0.19: ./dev simulator kueue-0.19")
    worlds = [each for each in read_all() if any(job.get("preempted") for job in each["answers"].values())]
    pairs = [pair for record in worlds[::3] for pair in resume(program, record)]
    assert any(pair.real.get("preempted") and pair.simulated.get("preempted") for pair in pairs)
    assert not [pair for pair in pairs if not pair.agrees]
