"""REPORT.md: sections that the commands write."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

REPORT: Final = Path(__file__).resolve().parent / "REPORT.md"


def insert(name: str, lines: Sequence[str]) -> None:
    """Replaces what stands between the marks of a section."""
    text = REPORT.read_text()
    begin, finish = f"<!-- {name} -->", f"<!-- end of {name} -->"
    body = "\n".join(("", *lines, ""))
    new = re.sub(f"{re.escape(begin)}.*?{re.escape(finish)}", lambda _: begin + body + finish, text, flags=re.S)
    REPORT.write_text(new)


def read_section(name: str) -> list[str]:
    """The lines of a section."""
    body = REPORT.read_text().partition(f"<!-- {name} -->\n")[2].partition(f"\n<!-- end of {name} -->")[0]
    return body.splitlines()
