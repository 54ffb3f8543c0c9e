"""`python -m benchmarks [NAME…]`: measures the rows of that name (all) and prints the table.

`growth [SHAPE…]` is another table: how time and memory grow with the input; `capacity` and `simulator` are what the
answers about a cluster cost, and reading what kubectl prints of it; `repository` is what hundreds of kustomizations
cost. Exit 1 when a bound is not kept. A row whose peer cannot be built here is printed as not measured, with the
reason.
"""

import sys
import tempfile
from pathlib import Path

from benchmarks import capacity, dumps, growth, repository
from benchmarks.clock import Failed, Missing
from benchmarks.programs import describe_machine
from benchmarks.rows import ROWS, Row


def bound(row: Row) -> str:
    if row.at_most is not None:
        return f"≤ {row.at_most:g}"
    return f"≥ {row.at_least:g}" if row.at_least else ""


def main(names: list[str]) -> int:
    if names[:1] == ["growth"]:
        return growth.main(names[1:])
    if names in (["capacity"], ["simulator"]):
        missed = capacity.main(names[0])
        if names == ["capacity"]:
            print()
            missed |= dumps.main()
        return missed
    if names == ["repository"]:
        return repository.main()
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        print(f"no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}", file=sys.stderr)
        return 2
    missed = 0
    print("| measured | ratio | wanted | krmfn | other |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in names or ROWS:
            try:
                row = ROWS[name](Path(folder))
            except Missing as reason:
                print(f"| {name} | not measured | | {reason} | |", flush=True)
                continue
            except Failed as reason:
                print(f"{name}: {reason}", file=sys.stderr)
                missed += 1
                continue
            missed += not row.kept
            mark = "" if row.kept else " (missed)"
            print(f"| {row.name} | {row.ratio:.2f}{mark} | {bound(row)} | {row.ours} | {row.theirs} |", flush=True)
    print(f"\n{describe_machine()}")
    return min(missed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
