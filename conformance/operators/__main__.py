"""`python -m conformance.operators [NAME…]`: brings gangs of other projects about that do not start, and
makes the changes that mend them; 1 when one did not."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance.ending import end
from conformance.kueue.live import spell
from conformance.operators.live import prove, write
from conformance.operators.situations import STUCK


def main(words: Sequence[str]) -> int:
    """Brings all situations about, or those that are named."""
    parser = argparse.ArgumentParser(prog="python -m conformance.operators", description=__doc__)
    parser.add_argument("names", nargs="*", help="some of the situations; without, all of them")
    names, started = parser.parse_args(words).names, True
    for row in prove([each for each in STUCK if not names or each.name in names]):
        print(f"{row['state']}: {spell(row['started'])}", flush=True)
        write([row])
        started = started and bool(row["started"])
    return int(not started)


if __name__ == "__main__":
    end(main)
