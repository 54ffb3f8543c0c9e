"""Versions that are not in the list: what is recorded of them, and what `next` says before it builds anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance import commands
from conformance.__main__ import main
from conformance.storage import Record
from conformance.versions import Profile, list_profiles, make_release, read_releases


def test_a_patch_release_is_asked_as_its_release() -> None:
    made, listed = make_release("v1.37.1"), read_releases()["1.37"]
    assert (made.name, made.version) == ("1.37", "1.37.1")
    assert made._replace(version=listed.version) == listed


def test_a_new_release_is_asked_as_the_newest() -> None:
    newest = list(read_releases(previews=True).values())[-1]
    made = make_release("1.99.0-rc.1")
    assert (made.name, made.version, made.minor) == ("1.99", "1.99.0-rc.1", 99)
    assert made.served == newest.served
    assert [profile.gates for profile in list_profiles(made)] == [profile.gates for profile in list_profiles(newest)]
    assert {profile.name for profile in list_profiles(made)}.isdisjoint(newest.profiles)


def test_a_profile_that_is_new_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def record(profile: Profile, seed: int, count: int, kinds: Any) -> tuple[str, list[Record]]:
        asked.append((profile.name, count))
        return "", []

    monkeypatch.setattr(commands, "COUNTS", {})
    monkeypatch.setattr(commands, "record_profile", record)
    (tmp_path / "recorded").mkdir()
    assert main(["record", "1.37-was", "--set", "recorded", "--out", str(tmp_path)]) == 0
    assert asked == [("1.37-was", commands.COUNT)]


@pytest.mark.parametrize("version", ["1.37", "latest", "1.37.x", ""])
def test_what_is_no_version_is_refused(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", version]) == 2
    assert "is not an exact version such as 1.37.1" in capsys.readouterr().err


def test_without_schemas_nothing_is_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["next", "1.99.0"]) == 2
    assert "there is no schemas/kubernetes/1.99" in capsys.readouterr().err
