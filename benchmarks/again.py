"""What a run costs with --cache: the first, one after no change, and those after a change of one file.

python -m benchmarks.again [NUMBER]: so many Argo CD Applications, each of an overlay that kustomize builds.
python -m benchmarks.again FOLDER FILE...: a copy of a repository, in which each of the files is changed in turn.
Every run after a change has to say what a run without a cache says.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.fleet import JOB, Cost, measure

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: %s, namespace: argocd}
spec:
  project: default
  source: {repoURL: "https://git.example.com/platform", path: %s, targetRevision: HEAD}
  destination: {server: "https://kubernetes.default.svc", namespace: %s}
"""
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {number: '%d'}\n"


def make_applications(folder: Path, number: int) -> list[str]:
    """Writes a repository of so many; files to change: a leaf, a base of ten of them, and one of an Application."""
    for each in range(number):
        team, name = f"teams/{each // 10}", f"service-{each}"
        overlay = f"{team}/{name}"
        files = {
            f"applications/{name}.yaml": APPLICATION % (name, overlay, f"team-{each // 10}"),
            f"{team}/base/job.yaml": JOB,
            f"{team}/base/kustomization.yaml": "resources: [job.yaml]\n",
            f"{overlay}/kustomization.yaml": f"resources: [../base, settings.yaml]\nnamePrefix: {name}-\n",
            f"{overlay}/settings.yaml": SETTINGS % each,
        }
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    (folder / ".git").mkdir()
    return ["teams/0/service-3/settings.yaml", "teams/0/base/job.yaml", "applications/service-5.yaml"]


def measure_all(folder: Path, files: Sequence[str]) -> None:
    """Prints a row for each run."""
    print("| run | seconds | of processors | of the first |\n|---|---:|---:|---:|")
    words = ["validate", "--cache", "../cache"]
    first = measure(words, folder, "../kept")
    for what, cost in (("first", first), ("no change", measure(words, folder, "../kept"))):
        tell(what, cost, first)
    for file in files:
        with (folder / file).open("a") as stream:
            stream.write("# changed\n")
        tell(f"a change of {file}", measure(words, folder, "../kept"), first)
        measure(["validate"], folder, "../plain")
        assert (folder / "../kept").read_bytes() == (folder / "../plain").read_bytes(), file


def tell(what: str, cost: Cost, first: Cost) -> None:
    """A row."""
    share = cost.processors / first.processors
    print(f"| {what} | {cost.clock:.1f} | {cost.processors:.1f} | {share:.0%} |", flush=True)


def main(words: Sequence[str]) -> None:
    """Measures what the words name."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "repository"
        if len(words) > 1:
            shutil.copytree(words[0], folder, symlinks=True)
            measure_all(folder, words[1:])
        else:
            measure_all(folder, make_applications(folder, int(words[0]) if words else 2000))


if __name__ == "__main__":
    os.environ["PYTHONPATH"] = os.getcwd()
    main(sys.argv[1:])
