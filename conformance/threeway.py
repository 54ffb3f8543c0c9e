"""The patch that kubectl apply computes, by upstream's own library in a small Go program (go/threeway).

One process serves all questions. Must not know what the patch is sent to.
"""

from __future__ import annotations

import contextlib
import copy
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from conformance.build import THREEWAY, find_program
from conformance.versions import Release

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ThreeWay:
    """Talks to a running program, one JSON object a line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def annotate(self, manifest: Any, applied: Any) -> Any:
        """The manifest as kubectl sends it: with what was applied in an annotation."""
        annotated = copy.deepcopy(manifest)
        metadata = annotated["metadata"]
        annotations = metadata.get("annotations")
        metadata["annotations"] = dict(annotations) if isinstance(annotations, dict) else {}
        metadata["annotations"][LAST_APPLIED] = json.dumps(applied, sort_keys=True, separators=(",", ":")) + "\n"
        return annotated

    def patch(self, old: Any, new: Any, live: Any) -> Any:
        """The patch as a JSON object, or the error text of the library as a str."""
        answer = self.ask(old, self.annotate(new, new), live)
        return answer.get("patch", answer.get("error"))

    def ask(self, old: Any, new: Any, live: Any) -> dict[str, Any]:
        """The `patch` and its `result`, or the `error` of the library."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"original": old, "modified": new, "current": live}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextlib.contextmanager
def run_threeway(release: Release) -> Iterator[ThreeWay | None]:
    """The program of a release for the length of the block; None where it is not built."""
    binary = find_program(release, THREEWAY)
    if binary is None:
        yield None
        return
    process = subprocess.Popen([str(binary)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield ThreeWay(process)
    finally:
        process.kill()
        process.wait()
