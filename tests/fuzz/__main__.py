"""`python -m tests.fuzz [NAME…] [OPTIONS]`: runs the oracles.

Without a limit each runs for a minute. How far it is and what it finds is told at once; an interrupted run counts, too.
`--seed` shows one case again; `--record` writes the table into RECORD.md;
`--answers` records answers of the programs that are asked anew.
Exit 1 when something was found.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import subprocess
import sys

from tests.fuzz.frame import HERE, Failure, Oracle, Summary, catch_interrupts, list_oracles, run, run_case

RECORD = HERE / "RECORD.md"
HEAD = """# The last run

`./dev fuzz` runs the oracles of this folder. Seeds count from the first one named; a case is one seed.

| oracle | what holds | cases | seeds | asked | found | code |
|---|---|---|---|---|---|---|
"""


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev fuzz", description="runs the oracles")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--minutes", type=float, help="for all oracles together")
    parser.add_argument("--cases", type=int, help="for each oracle")
    parser.add_argument("--first", type=int, default=1_000_000, help="the first seed")
    parser.add_argument("--seed", type=int, help="show one case")
    parser.add_argument("--jobs", type=int, default=1, help="processes, each with seeds of its own")
    parser.add_argument("--record", action="store_true", help="write the table")
    parser.add_argument("--answers", action="store_true", help="record answers for machines without the programs")
    given = parser.parse_args(words)
    oracles = {oracle.name: oracle for oracle in list_oracles()}
    unknown = [name for name in given.names if name not in oracles]
    if unknown:
        parser.error(f"no such oracle: {', '.join(unknown)}; there are {', '.join(oracles)}")
    chosen = [oracles[name] for name in given.names or oracles]
    if given.answers:
        for oracle in chosen:
            if oracle.record:
                oracle.record()
        return 0
    if given.seed is not None:
        failed = [failure for oracle in chosen if (failure := run_case(oracle, given.seed))]
        for failure in failed:
            say(failure.error)
        return min(len(failed), 1)
    minutes = given.minutes if given.minutes or given.cases else float(len(chosen))
    seconds = minutes * 60 / len(chosen) if minutes else None
    found = 0
    stopped = catch_interrupts()
    for oracle in chosen:
        reason = oracle.missing()
        if reason:
            print(f"{oracle.name}: not run: {reason}", file=sys.stderr)
            found = 1
            continue
        summary = run_in_processes(oracle, given.first, given.cases, seconds, given.jobs)
        found |= min(len(summary.failures), 1)
        row = write_row(summary)
        print(f"{row} {summary.seconds:.0f} s", flush=True)
        if given.record:
            keep_row(oracle.name, row)
        if stopped:
            return 130
    return found


def run_in_processes(oracle: Oracle, first: int, cases: int | None, seconds: float | None, jobs: int) -> Summary:
    """One run, or several side by side whose seeds follow each other."""
    if jobs == 1 or cases is None:
        return run(oracle, first, cases, seconds, say=say)
    share = -(-cases // jobs)
    with multiprocessing.Pool(jobs) as pool:
        parts = [(oracle.name, first + share * job, min(share, cases - share * job), seconds) for job in range(jobs)]
        done = pool.starmap(run_named, parts)
        pool.close()  # to leave the block at once would send signals, which they catch
        pool.join()
    return Summary(
        oracle, first, sum(d[0] for d in done), tuple(f for d in done for f in d[1]), max(d[2] for d in done)
    )


def run_named(name: str, first: int, cases: int, seconds: float | None) -> tuple[int, tuple[Failure, ...], float]:
    oracle = next(oracle for oracle in list_oracles() if oracle.name == name)
    summary = run(oracle, first, cases, seconds, say=say)
    return summary.cases, summary.failures, summary.seconds


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def write_row(summary: Summary) -> str:
    oracle = summary.oracle
    asked = {"Python": platform.python_version(), **oracle.versions()}
    words = ", ".join(f"{name} {version}" for name, version in asked.items())
    return (
        f"| {oracle.name} | {oracle.text} | {summary.cases:,} | from {summary.first:,} | {words} "
        f"| {len(summary.failures)} | {_spell_code()} |"
    )


def _spell_code() -> str:
    """The commit that is checked out, whether something differs from it, and the content of `krmfn/krm` in it, which
    says what was run also when commits were written anew."""
    commit = _ask_git("describe", "--always", "--dirty=, changed", "--exclude=*")
    return f"{commit}, `krmfn/krm` {_ask_git('rev-parse', '--short', 'HEAD:krmfn/krm')}"


def _ask_git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=False).stdout.strip()


def keep_row(name: str, row: str) -> None:
    """Replace the row of an oracle in the record, or add it."""
    text = RECORD.read_text(encoding="utf-8") if RECORD.exists() else HEAD
    rows = [line for line in text.splitlines()[len(HEAD.splitlines()) :] if not line.startswith(f"| {name} |")]
    RECORD.write_text(HEAD + "".join(f"{line}\n" for line in sorted([*rows, row])), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
