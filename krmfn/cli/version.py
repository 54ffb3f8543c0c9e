"""`krmfn version`: which krmfn this is, and which releases of Kubernetes it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from krmfn import __version__
from krmfn.cli import streams
from krmfn.releases.release import list_releases


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    streams.write(f"krmfn {__version__} (Kubernetes {', '.join(list_releases())})\n")
    return 0
