"""What readers of an item disagree on, as records."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krmfn.krm.frames import Frame
    from krmfn.krm.nodes import Node
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


def list_problems(root: Node | None, text: str, frame: Frame, start: int) -> tuple[Problem, ...]:
    """The problems of an object's document and of its text, which begins at a byte, in the order of the text."""
    from krmfn.krm.places import Positions
    from krmfn.krm.values import find_problems

    at = Positions(text)
    found = [Problem((), code, message, line, 1) for code, message, line in frame.remarks]
    found += [
        Problem(path, code, message, *frame.source.shift(start, frame.pad, *at(offset)))
        for path, code, message, offset in find_problems(root, text, frame.json)
    ]
    return tuple(found)
