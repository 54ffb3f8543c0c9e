"""`./dev live [RELEASE]`: starts the control plane of a release (the newest), proves every claim, writes the report."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from conformance.ending import end
from conformance.live.claims import Claim, insert, take, write_section
from conformance.live.forecasts import list_trials, prove_unseen
from conformance.live.gangs import list_races, prove_order, prove_scheduler_gate, prove_server_gate
from conformance.live.planting import list_obstacles
from conformance.live.updates import prove_updates
from conformance.scheduler.cluster import prepare
from conformance.scheduler.made.scenario import PROFILES, spell_gates
from conformance.scheduler.plane import Plane, control
from conformance.versions import read_releases
from krmfn.workspace.simulator import find_simulator

#: Those that create the claims of pods.
CONTROLLERS = ("resourceclaim-controller", "ephemeral-volume-controller")
HEAD = """# Proved on a real control plane

`./dev live RELEASE` writes a section of this page. It starts kube-apiserver, kube-scheduler and
kube-controller-manager of the release on loopback, applies the output of krmfn, and compares its answers with what
happens. Nodes are objects without a kubelet: a pod runs when it has a node.
"""
REPORT = Path(__file__).resolve().parents[2] / "docs" / "live.md"


def prove(release: str, count: int) -> Iterator[Claim]:
    """Every claim about a release. Raises StartFailed or BuildFailed."""
    steps = (*list_races(release), *list_trials(bool(find_simulator(release))), *list_obstacles(release))
    yield from take(steps, lambda: start_plane(release, "all", CONTROLLERS))
    with start_plane(release, "all", CONTROLLERS) as plane:
        if "CompositePodGroup" in read_releases(previews=True)[release].served:
            yield from prove_order(plane)
        yield from prove_updates(plane)
        yield from prove_unseen(plane, count)
    for profile, prove_gate in (
        ("scheduler-without-composites", prove_scheduler_gate),
        ("topology", prove_server_gate),
    ):
        if any(row[0] == profile for row in PROFILES[release]):
            with start_plane(release, profile) as plane:
                yield from prove_gate(plane)


@contextlib.contextmanager
def start_plane(release: str, profile: str, controllers: Sequence[str] = ()) -> Iterator[Plane]:
    """A control plane with the namespaces."""
    _, _, gates, scheduler_gates = next(row for row in PROFILES[release] if row[0] == profile)
    with control(release, spell_gates(release, gates), spell_gates(release, scheduler_gates), controllers) as plane:
        prepare(plane)
        yield plane


def main(words: Sequence[str]) -> int:
    """Prints each claim; 1 when one was not kept, 2 when there is no control plane."""
    parser = argparse.ArgumentParser(prog="python -m conformance.live", description=__doc__)
    parser.add_argument("release", nargs="?", default=next(iter(PROFILES)), choices=tuple(PROFILES))
    parser.add_argument("--scenarios", type=int, default=12, help="how many made-up scenarios that are in no record")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the report goes")
    given = parser.parse_args(words)
    claims = []
    for claim in prove(given.release, given.scenarios):
        claims.append(claim)
        kept = "kept  " if claim.kept else "FAILED"
        print(f"{kept} {claim.topic}: {claim.subject}: {claim.claimed}: {claim.seen}", flush=True)
    version = read_releases(previews=True)[given.release].version
    section = write_section(_introduce(version, bool(find_simulator(given.release))), claims)
    page = given.report.read_text() if given.report.exists() else HEAD
    given.report.write_text(insert(page, version, section))
    failed = sum(not claim.kept for claim in claims)
    print(f"{len(claims)} claims, {failed} failed: {given.report}")
    return int(failed > 0)


def _introduce(version: str, simulator: bool) -> list[str]:
    asked = "with the simulator" if simulator else "without a simulator"
    return [f"## {version}", "", f"`fit` was asked {asked}."]


if __name__ == "__main__":
    end(main)
