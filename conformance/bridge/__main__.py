"""`python -m conformance.bridge`: what the policies of `krmfn bridge` do to pods, by real servers and schedulers."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conformance.bridge import changes, slicing
from conformance.bridge.live import GATES, REPORT, SCENARIOS, is_whole, run_release, write_report
from conformance.bridge.record import DATA, FILES, path_of, record
from conformance.ending import end
from conformance.scheduler.made.scenario import PROFILES
from conformance.storage import write_records


def main(words: Sequence[str]) -> int:
    """Records; prints how many pods were linked, left alone and refused."""
    parser = argparse.ArgumentParser(prog="python -m conformance.bridge", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="ask real API servers (default: all of them)")
    one.add_argument("files", nargs="*", choices=[*FILES, []], metavar="FILE")
    one.add_argument("--count", type=int, default=600)
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--out", type=Path, default=DATA)
    commands.add_parser("live", help="run the scenarios with real schedulers, and write the report")
    two = commands.add_parser("changes", help="change resources under real schedulers, and write that report")
    two.add_argument("releases", nargs="*", choices=[*GATES, []], metavar="RELEASE")
    three = commands.add_parser("slices", help="random slices and minima of roles under a real scheduler")
    three.add_argument("release", nargs="?", choices=list(PROFILES), default=next(iter(PROFILES)))
    three.add_argument("--count", type=int, default=200)
    three.add_argument("--seed", type=int, default=1)
    given = parser.parse_args(words)
    if given.command == "slices":
        wrong = slicing.run(given.release, given.count, given.seed)
        print(*wrong, sep="\n")
        return 1 if wrong else 0
    if given.command == "live":
        return prove()
    if given.command == "changes":
        return max(map(prove_changes, given.releases or GATES))
    for name in given.files or FILES:
        records = record(name, given.count, given.seed)
        write_records(path_of(name, given.out), records)
        kinds = Counter("refused" if "message" in row else "linked" if row["link"] else "alone" for row in records)
        print(name, dict(kinds), flush=True)
    return 0


def prove() -> int:
    """Runs all scenarios with and without the policies; 1 where a group started in part although they were there."""
    outcomes = {(release, bridged): run_release(release, bridged) for release in GATES for bridged in (True, False)}
    REPORT.write_text(write_report(outcomes))
    torn = [
        f"{release}: {scenario.title}: {found[scenario.title].bound}"
        for (release, bridged), found in outcomes.items()
        for scenario in SCENARIOS
        if bridged and not is_whole(scenario, found[scenario.title])
    ]
    print("\n".join(torn) or REPORT.read_text())
    return int(bool(torn))


def prove_changes(release: str) -> int:
    """Runs all courses; 1 where a group was bound or a pod linked otherwise than expected."""
    outcomes = changes.run(release)
    changes.REPORT.write_text(changes.write_report(release, outcomes))
    wrong = [
        f"{course.title}, {step.title}: {found.bound}, not {step.bound}; {found.surprises}"
        for course in changes.list_courses(release)
        for step in course.steps
        if (found := outcomes[course.title, step.title]) != (step.bound, [])
    ]
    print("\n".join(wrong) or changes.REPORT.read_text())
    return int(bool(wrong))


if __name__ == "__main__":
    end(main)
