"""Patterns as in .gitignore: which names they match, in any order of stars, and how long that takes."""

from __future__ import annotations

import time
from fnmatch import fnmatchcase
from random import Random

from krmfn.model.patterns import find_match, read_patterns


def matches(pattern: str, name: str) -> bool:
    return find_match(read_patterns(pattern, "."), name, False) is not None


def test_names_match_as_in_a_shell() -> None:
    rng = Random(7)
    for _ in range(5000):
        pattern = "".join(rng.choice("ab*?") for _ in range(rng.randint(1, 8)))
        name = "".join(rng.choice("ab") for _ in range(rng.randint(1, 9)))
        assert "**" in pattern or matches(pattern, name) == fnmatchcase(name, pattern), (pattern, name)


def test_many_stars_take_no_time() -> None:
    start = time.process_time()
    assert not matches("*a" * 25 + "b", "a" * 200)
    assert not matches("/".join(["*a" * 25 + "b"] * 3), "/".join(["a" * 200] * 3))
    assert read_patterns("*[a]" * 25 + "b", ".") == []
    assert time.process_time() - start < 5
