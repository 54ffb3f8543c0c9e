"""Repositories that somebody else has prepared, for tests: git calls, and a trap that leaves a mark when it is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.e2e.tools import require

APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: train, namespace: argocd}
spec:
  source: {repoURL: https://example.com/repo, path: apps/train}
  destination: {namespace: ml}
"""
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: NAME, namespace: flux-system}
spec:
  path: ./apps/train
  targetNamespace: NAME
  postBuild:
    substitute: {pods: "4"}
    substituteFrom:
    - {kind: ConfigMap, name: values}
    - {kind: Secret, name: hidden}
"""
VALUES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: values}\ndata: {image: train:1}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  annotations: {krmfn.dev/gang: "true"}
spec:
  parallelism: 8
  completions: 8
  template:
    spec:
      restartPolicy: Never
      containers: [{name: main, image: train}]
"""
GANGS = """\
apiVersion: krmfn.dev/v1alpha1
kind: GangScheduling
metadata:
  name: gangs
  annotations:
    config.kubernetes.io/function: |
      exec: {path: krmfn}
"""


def git(folder: Path, *words: str) -> str:
    """Runs git with an identity of its own; its output. Without git the test is skipped."""
    program = require("git", "apt-get install git")
    identity = ("user.name=x", "user.email=x@example.com", "commit.gpgsign=false", "protocol.file.allow=always")
    settings = [word for each in identity for word in ("-c", each)]
    done = subprocess.run([program, *settings, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout


def commit(folder: Path) -> None:
    """Makes the folder a repository, or commits what has changed."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "state", "--allow-empty")


class Trap:
    """A program that leaves a mark when somebody runs it, and otherwise does what a function does: nothing."""

    def __init__(self, folder: Path) -> None:
        """Writes the program."""
        folder.mkdir(parents=True, exist_ok=True)
        self.mark = folder / "mark"
        self.path = folder / "trap.sh"
        self.path.write_text(f"#!/bin/sh\ntouch '{self.mark}'\nexec cat\n")
        self.path.chmod(0o755)

    @property
    def was_run(self) -> bool:
        """Whether it was run."""
        return self.mark.exists()
