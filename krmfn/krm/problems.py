"""The record of what readers of an item disagree on."""

from __future__ import annotations

from krmfn.krm.paths import Path


class Problem:
    """Something that readers of the item disagree on: a duplicate key, an ambiguous scalar, a key that is no string.

    `code` is `duplicate-key`, `merged-key-set-twice`, `non-string-key`, `ambiguous-scalar` or `refused-escape`; of a
    whole document (the path is empty) `yaml-directive`, `content-after-marker` or `content-after-end`. `line` and
    `column` count from 1 in the source.
    """

    __slots__ = ("code", "column", "line", "message", "path")

    def __init__(self, path: Path, code: str, message: str, line: int, column: int) -> None:
        """A plain record."""
        self.path = path
        self.code = code
        self.message = message
        self.line = line
        self.column = column

    def __repr__(self) -> str:
        """For people who debug."""
        return f"Problem({self.path!r}, {self.code!r}, {self.message!r}, {self.line}, {self.column})"
