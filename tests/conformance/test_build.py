"""The module that a server is built from: the release's own pins, and what stands in for a version that is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance import build
from conformance.versions import make_release

UPSTREAM = """module k8s.io/kubernetes

go 1.27.0

require (
{required})

replace (
	k8s.io/api => ./staging/src/k8s.io/api
)
"""


@pytest.mark.parametrize("version", ["7.0.1", "7.1.0"])
def test_a_refused_version_alone_is_replaced(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = f"sigs.k8s.io/structured-merge-diff/v7 v{version}"
    (tmp_path / "go.mod").write_text(UPSTREAM.format(required=f"\t{wanted}\n"))
    described = json.dumps({"GoMod": str(tmp_path / "go.mod")})
    monkeypatch.setattr(build, "run_go", lambda *_: described)
    written = build.write_module(make_release("1.38.0-beta.0"))
    assert "\ngo 1.27.0\n" in written
    assert "k8s.io/api => k8s.io/api v0.38.0-beta.0\n" in written
    assert (f"{wanted} => sigs.k8s.io/structured-merge-diff/v7 v7.0.0\n" in written) == (version == "7.0.1")
