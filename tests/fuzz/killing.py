"""Kills `generate --write` and `validate --fix` at a random moment, or after a random rename: every file is old or new,
and the next run completes the set."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
_JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train{number}
  annotations: {{krmfn.dev/gang: "true"}}
spec:
  parallelism: 8
  completions: 8
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: main, image: train}}]
"""
_GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {{name: g{number}}}
spec: {{schedulingPolicy: {{gang: {{minCount: 5}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p{number}}}
spec: {{schedulingGroup: {{podGroupName: g{number}}}, containers: [{{name: a, image: b}}]}}
"""
_COMMANDS = {("generate", "-q", "--write", "."): _JOB, ("validate", "-q", "--no-render", "--fix", "."): _GROUP}
#: Ends by SIGKILL when the files have been given so many names.
_DIE = """\
import os, sys
from krmfn.__main__ import script
left = int(sys.argv.pop(1))
def rename(old, new, real=os.replace):
    global left
    real(old, new)
    left -= 1
    left or os.kill(os.getpid(), 9)
os.replace = rename
script()
"""
States = dict[str, bytes]
Words = tuple[str, ...]
CASES = 4


def check(chance: random.Random) -> None:
    """One case: a folder of its own, and three kills."""
    with tempfile.TemporaryDirectory(prefix="krmfn-fuzz-") as place:
        folder = Path(place) / "work"
        folder.mkdir()
        command = chance.choice([*_COMMANDS])
        old, new = prepare(folder, chance.randint(3, 30), command)
        for _ in range(3):
            kill_once(folder, old, new, command, chance)


def prepare(folder: Path, files: int, command: Words) -> tuple[States, States]:
    """Fills a folder with a kustomization of `files` manifests; its files before and after a run."""
    names = [f"{number}.yaml" for number in range(files)]
    for number, name in enumerate(names):
        (folder / name).write_text(_COMMANDS[command].format(number=number) + "# " + "x" * 20_000 + "\n")
    (folder / "kustomization.yaml").write_text("resources:\n" + "".join(f"- {name}\n" for name in names))
    old = _read(folder)
    assert _start(folder, command).wait() == 0
    new = _read(folder)
    assert sum(data != old.get(name) for name, data in new.items()) >= files
    return old, new


def kill_once(folder: Path, old: States, new: States, command: Words, chance: random.Random) -> None:
    """One case. Raises AssertionError where a file is neither old nor new."""
    _write(folder, old)
    started = time.monotonic()
    if chance.random() < 0.5:
        steps = chance.randint(1, sum(data != old.get(name) for name, data in new.items()))
        assert _start(folder, command, "-c", _DIE, str(steps)).wait() == -signal.SIGKILL
    else:
        run = _start(folder, command)
        # Writing begins late in a run: most kills fall there, some before.
        time.sleep(chance.choice([chance.uniform(0, 0.1), chance.uniform(0.1, 0.5)]))
        run.kill()
        run.wait()
    took = time.monotonic() - started
    for name, data in _read(folder).items():
        if not name.endswith(".krmfn-new"):
            assert data in (old.get(name), new.get(name)), f"{name} is neither old nor new after {took:.3f} s"
    assert _start(folder, command).wait() == 0
    assert {name: data for name, data in _read(folder).items() if not name.startswith(".")} == new


def _start(folder: Path, command: Words, *program: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, *(program or ("-m", "krmfn")), *command]
    return subprocess.Popen(words, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)


def _read(folder: Path) -> States:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _write(folder: Path, state: States) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    for name, data in state.items():
        (folder / name).write_bytes(data)
