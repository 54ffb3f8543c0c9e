"""Counted nouns and lists of words, as every message writes them, and the word that somebody meant."""

from __future__ import annotations

from collections.abc import Iterable


def count(number: int, noun: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(words: Iterable[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = list(words)
    return f" {word} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def list_first(words: Iterable[str], most: int) -> str:
    """The first of some words: `a, b and 3 more`."""
    words = list(words)
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest} more" if rest > 0 else "")


def find_nearest(word: str, known: Iterable[str], likeness: float = 0.7) -> str:
    """The word of `known` that `word` was probably meant to be, or empty. A `likeness` of 1 is equal; short words,
    which have letters in common by chance, need 0.75 at least.

    Upper and lower case, dashes and underscores do not count, so `min-count` is near `minCount`.
    """
    spellings: dict[str, str] = {}
    for candidate in known:
        spellings.setdefault(_fold(candidate), candidate)
    folded = _fold(word)
    if folded in spellings:
        return spellings[folded]
    from difflib import get_close_matches  # only on mistakes: it costs start-up time

    close = get_close_matches(folded, spellings, n=1, cutoff=likeness if len(folded) > 5 else max(likeness, 0.75))
    return spellings[close[0]] if close else ""


def _fold(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "")
