"""`python -m conformance.scheduler`: record decisions of real control planes, and compare predictions with them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from conformance.client import NoAnswer
from conformance.ending import end
from conformance.scheduler.cluster import LeftOver, prepare
from conformance.scheduler.compare import compare
from conformance.scheduler.decide import decide
from conformance.scheduler.made.scenario import PROFILES, RECORDED, choose_profile, make_scenario, spell_gates
from conformance.scheduler.plane import control
from conformance.scheduler.storage import DATA, append, done_ids, pack


def record(release: str, seeds: Sequence[int], folder: Path) -> int:
    """Decides all seeds, profile by profile; seeds that are recorded already are passed over."""
    known = done_ids(folder, release)
    failures = 0
    for number, (name, _, gates, scheduler_gates) in enumerate(PROFILES[release]):
        wanted = [
            seed for seed in seeds if choose_profile(release, seed) == number and f"{release}/{seed}" not in known
        ]
        tries = 0
        while wanted:
            with control(release, spell_gates(release, gates), spell_gates(release, scheduler_gates)) as plane:
                prepare(plane)
                start, count = time.monotonic(), 0
                while wanted:
                    try:
                        append(folder, release, decide(plane, make_scenario(release, wanted[0])))
                    except (LeftOver, NoAnswer) as problem:
                        print(f"{release}/{wanted[0]}: {problem}", file=sys.stderr, flush=True)
                        if isinstance(problem, NoAnswer):
                            print(plane.scheduler_log()[-3000:], file=sys.stderr, flush=True)
                        tries += 1
                        if tries == 2:
                            failures, tries = failures + 1, 0
                            wanted.pop(0)
                        break  # with a fresh control plane
                    wanted.pop(0)
                    count, tries = count + 1, 0
                    if count % 20 == 0:
                        each = (time.monotonic() - start) / count
                        print(f"{release} {name}: {len(wanted)} left, {each:.1f} s each", flush=True)
    return failures


def main(words: Sequence[str]) -> int:
    """Runs a command; 0 when nothing failed."""
    parser = argparse.ArgumentParser(prog="python -m conformance.scheduler", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="start a control plane and write down what it decides")
    one.add_argument("release", choices=tuple(PROFILES))
    one.add_argument("--count", type=int, default=100)
    one.add_argument("--first", type=int, default=1)
    one.add_argument("--out", type=Path, default=DATA)
    several = commands.add_parser("pack", help="put what was recorded into the compressed files")
    several.add_argument("folder", type=Path)
    several.add_argument("releases", nargs="*", metavar="RELEASE", default=list(RECORDED))
    again = commands.add_parser("replay", help="compare the predictions with the recorded decisions")
    again.add_argument("releases", nargs="*", metavar="RELEASE", default=list(RECORDED))
    again.add_argument("--folder", type=Path, default=DATA, help="records that are not packed yet")
    again.add_argument("--simulator", type=Path, help="ask the simulators in this folder, too")
    again.add_argument("--every", type=int, default=1, help="only each so many-th scenario")
    again.add_argument("--write", action="store_true", help="write the list of what was missed, and the answers")
    given = parser.parse_args(words)
    if given.command == "pack":
        for release in given.releases:
            print(pack(given.folder, release))
        return 0
    if given.command == "replay":
        return compare(given.releases, given.folder, given.simulator, given.every, given.write)
    return 1 if record(given.release, range(given.first, given.first + given.count), given.out) else 0


if __name__ == "__main__":
    end(main)
