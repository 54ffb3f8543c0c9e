"""`./dev live [RELEASE]`: starts the control plane of a release (the newest), proves every claim, writes the report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from conformance.live.claims import Claim, write_report
from conformance.live.forecasts import prove_cases, prove_unseen
from conformance.live.gangs import prove_order, prove_scheduler_gate, prove_server_gate, prove_sources
from conformance.live.obstacles import prove_obstacles
from conformance.live.updates import prove_updates
from conformance.scheduler.cluster import prepare
from conformance.scheduler.made.scenario import PROFILES, spell_gates
from conformance.scheduler.plane import BuildFailed, Plane, StartFailed, control
from conformance.versions import read_releases
from krmfn.workspace.simulator import find_simulator

#: Those that create the claims of pods.
CONTROLLERS = ("resourceclaim-controller", "ephemeral-volume-controller")
REPORT = Path(__file__).resolve().parents[2] / "docs" / "live.md"


def prove(release: str, count: int) -> Iterator[Claim]:
    """Every claim about a release. Raises StartFailed or BuildFailed."""
    with _start(release, "all", CONTROLLERS) as plane:
        prepare(plane)
        yield from prove_sources(plane)
        trees = "CompositePodGroup" in read_releases()[release].served
        if trees:
            yield from prove_order(plane)
        yield from prove_cases(plane, bool(find_simulator(release)))
        if trees:  # the obstacles are spelled for releases with trees
            yield from prove_obstacles(plane)
        yield from prove_updates(plane)
        yield from prove_unseen(plane, count)
    for profile, prove_gate in (
        ("scheduler-without-composites", prove_scheduler_gate),
        ("topology", prove_server_gate),
    ):
        if any(row[0] == profile for row in PROFILES[release]):
            with _start(release, profile) as plane:
                prepare(plane)
                yield from prove_gate(plane)


def _start(release: str, profile: str, controllers: Sequence[str] = ()) -> AbstractContextManager[Plane]:
    _, _, gates, scheduler_gates = next(row for row in PROFILES[release] if row[0] == profile)
    return control(release, spell_gates(release, gates), spell_gates(release, scheduler_gates), controllers)


def main(words: Sequence[str]) -> int:
    """Prints each claim; 1 when one was not kept, 2 when there is no control plane."""
    parser = argparse.ArgumentParser(prog="python -m conformance.live", description=__doc__)
    parser.add_argument("release", nargs="?", default=next(iter(PROFILES)), choices=tuple(PROFILES))
    parser.add_argument("--scenarios", type=int, default=12, help="how many made-up scenarios that are in no record")
    parser.add_argument("--report", type=Path, default=REPORT, help="where the report goes")
    given = parser.parse_args(words)
    claims = []
    try:
        for claim in prove(given.release, given.scenarios):
            claims.append(claim)
            print(
                f"{'kept  ' if claim.kept else 'FAILED'} {claim.topic}: {claim.subject}: {claim.claimed}: {claim.seen}",
                flush=True,
            )
    except (StartFailed, BuildFailed) as problem:
        print(problem, file=sys.stderr)
        return 2
    given.report.write_text(write_report(_introduce(given.release), claims))
    failed = sum(not claim.kept for claim in claims)
    print(f"{len(claims)} claims, {failed} failed: {given.report}")
    return int(failed > 0)


def _introduce(release: str) -> list[str]:
    version = read_releases()[release].version
    asked = "with" if find_simulator(release) else "without"
    return [
        "# Proved on a real control plane",
        "",
        "`./dev live` writes this page. It starts kube-apiserver, kube-scheduler and kube-controller-manager of",
        f"{version} on loopback, applies the output of krmfn, and compares its answers with what happens. Nodes are",
        f"objects without a kubelet: a pod runs when it has a node. `fit` was asked {asked} the simulator.",
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
