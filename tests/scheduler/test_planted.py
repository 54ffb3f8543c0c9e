"""Planted obstacles, which `./dev live` shows to be real: krmfn tells each of them without asking a scheduler."""

from __future__ import annotations

import pytest

from conformance.live import claims
from conformance.live.obstacles import CLEAR, OBSTACLES, Obstacle
from conformance.live.planting import ask, select
from conformance.scheduler.made.scenario import PROFILES, spell_gates
from tests.scheduler.inside import krmfn


@pytest.fixture(autouse=True)
def ask_without_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """`./dev live` starts a process for each question; here that takes too long."""
    monkeypatch.setattr(claims, "krmfn", krmfn)


def list_pairs(obstacles: tuple[Obstacle, ...]) -> list[object]:
    """Every obstacle with each release that knows it."""
    return [
        pytest.param(obstacle, release, id=f"{release} {obstacle.title}")
        for release in PROFILES
        for obstacle in select(obstacles, release)
    ]


def ask_with_gates(obstacle: Obstacle, release: str) -> dict[str, object]:
    return ask(obstacle, release, spell_gates(release, PROFILES[release][0][2]))


@pytest.mark.parametrize(("obstacle", "release"), list_pairs(OBSTACLES))
def test_an_obstacle_is_told(obstacle: Obstacle, release: str) -> None:
    told = ask_with_gates(obstacle, release)
    assert told["verdict"] == "never"
    assert told["rule"]
    assert told["why"]


@pytest.mark.parametrize(("obstacle", "release"), list_pairs(CLEAR))
def test_a_gang_without_obstacle_is_not_told(obstacle: Obstacle, release: str) -> None:
    assert ask_with_gates(obstacle, release)["verdict"] == "open"


def test_the_obstacles_are_of_many_kinds() -> None:
    assert len(OBSTACLES) >= 40
    assert len({obstacle.title for obstacle in OBSTACLES}) == len(OBSTACLES)
