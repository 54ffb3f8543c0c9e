"""`python -m conformance.kueue record FIRST COUNT`, `compare` or `live`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from conformance.ending import end
from conformance.kueue.record import RECORDED, record, write


def main(words: Sequence[str]) -> int:
    """Runs one of the commands; each prints what it does."""
    parser = argparse.ArgumentParser(prog="python -m conformance.kueue", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="asks the manager about worlds, writes recorded/FIRST.jsonl.xz")
    recording.add_argument("first", type=int, help="the first seed")
    recording.add_argument("count", type=int, help="how many")
    recording.add_argument("--batch", type=int, default=20, help="how many worlds share the control plane at a time")
    given = parser.parse_args(words)
    return _record(given.first, given.count, given.batch)


def _record(first: int, count: int, batch: int) -> int:
    started, rows = time.monotonic(), []
    for row in record(range(first, first + count), batch):
        rows.append(row)
        admitted = sum(answer["admitted"] for answer in row["answers"].values())
        print(f"{row['seed']}: {admitted} of {len(row['answers'])} jobs are admitted", flush=True)
    write(RECORDED / f"{first:04}.jsonl.xz", rows)
    print(f"{count} worlds, {(time.monotonic() - started) / count:.1f} s each")
    return 0


if __name__ == "__main__":
    end(main)
