"""The one list of what is recorded: releases, their Kubernetes version, feature gates and served group versions.

Reads `versions.json`; must not know how a server is built or asked.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent


class Release(NamedTuple):
    """`name` is "1.37", `version` the exact Kubernetes version "1.37.0"; `served` maps a kind to its versions."""

    name: str
    version: str
    served: dict[str, list[str]]
    profiles: dict[str, list[str]]

    @property
    def minor(self) -> int:
        return int(self.name.split(".")[1])


class Profile(NamedTuple):
    """One server that is asked: a release with some feature gates on, all others at their default."""

    name: str
    release: Release
    gates: tuple[str, ...]

    @property
    def served(self) -> dict[str, list[str]]:
        """The scheduling kinds that this server has: CompositePodGroup hides behind a gate of its own name."""
        return {
            kind: versions
            for kind, versions in self.release.served.items()
            if kind != "CompositePodGroup" or "CompositePodGroup" in self.gates
        }

    @property
    def group_versions(self) -> list[str]:
        """What `--runtime-config` must turn on."""
        return sorted({version for versions in self.release.served.values() for version in versions})


def read_releases() -> dict[str, Release]:
    """All releases by name, in the order of the list."""
    listed = json.loads((HERE / "versions.json").read_text())
    return {
        name: Release(name, row["kubernetes"], row["groupVersions"], row["profiles"]) for name, row in listed.items()
    }


def read_profiles() -> dict[str, Profile]:
    """All profiles by name."""
    return {
        name: Profile(name, release, tuple(gates))
        for release in read_releases().values()
        for name, gates in release.profiles.items()
    }
