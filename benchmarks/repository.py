"""`./dev bench repository`: what a repository with hundreds of kustomizations costs, and how much of it is kustomize.

Makes one: teams with a base, overlays for dev and prod that rename and patch it, a krmfn.yaml for each team, and a dump
of a cluster that all of them name. Knows how such repositories look, not how the work is done.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.capacity import make_nodes

COMMANDS = (("validate", "-q"), ("tree", "-q"), ("diff", "-q", ".", "."))
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {krmfn.dev/gang: "true"}
spec:
  completionMode: Indexed
  parallelism: 4
  completions: 4
  template:
    spec:
      restartPolicy: Never
      containers:
      - {name: train, image: train, resources: {requests: {cpu: "1", memory: 1Gi}}}
"""
CONFIGURATION = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata: {name: gangs}
spec: {cluster: {from: [../cluster.json]}}
"""


def make_repository(folder: Path, kustomizations: int, nodes: int) -> None:
    """Writes it into an empty folder; a third of the kustomizations are bases."""
    nodes_of_cluster = {"apiVersion": "v1", "kind": "List", "items": list(make_nodes(nodes, 4))}
    (folder / "cluster.json").write_text(json.dumps(nodes_of_cluster))
    (folder / ".krmfnignore").write_text("cluster.json\n")
    for number in range(kustomizations // 3):
        team = folder / f"team-{number}"
        files = {
            "krmfn.yaml": CONFIGURATION,
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": JOB,
        }
        for stage in ("dev", "prod"):
            change = [{"op": "replace", "path": "/spec/completions", "value": 5 if stage == "prod" else 4}]
            patch = f"patches:\n- target: {{kind: Job}}\n  patch: '{json.dumps(change)}'\n"
            files[f"{stage}/kustomization.yaml"] = f"resources: [../base]\nnamespace: {stage}-{number}\n{patch}"
        for name, text in files.items():
            path = team / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)


def measure(folder: Path, words: Sequence[str]) -> tuple[float, float, int]:
    """Seconds by the clock, seconds of processors in all processes, and bytes of the largest one."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "krmfn", *words], cwd=folder, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 1), done.stderr.decode()
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used, after.ru_maxrss * 1024


def main(counts: Sequence[int] = (30, 300), nodes: int = 1000) -> int:
    """Prints a row for each command and size."""
    print("| command | kustomizations | seconds | of processors | memory |")
    print("|---|---|---|---|---|")
    os.environ["PYTHONPATH"] = os.getcwd()
    for count in counts:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            make_repository(folder, count, nodes)
            for words in COMMANDS:
                seconds, used, size = measure(folder, words)
                print(f"| {words[0]} | {count} | {seconds:.1f} | {used:.1f} | {size / 1e6:.0f} MB |", flush=True)
    return 0
