"""Patterns of definitions: Go is asked about made-up patterns and texts, and the answers compared.

A pattern that krmfn cannot read is not judged; one that Go cannot read is in no definition that a server takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from random import Random

from conformance.build import run_go
from conformance.storage import Record
from conformance.versions import HERE
from krmfn.server.patterns import compile_pattern

RECORDED = HERE / "data" / "patterns.jsonl.xz"
PROGRAM = HERE / "go" / "patterns" / "main.go"
ATOMS = (
    *("a", "b", "-", ".", r"\.", "[a-c]", "[^a]", "[-a.]", "[]a]", "[^]a]", r"[\s\d]", "[[:alpha:]]", r"\d", r"\w"),
    *(r"\s", r"\S", r"\D", r"\b", "^", "$", r"\z", r"\A", "é", r"\x41", r"\x{e9}", r"\Qa.b\E", "[&&a]", "[a|b~]"),
    *(" ", r"\n", "[[:^digit:]]", r"[\S]", r"[^\S]", r"[\D\n]", r"\$", "\\\\", "[$^]"),
)
GROUPS = (
    *("({})", "(?:{})", "(?i)({})", "(?i:{})", "(?P<n>{})", "(?<n>{})", "(?m:{})", "(?s)({})", "({}|{})", "(?i){}|{}"),
    *("(a(?i){}|{})", "(?-i:{})", "(?m)^{}$", "^{}$", "^({})$"),
)
COUNTS = ("", "", "", "*", "+", "?", "{2}", "{0,1}", "*?", "{1,}")
PIECES = (*"aAbBc-. \n1é_$\\\v\t٣K", "a.b")


def make_cases(seed: int, count: int) -> Iterator[tuple[str, str]]:
    """Patterns, each with texts that it may find."""
    rng = Random(f"patterns/{seed}")
    for _ in range(count):
        pattern = make_pattern(rng, 3)
        for _ in range(6):
            yield pattern, "".join(rng.choice(PIECES) for _ in range(rng.choice((0, 1, 1, 2, 3, 5))))


def make_pattern(rng: Random, depth: int) -> str:
    if depth and rng.random() < 0.5:
        shape = rng.choice(GROUPS)
        return shape.replace("n>", f"n{rng.randrange(10**6)}>").format(*(make_pattern(rng, depth - 1) for _ in "12"))
    return "".join(rng.choice(ATOMS) + rng.choice(COUNTS) for _ in range(rng.choice((1, 1, 2, 3))))


def ask_go(cases: Sequence[tuple[str, str]]) -> list[Record]:
    asked = "".join(json.dumps(case) + "\n" for case in cases)
    answers = map(json.loads, run_go(["run", str(PROGRAM)], HERE, asked).splitlines())
    return [
        {"pattern": pattern, "text": text, "found": found}
        for (pattern, text), found in zip(cases, answers, strict=True)
    ]


def differ(record: Record) -> str:
    """What is wrong about our answer; empty when it is right or when there is none."""
    compiled = compile_pattern(record["pattern"])
    if record["found"] is None or compiled is None:
        return ""
    found = compiled.search(record["text"]) is not None
    return "" if found == record["found"] else f"said {found}"
