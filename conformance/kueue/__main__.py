"""`python -m conformance.kueue record FIRST COUNT`, `compare`, `simulate`, `answers` or `live`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.ending import Unable, end
from conformance.kueue import live
from conformance.kueue.compare import judge, write_matrix
from conformance.kueue.fitted import ANSWERS, SEEDS, record_answers
from conformance.kueue.record import RECORDED, read_all, record, write
from conformance.kueue.report import REPORT, insert
from conformance.kueue.simulated import Pair, compare, read_disagreements, resume
from conformance.kueue.situations import SITUATIONS
from krmfn.workspace.simulator import find_simulator

#: The line that the records are of.
_LINE = "0.19"


def main(words: Sequence[str]) -> int:
    """Runs one of the commands; each prints what it does."""
    parser = argparse.ArgumentParser(prog="python -m conformance.kueue", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="asks the manager about worlds, writes recorded/FIRST.jsonl.xz")
    recording.add_argument("first", type=int, help="the first seed")
    recording.add_argument("count", type=int, help="how many")
    recording.add_argument("--batch", type=int, default=75, help="how many worlds share the control plane at a time")
    commands.add_parser("compare", help="compares what krmfn proves with the records, writes the matrix; 1: a mistake")
    simulating = commands.add_parser(
        "simulate", help="compares the simulator of Kueue with the records; 1: they differ where no reason is listed"
    )
    simulating.add_argument("first", type=int, nargs="?", default=0, help="the first seed")
    simulating.add_argument("count", type=int, nargs="?", default=500, help="how many")
    simulating.add_argument("--line", default=_LINE, help="the line of Kueue; the records are of 0.19")
    simulating.add_argument(
        "--resumed", action="store_true", help="only the last job of a world comes, to a dump of what the others became"
    )
    answering = commands.add_parser("answers", help="asks the simulator about worlds as krmfn fit does, for its tests")
    answering.add_argument("seeds", type=int, nargs="*", default=SEEDS, help="the worlds")
    living = commands.add_parser(
        "live", help="brings situations about, makes the changes that mend them; 1: one did not"
    )
    living.add_argument("names", nargs="*", help="some of the situations; without, all of them")
    given = parser.parse_args(words)
    if given.command == "record":
        return _record(given.first, given.count, given.batch)
    if given.command == "answers":
        print(f"{record_answers(_find(_LINE), given.seeds)} worlds: {ANSWERS}")
        return 0
    if given.command == "simulate":
        return _simulate(
            range(given.first, given.first + given.count), given.line, resume if given.resumed else compare
        )
    return _compare() if given.command == "compare" else _prove(given.names)


def _find(line: str) -> str:
    if program := find_simulator(f"kueue-{line}"):
        return program
    raise Unable(f"krmfn-simulator-kueue-{line} is missing: ./dev simulator kueue-{line} builds it")


def _simulate(seeds: range, line: str, ask: Callable[[str, Mapping[str, Any]], Iterable[Pair]]) -> int:
    program = _find(line)
    pairs = [pair for row in read_all() if row["seed"] in seeds for pair in ask(program, row)]
    known, differing = read_disagreements(), [pair for pair in pairs if not pair.agrees]
    for pair in differing:
        print(pair.name, "is admitted by", "the manager" if pair.real["admitted"] else "the simulator", end=" alone: ")
        print(known.get(pair.name, "NO REASON IS LISTED"))
    print(f"{len(pairs)} jobs: the simulator and the manager agree about {len(pairs) - len(differing)}")
    placed = [pair for pair in pairs if pair.agrees and pair.real["admitted"]]
    elsewhere = [pair for pair in placed if pair.differing]
    for pair in elsewhere:
        print(pair.name, "has other", " and ".join(pair.differing), end=": ")
        print(known.get(pair.name, "NO REASON IS LISTED"))
    same = len(placed) - len(elsewhere)
    print(f"{len(placed)} admitted by both: {same} with the same flavors, counts and domains")
    return int(any(pair.name not in known for pair in (*differing, *elsewhere)))


def _record(first: int, count: int, batch: int) -> int:
    started, rows = time.monotonic(), []
    for row in record(range(first, first + count), batch):
        rows.append(row)
        admitted = sum(answer["admitted"] for answer in row["answers"].values())
        print(f"{row['seed']}: {admitted} of {len(row['answers'])} jobs are admitted", flush=True)
    write(RECORDED / f"{first:04}.jsonl.xz", rows)
    print(f"{count} worlds, {(time.monotonic() - started) / count:.1f} s each")
    return 0


def _compare() -> int:
    rows = [row for each in read_all() for row in judge(each)]
    matrix = write_matrix(rows)
    print("\n".join(matrix))
    insert("worlds", matrix)
    wrong = [row for row in rows if (row.said, row.became) == ("never", "admitted")]
    for row in wrong:
        print(f"false never: {row.job}: {row.message} [{row.rule}]")
    print(f"{len(rows)} jobs, {len(wrong)} false never: {REPORT}")
    return int(bool(wrong))


def _prove(names: Sequence[str]) -> int:
    rows = []
    for row in live.prove([each for each in SITUATIONS if not names or each.name in names]):
        rows.append(row)
        print(f"{row['state']}: {live.spell(row['started'])}", flush=True)
        live.write([row])
    insert("situations", live.list_lines(live.read_states()))
    return int(any(row["started"] is False for row in rows))


if __name__ == "__main__":
    end(main)
