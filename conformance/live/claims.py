"""Claims, and the report of them in Markdown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.scheduler.plane import Plane

Value = dict[str, Any]


class Claim(NamedTuple):
    """What krmfn says, or should bring about, and what was seen of it."""

    topic: str
    subject: str
    claimed: str
    seen: str
    kept: bool


def krmfn(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """The program, as a user starts it."""
    return subprocess.run(
        [sys.executable, "-m", "krmfn", *words], input=text, text=True, capture_output=True, check=False
    )


def generate(text: str, release: str) -> list[Value]:
    """What `krmfn generate` prints for manifests. Raises RuntimeError when it finds an error."""
    done = krmfn("generate", "-q", "--kubernetes", release, "-", text=text)
    if done.returncode:
        raise RuntimeError(f"krmfn generate: {done.stdout}{done.stderr}")
    return list(yaml.safe_load_all(done.stdout))


def ask_json(*words: str) -> Any:
    """The answer of a command with `-o json`, whatever its exit status. Raises RuntimeError when there is none."""
    done = krmfn(*words, "-o", "json")
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise RuntimeError(f"krmfn {' '.join(words)}: {done.stderr}") from None


def spell_cluster(plane: Plane) -> tuple[str, ...]:
    """The options that name a plane's release and gates."""
    gates = ",".join(f"{name}={str(on).lower()}" for name, on in plane.gates.items())
    return ("--kubernetes", plane.release.name, "--feature-gates", gates)


def write_manifests(path: Path, values: Iterable[Value]) -> str:
    """The path, with the objects in it."""
    path.write_text(yaml.safe_dump_all(json.loads(json.dumps(list(values)))))
    return str(path)


def write_report(head: Sequence[str], claims: Sequence[Claim]) -> str:
    """All claims as Markdown, one table a topic."""
    return "\n".join([*head, "", *_count(claims), *_list(claims)]) + "\n"


def _count(claims: Sequence[Claim]) -> Iterator[str]:
    yield from ("| claims | kept | failed |", "|---|---|---|")
    for topic in dict.fromkeys(claim.topic for claim in claims):
        mine = [claim.kept for claim in claims if claim.topic == topic]
        yield f"| {topic} | {sum(mine)} | {len(mine) - sum(mine)} |"


def _list(claims: Sequence[Claim]) -> Iterator[str]:
    for topic in dict.fromkeys(claim.topic for claim in claims):
        yield from ("", f"## {topic[0].upper()}{topic[1:]}", "", "| | claimed | seen | |", "|---|---|---|---|")
        for claim in claims:
            if claim.topic == topic:
                cells = [claim.subject, claim.claimed, claim.seen, "kept" if claim.kept else "**failed**"]
                yield f"| {' | '.join(map(_escape, cells))} |"


def _escape(cell: str) -> str:
    return " ".join(cell.replace("|", "&#124;").replace("<", "&lt;").split())
