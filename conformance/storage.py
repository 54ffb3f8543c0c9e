"""Files of records: one JSON object a line, compressed as their names say, the same bytes for the same records."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def read_records(path: Path) -> Iterator[Record]:
    unpack = gzip.open if path.suffix == ".gz" else lzma.open
    with unpack(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """ASCII with escapes, because records hold lone surrogates and control characters on purpose."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records)
    data = text.encode()
    path.write_bytes(
        gzip.compress(data, mtime=0) if path.suffix == ".gz" else lzma.compress(data, preset=9 | lzma.PRESET_EXTREME)
    )
