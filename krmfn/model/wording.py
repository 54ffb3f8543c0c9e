"""Counted nouns and lists of words, as every message writes them."""

from __future__ import annotations


def count(number: int, noun: str) -> str:
    """`1 pod`, `3 pods`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def join(words: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
