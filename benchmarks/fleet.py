"""What it costs to cut the work: one run, its shards, and the merge, in seconds of processors; then a fleet.

python -m benchmarks.fleet [NUMBER]: so many kustomizations that kustomize builds, and a fifth as many repositories.
Seconds of processors say what a machine of its own would need, whatever else this one is doing.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, annotations: {krmfn.dev/gang: "true"}}
spec:
  parallelism: 8
  completions: 8
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "example/train:1", resources: {requests: {cpu: 1}}}]
"""


class Cost(NamedTuple):
    """Seconds on the clock, and of processors."""

    clock: float
    processors: float


def measure(words: Sequence[str], folder: Path, into: str = "") -> Cost:
    """What a command costs, with all processes that it starts."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with open(folder / into if into else "/dev/null", "wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "krmfn", *words], cwd=folder, stdout=out, stderr=subprocess.DEVNULL, check=False
        )
    assert done.returncode in (0, 1), words
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, spent)


def make(folder: Path, number: int) -> None:
    """So many kustomizations that change a name."""
    for each in range(number):
        place = folder / "apps" / f"app{each}"
        place.mkdir(parents=True)
        (place / "job.yaml").write_text(JOB)
        (place / "kustomization.yaml").write_text(f"namePrefix: a{each}-\nresources: [job.yaml]\n")


def main() -> None:
    """Prints a line for each step."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make(folder, number)
        whole = measure(["validate", "apps", "-o", "json"], folder, "whole")
        tell(f"{number} kustomizations, one run", whole)
        for of in (2, 8):
            shards = [
                measure(["validate", "apps", "-o", "json", "--shard", f"{each}/{of}"], folder, f"part.{each}")
                for each in range(1, of + 1)
            ]
            tell(f"the slowest of {of} shards", max(shards, key=lambda cost: cost.processors))
            parts = [f"part.{each}" for each in range(1, of + 1)]
            tell(f"merge of {of}", measure(["merge", *parts, "-o", "json"], folder, "merged"))
            assert (folder / "whole").read_bytes() == (folder / "merged").read_bytes()
        repositories = [{"folder": f"apps/app{each}"} for each in range(number // 5)]
        (folder / "fleet.yml").write_text(yaml.safe_dump({"repositories": repositories}))
        for jobs in ("1", "2"):
            words = ["fleet", "fleet.yml", "--quiet", "--into", f"report{jobs}", "--jobs", jobs]
            tell(f"fleet of {number // 5}, {jobs} at a time", measure(words, folder))


def tell(what: str, cost: Cost) -> None:
    """A line."""
    print(f"{what}: {cost.clock:.1f} s, {cost.processors:.1f} s of processors", flush=True)


if __name__ == "__main__":
    main()
