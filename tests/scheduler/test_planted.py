"""Planted obstacles, which `./dev live` shows to be real: krmfn tells each of them without asking a scheduler."""

from __future__ import annotations

import pytest

from conformance.live.obstacles import CLEAR, OBSTACLES, Obstacle, ask


def ask_with_gates(obstacle: Obstacle) -> dict[str, object]:
    gates = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup", "PodGroupPreemptionPolicy")
    return ask(obstacle, "--kubernetes", "1.37", "--feature-gates", ",".join(f"{gate}=true" for gate in gates))


@pytest.mark.parametrize("obstacle", OBSTACLES, ids=lambda obstacle: obstacle.title)
def test_an_obstacle_is_told(obstacle: Obstacle) -> None:
    told = ask_with_gates(obstacle)
    assert told["verdict"] == "never"
    assert told["rule"]
    assert told["why"]


@pytest.mark.parametrize("obstacle", CLEAR, ids=lambda obstacle: obstacle.title)
def test_a_gang_without_obstacle_is_not_told(obstacle: Obstacle) -> None:
    assert ask_with_gates(obstacle)["verdict"] == "open"


def test_the_obstacles_are_of_many_kinds() -> None:
    assert len(OBSTACLES) >= 40
    assert len({obstacle.title for obstacle in OBSTACLES}) == len(OBSTACLES)
