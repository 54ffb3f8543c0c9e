"""What can go wrong with a text: it cannot be read, or an edit in it would change more than was asked for.

Knows nothing about YAML; holds no logic.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.results import FileRef, Result

#: How the message about an anchor ends that is used in its own value.
HOLDS_ITSELF = "value contains itself"


class Unreadable(Exception):
    """The input is not YAML or JSON, or not what was expected. `line` and `column` count from 1 (0: unknown).

    >>> str(Unreadable("mapping values are not allowed here", 3, 8))
    'line 3, column 8: mapping values are not allowed here'
    """

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        """Keep the message (one sentence, without the position) and the position apart."""
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column

    def spell(self, path: str) -> str:
        """The place in the file, and the message."""
        return FileRef(path, 0, self.line, self.column).tell(self.message)

    def __str__(self) -> str:
        """The position, when it is known, and the message."""
        return f"line {self.line}, column {self.column}: {self.message}" if self.line else self.message


class EditRefused(Exception):
    """An edit cannot be made without changing something else (an anchor that others use, a merged key). The message is
    a sentence that names what stands in the way."""


class Misconfigured(Exception):
    """The functionConfig cannot be used. `results` say what is wrong with it, all of them errors."""

    def __init__(self, results: Iterable[Result]) -> None:
        """Keep the results, in the order of the configuration."""
        self.results = tuple(results)
        super().__init__("; ".join(result.message for result in self.results))
