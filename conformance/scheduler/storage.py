"""Recorded scenarios in files: one JSON object a line; while recording plain, in the repository compressed."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Value = dict[str, Any]
DATA = Path(__file__).resolve().parent / "decisions"


def append(folder: Path, release: str, scenario: Value) -> None:
    """Adds a line to the file that is being recorded."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{release}.jsonl").open("a") as file:
        file.write(json.dumps(scenario, separators=(",", ":"), sort_keys=True) + "\n")


def done_ids(folder: Path, release: str) -> set[str]:
    """The scenarios that are recorded, compressed or not."""
    return {scenario["id"] for scenario in read(folder, release)}


def read(folder: Path, release: str) -> Iterator[Value]:
    """All recorded scenarios of a release."""
    packed, plain = folder / f"{release}.jsonl.xz", folder / f"{release}.jsonl"
    if packed.exists():
        with lzma.open(packed, "rt") as file:
            yield from map(json.loads, file)
    if plain.exists():
        with plain.open() as file:
            yield from map(json.loads, file)


def pack(folder: Path, release: str) -> Path:
    """Puts what was recorded in `folder` into the repository's file. What did not settle in time is left out."""
    rows = {scenario["id"]: scenario for scenario in (*read(DATA, release), *read(folder, release))}
    return write(DATA, release, [row for row in rows.values() if _settled(row)])


def _settled(scenario: Value) -> bool:
    return not any("settled" in outcome["refused"] for outcome in (scenario["together"], *scenario["alone"].values()))


def write(folder: Path, release: str, scenarios: Iterable[Value]) -> Path:
    """All scenarios of a release as one compressed file, sorted by number."""
    target = folder / f"{release}.jsonl.xz"
    ordered = sorted(scenarios, key=lambda scenario: int(scenario["id"].partition("/")[2]))
    text = "".join(json.dumps(scenario, separators=(",", ":"), sort_keys=True) + "\n" for scenario in ordered)
    folder.mkdir(parents=True, exist_ok=True)
    target.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return target
