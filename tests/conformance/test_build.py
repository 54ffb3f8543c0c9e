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
    [
        (("v0.38.0-beta.0", "v0.37.0"), "k8s.io/ktesting v0.38.0-beta.0"),
        (("v0.37.0", "v0.36.0"), "k8s.io/ktesting v0.37.0"),
        (("v0.36.0",), "k8s.io/ktesting v0.38.0-beta.0"),  # which tests alone need
    ],
)
def test_the_staging_module_of_a_pre_release(had: tuple[str, ...], found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "can_be_had", lambda _, version: version in had)
    assert build.find_staging("k8s.io/ktesting", "v1.38.0-beta.0") == found
    assert build.find_staging("k8s.io/api", "v1.37.2") == "k8s.io/api v0.37.2"


def test_what_nobody_has_is_made_of_the_module_that_it_was_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, module = "k8s.io/apiextensions-apiserver", "k8s.io/apiextensions-api"
    types = tmp_path / "source" / "pkg" / "apis" / "apiextensions" / "v1"
    types.mkdir(parents=True)
    (tmp_path / "source" / "go.mod").write_text(f"module {source}\n\ngo 1.26.0\n")
    moves, stays = f'"{source}/pkg/apis/apiextensions/v1"', f'"{source}/pkg/apihelpers"'
    (types / "types.go").write_text(f"import (\n\t{moves}\n\t{stays}\n)\n")
    (types / "types_test.go").write_text("package v1\n")
    (types / "conversion.go").write_text("package v1\n\nimport of\n\nvar null = []byte(`null`)\n\nfunc convert() {}\n")
    described = json.dumps({"Dir": str(tmp_path / "source"), "GoMod": str(tmp_path / "source" / "go.mod")})
    monkeypatch.setattr(build, "can_be_had", lambda *_: False)
    monkeypatch.setattr(build, "run_go", lambda *_: described)
    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path / "cache")
    made = Path(build.find_staging(module, "v1.38.0-beta.0"))
    assert (made / "go.mod").read_text() == f"module {module}\n\ngo 1.26.0\n"
    files = sorted(path.relative_to(made).as_posix() for path in made.rglob("*.go"))
    assert files == [f"pkg/apis/apiextensions/v1/{name}.go" for name in ("conversion", "types")]
    kept = (made / files.pop(0)).read_text()
    assert kept == "package v1\nvar null = []byte(`null`)", "what other files of the package need"
    assert f'"{module}/pkg/apis/apiextensions/v1"' in (made / files[0]).read_text()
    assert stays in (made / files[0]).read_text(), "what did not move"


def test_a_module_that_a_build_needs_and_nobody_has_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence in place of the end of what Go says."""
    release = make_release("1.38.0-beta.0")
    replaces = "".join(f"\tk8s.io/{name} => k8s.io/{name} v0.38.0-beta.0\n" for name in ("api", "apiextensions-api"))

    def run(words: list[str], _: Path) -> str:
        if words[0] == "build":
            raise build.BuildFailed("servers.go: k8s.io/apiextensions-api@v0.38.0-beta.0: reading …: 403 Forbidden")
        return ""

    monkeypatch.setattr(build, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(build, "run_go", run)
    monkeypatch.setattr(build, "write_module", lambda _: f"module servers\n\nreplace (\n{replaces})\n")
    monkeypatch.setattr(build, "can_be_had", lambda module, _: module == "k8s.io/api")
    with pytest.raises(build.BuildFailed, match=r"^k8s.io/apiextensions-api v0.38.0-beta.0 is missing: .* REHEARSALS"):
        build.compile_program(release, "kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler")
