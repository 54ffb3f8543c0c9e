"""How a text is written: the record that styling finds out and writing follows."""

from __future__ import annotations


class Style:
    """How the neighbours are written.

    `step`: columns per level; `wide`: dashes stand one step to the right of their parent's key; `json`: keys and
    strings in double quotes, in flow form; `comma`, `colon`: separators of flow collections; `indented`: JSON with a
    line for every child.
    """

    __slots__ = ("colon", "comma", "indented", "json", "newline", "step", "wide")

    def __init__(
        self,
        step: int = 2,
        wide: bool = False,
        json: bool = False,
        newline: str = "\n",
        comma: str = ", ",
        colon: str = ": ",
    ) -> None:
        """The defaults are what kustomize writes and kpt prefers."""
        self.step = step
        self.wide = wide
        self.json = json
        self.newline = newline
        self.comma = comma
        self.colon = colon
        self.indented = False
