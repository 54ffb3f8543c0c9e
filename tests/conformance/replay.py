"""What the tests of recorded answers share: the files, and the checker asked as the rig asks it."""

from __future__ import annotations

from functools import cache
from typing import Any

from conformance.compare import compare_records
from conformance.offline import answer, fill_carried, kind_of
from conformance.storage import Record, read_records
from conformance.versions import HERE, read_profiles

DATA = HERE / "data"
SETS = tuple(sorted(folder.name for folder in DATA.iterdir() if any(folder.glob("*.jsonl.xz"))))
#: The newest release with everything on: what `./dev test server` asks about, as the others take a minute more.
NEWEST = "1.37-was-all"
PROFILES = {profile.name: " ".join(profile.gates) for profile in read_profiles().values()}


@cache
def read(which: str, profile: str) -> tuple[Record, ...]:
    """All records of a file; none where there is no such file."""
    path = DATA / which / f"{profile}.jsonl.xz"
    return tuple(read_records(path)) if path.exists() else ()


def profile_of(record: Record) -> Any:
    return read_profiles()[record["profile"]]


__all__ = [
    "DATA",
    "NEWEST",
    "PROFILES",
    "SETS",
    "Record",
    "answer",
    "compare_records",
    "fill_carried",
    "kind_of",
    "profile_of",
    "read",
]
