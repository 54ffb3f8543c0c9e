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


@pytest.mark.parametrize(
    ("had", "found"),
    [(("v0.38.0-beta.0", "v0.37.0"), "v0.38.0-beta.0"), (("v0.37.0", "v0.36.0"), "v0.37.0"), (("v0.36.0",), "")],
)
def test_the_staging_module_of_a_pre_release(had: tuple[str, ...], found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its own, or the newest release before it; without any, the end says which module, and what to do."""

    def download(words: list[str], _: Path) -> str:
        if words[-1].partition("@")[2] not in had:
            raise build.BuildFailed("403 Forbidden")
        return ""

    monkeypatch.setattr(build, "run_go", download)
    if found:
        assert build.find_staging("k8s.io/apiextensions-api", "v1.38.0-beta.0") == found
    else:
        with pytest.raises(build.BuildFailed, match="apiextensions-api is missing"):
            build.find_staging("k8s.io/apiextensions-api", "v1.38.0-beta.0")
    assert build.find_staging("k8s.io/api", "v1.37.2") == "v0.37.2"
