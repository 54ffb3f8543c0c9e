"""`krmfn schema KIND`: prints a published JSON Schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.options import UsageError, read_release
from krmfn.config.problems import ask_about
from krmfn.releases import schemastore
from krmfn.releases.release import newest_release
from krmfn.reports import channels


def list_words() -> Iterable[str]:
    return _paths(newest_release().name)


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes the schema to stdout. Raises UsageError for a kind that has none."""
    release = read_release(options)
    found = _paths(release.name)
    path = found.get(words[0].lower())
    if path is None:
        hint = ask_about(words[0], found) or f"There are {', '.join(found)}."
        raise UsageError(f"{words[0]}: no schema of that kind for Kubernetes {release}. {hint}")
    streams.write_bytes(channels.json(schemastore.load(path)).encode())
    return 0


def _paths(release: str) -> dict[str, str]:
    """Lower-case kind to path: those of the release, and those of others; `podgroup.volcano` where both have one. Some
    files are tables, and `meta` holds types that kinds share."""
    own = f"kubernetes/{release}/"
    found: dict[str, str] = {}
    for path in sorted(schemastore.list_paths(), key=lambda path: not path.startswith(own)):
        is_own = path.startswith(own) and path != f"{own}meta.json"
        if is_own or (not path.startswith("kubernetes/") and "$schema" in schemastore.load(path)):
            kind = path.rpartition("/")[2].removesuffix(".json")
            found[f"{kind}.{path.partition('/')[0]}" if kind in found else kind] = path
    return dict(sorted(found.items()))
