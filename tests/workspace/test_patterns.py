"""Patterns as in .gitignore: which names they match, in any order of stars, and how long that takes."""

from __future__ import annotations

import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

from krmfn.model.patterns import is_ignored, is_inside, read_patterns
from tests.workspace.repositories import git


def matches(pattern: str, name: str) -> bool:
    return is_ignored(read_patterns(pattern, "."), name, False)


def test_names_match_as_in_a_shell() -> None:
    rng = Random(7)
    for _ in range(5000):
        pattern = "".join(rng.choice("ab*?") for _ in range(rng.randint(1, 8)))
        name = "".join(rng.choice("ab") for _ in range(rng.randint(1, 9)))
        assert "**" in pattern or matches(pattern, name) == fnmatchcase(name, pattern), (pattern, name)


def test_paths_match_as_in_git(tmp_path: Path) -> None:
    rng = Random(3)
    git(tmp_path, "init", "-q")
    words = ["**", "**", "a", "b", "*", "a*b", "?", "*a", "a**", "**b", "[!b]"]
    for _ in range(60):
        pattern = "/".join(rng.choice(words) for _ in range(rng.randint(1, 6)))
        paths = {
            "/".join(rng.choice(["a", "b", "ab", "aab", "c"]) for _ in range(rng.randint(1, 7))) for _ in range(40)
        }
        (tmp_path / ".gitignore").write_text(pattern + "\n")
        asked = ["git", "check-ignore", "--no-index", "--stdin"]
        given = "\n".join(paths).encode()
        told = subprocess.run(asked, check=False, cwd=tmp_path, input=given, capture_output=True).stdout.decode()
        found = {path for path in paths if is_inside(read_patterns(pattern, "."), path)}
        assert found == set(told.split("\n")) - {""}, pattern


def test_many_stars_take_no_time() -> None:
    start = time.process_time()
    assert not matches("*a" * 25 + "b", "a" * 200)
    assert not matches("/".join(["*a" * 25 + "b"] * 3), "/".join(["a" * 200] * 3))
    assert read_patterns("*[a]" * 25 + "b", ".") == []
    assert not matches("**/a/" * 25 + "b", "a/" * 500 + "c")
    assert not matches("**/a/" * 25 + "*b/**", "a/" * 500 + "c")
    assert time.process_time() - start < 5


def test_many_folders_in_a_pattern_take_no_time() -> None:
    start = time.process_time()
    assert not matches("**/a*/" * 600 + "b", "/".join(["aaa"] * 1000))
    assert not matches("a/**/" * 600 + "b", "a/" * 1000 + "c")
    assert read_patterns("a" * 1_000_000, ".") == []
    assert time.process_time() - start < 5


def test_folders_between_names() -> None:
    for pattern, names in {
        "a/**/b": ["a/b", "a/c/b", "a/c/a/b"],
        "**/a/**/b": ["a/b", "c/a/b", "c/a/d/b"],
        "a/**/b/**/c": ["a/b/c", "a/x/b/b/y/c"],
        "a/**": ["a/b", "a/b/c"],
        "**/b/**": ["b/c", "a/b/c/d"],
    }.items():
        assert all(matches(pattern, name) for name in names), pattern
        assert not any(matches(pattern, name) for name in ("a", "b", "ab", "a/bb/cc", "cb/aa")) or pattern == "a/**"
