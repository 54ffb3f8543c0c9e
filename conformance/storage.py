"""Files of records: one JSON object a line, xz-compressed, the same bytes for the same records."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read_records(path: Path) -> Iterator[Record]:
    with lzma.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """ASCII with escapes, because records hold lone surrogates and control characters on purpose."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
