"""The one list of what is recorded: releases, their Kubernetes version, feature gates and served group versions.

Reads `versions.json`; must not know how a server is built or asked.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from krmfn.releases.release import find_release, list_releases

HERE = Path(__file__).resolve().parent


class Cluster(NamedTuple):
    """A control plane that schedules: the gates of its API server, all others of the release's clusters being off, and
    those of its scheduler. `share` of the made-up scenarios are for it."""

    name: str
    share: float
    gates: tuple[str, ...]
    scheduler_gates: tuple[str, ...]


class Release(NamedTuple):
    """`name` is "1.37", `version` the exact Kubernetes version "1.37.0"; `served` maps a kind to its versions,
    `controllers` are those of the controller manager that gangs need."""

    name: str
    version: str
    served: dict[str, list[str]]
    profiles: dict[str, list[str]]
    controllers: tuple[str, ...] = ()
    clusters: tuple[Cluster, ...] = ()

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


def read_releases(previews: bool = False) -> dict[str, Release]:
    """All releases by name, in the order of the list; with `previews` also those of which there is a pre-release."""
    listed = json.loads((HERE / "versions.json").read_text())
    return {
        name: Release(
            name,
            row["kubernetes"],
            row["groupVersions"],
            row["profiles"],
            tuple(row["controllers"]),
            tuple(
                Cluster(each["name"], each["share"], tuple(each["gates"]), tuple(each["schedulerGates"]))
                for each in row["clusters"]
            ),
        )
        for name, row in listed.items()
        if previews or "-" not in row["kubernetes"]
    }


def read_profiles() -> dict[str, Profile]:
    """All profiles by name, those of previews too."""
    listed = read_releases(previews=True).values()
    return {profile.name: profile for release in listed for profile in list_profiles(release)}


def list_profiles(release: Release) -> list[Profile]:
    """The profiles of one release."""
    return [Profile(name, release, tuple(gates)) for name, gates in release.profiles.items()]


def make_release(version: str) -> Release:
    """What is recorded of a version that is not in the list, such as 1.37.1 or 1.39.0-beta.0: as its release, else as
    the newest one. Raises ValueError for what is no version."""
    numbers = re.fullmatch(r"v?((\d+\.\d+)\.\d+(-(?:alpha|beta|rc)\.\d+)?)", version)
    if numbers is None:
        raise ValueError(f"{version!r} is not an exact version such as 1.37.1")
    listed = read_releases(previews=True)
    name = numbers[2]
    last = listed.get(name) or list(listed.values())[-1]
    profiles = {key.replace(last.name, name): gates for key, gates in last.profiles.items()}
    return last._replace(name=name, version=numbers[1], profiles=profiles)


def predict_as(release: str, profiles: dict[str, Profile]) -> dict[str, Profile]:
    """The profiles of the release before `release`, for questions of which the answers are predicted as `release` does:
    what it changes, where no server of it can be asked."""
    names = list_releases()
    before = names[names.index(release) - 1]
    return {
        name: profile._replace(release=profile.release._replace(name=release))
        for name, profile in profiles.items()
        if profile.release.name == before
    }


def has_trees(release: str) -> bool:
    """Whether a release has composites, and the shapes of groups that came with them."""
    return find_release(release).has("composite-groups")
