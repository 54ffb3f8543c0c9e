"""What can be wrong with a configuration, and the words for it. Knows no key of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from krmfn.krm.paths import Path, format_path
from krmfn.model.wording import find_nearest, join


class Mistake(NamedTuple):
    """A mistake in the configuration: `path` is in the object that was read at `place`, `hint` says what to do."""

    path: Path
    message: str
    hint: str = ""
    place: str = ""

    def __str__(self) -> str:
        """One line: `krmfn.yaml:6:18: spec.gang.granularity: unknown value "group". Did you mean Group?`."""
        where = [self.place, format_path(self.path) if self.path else ""]
        text = ": ".join([*filter(None, where), self.message])
        return f"{text}. {self.hint}" if self.hint else text


Mistakes: TypeAlias = Iterator[Mistake]


class ConfigError(Exception):
    """The configuration cannot be used. Holds all its mistakes, in the order of the file."""

    def __init__(self, problems: Iterable[Mistake]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


def ask_about(word: str, known: Iterable[str]) -> str:
    """`Did you mean x or y?`: the words that contain `word` (`gate-off` for `gate`), else the nearest one, or ""."""
    known = list(known)
    part = f"-{word.casefold()}"
    longer = [candidate for candidate in known if part in f"-{candidate.casefold()}"] if len(word) > 2 else []
    meant = join(longer, "or") if 0 < len(longer) <= 12 else find_nearest(word, known)
    return f"Did you mean {meant}?" if meant else ""


def suggest(word: str, known: Iterable[str]) -> str:
    """The hint for a word that is not in `known`: the nearest one, and all that are allowed while they are few."""
    known = [candidate for candidate in known if candidate]
    nearest = find_nearest(word, known)
    listed = join(known, "or") if len(known) <= 12 else ""
    if nearest and len(known) > 1 and listed:
        return f"Did you mean {nearest}? Allowed: {listed}."
    if nearest:
        return f"Did you mean {nearest}?"
    return f"Allowed: {listed}." if listed else ""
