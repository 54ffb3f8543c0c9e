"""The console script in a folder of its own, as a user calls it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.e2e.tools import PATH
from tests.forked import start
from tests.workspace.repositories import JOB

ROOT = Path(__file__).parent.parent.parent

RAYCLUSTER = """\
# the run of the month
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: llama
  annotations: {krmfn.dev/gang: "true"}
spec:
  headGroupSpec:
    rayStartParams: {}
    template:
      spec:
        containers: [{name: head, image: ray}]
  workerGroupSpecs:
    - groupName: gpu   # the big ones
      replicas: 4
      maxReplicas: 4
      rayStartParams: {}
      template:
        spec:
          containers: [{name: worker, image: ray}]
"""


class Done(NamedTuple):
    """What a call printed and how it ended."""

    out: str
    err: str
    code: int


Call = Callable[..., Done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A kustomization of a RayCluster and a Job."""
    (tmp_path / "base").mkdir()
    (tmp_path / "base/raycluster.yaml").write_text(RAYCLUSTER)
    (tmp_path / "base/job.yaml").write_text(JOB)
    (tmp_path / "base/kustomization.yaml").write_text("resources:\n- raycluster.yaml   # first\n- job.yaml\n")
    return tmp_path


@pytest.fixture
def krmfn(tmp_path: Path) -> Call:
    """Calls the console script in the test's folder, or another."""

    def call(*words: str, stdin: str = "", folder: Path = tmp_path, **environment: str) -> Done:
        done = start(words, stdin.encode(), folder, {**os.environ, "PATH": PATH, **environment})
        return Done(done.out.decode(), done.err.decode(), done.code)

    return call
