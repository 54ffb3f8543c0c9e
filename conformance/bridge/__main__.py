"""`python -m conformance.bridge record`: what the policies of `krmfn bridge` do to pods, by real API servers."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from conformance.bridge.record import DATA, FILES, path_of, record
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
    given = parser.parse_args(words)
    for name in given.files or FILES:
        records = record(name, given.count, given.seed)
        write_records(path_of(name, given.out), records)
        kinds = Counter("refused" if "message" in row else "linked" if row["link"] else "alone" for row in records)
        print(name, dict(kinds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
