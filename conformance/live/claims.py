"""Claims, and the report of them in Markdown."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from conformance.scheduler.cluster import LeftOver
from conformance.scheduler.plane import Plane

Value = dict[str, Any]


class Claim(NamedTuple):
    """What krmfn says, or should bring about, and what was seen of it."""

    topic: str
    subject: str
    claimed: str
    seen: str
    kept: bool


#: What proves one claim on a control plane; raises LeftOver where the claim before spoils it.
Step = Callable[[Plane], Claim]


def take(steps: Iterable[Step], start: Callable[[], AbstractContextManager[Plane]]) -> Iterator[Claim]:
    """The claims of all steps. A scheduler that never forgets a pod that is gone, as that of 1.36 may, is replaced."""
    left, failures = deque(steps), 0
    while left and failures < 3:
        with start() as plane, contextlib.suppress(LeftOver):
            while left:
                failures += 1
                yield left[0](plane)
                left.popleft()
                failures = 0
    if left:
        raise RuntimeError("the scheduler keeps what is gone")


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


def spell_cluster(release: str, gates: Mapping[str, bool]) -> tuple[str, ...]:
    """The options that name a release and its gates."""
    spelled = ",".join(f"{name}={str(on).lower()}" for name, on in gates.items())
    return ("--kubernetes", release, "--feature-gates", spelled)


def write_manifests(path: Path, values: Iterable[Value]) -> str:
    """The path, with the objects in it."""
    path.write_text(yaml.safe_dump_all(json.loads(json.dumps(list(values)))))
    return str(path)


def write_section(head: Sequence[str], claims: Sequence[Claim]) -> str:
    """All claims about a release as Markdown, one table a topic."""
    return "\n".join([*head, "", *_count(claims), *_list(claims)]) + "\n"


def insert(page: str, head: str, section: str) -> str:
    """A page with a section that begins with the heading `head`, in the place of the one that did."""
    start, *sections = page.split("\n## ")
    named = {text.partition("\n")[0]: text.rstrip("\n") for text in sections}
    named[head] = section.rstrip("\n").removeprefix("## ")
    texts = [start.rstrip("\n"), *(named[name] for name in sorted(named, reverse=True))]
    return "\n\n## ".join(texts) + "\n"


def _count(claims: Sequence[Claim]) -> Iterator[str]:
    yield from ("| claims | kept | failed |", "|---|---|---|")
    for topic in dict.fromkeys(claim.topic for claim in claims):
        mine = [claim.kept for claim in claims if claim.topic == topic]
        yield f"| {topic} | {sum(mine)} | {len(mine) - sum(mine)} |"


def _list(claims: Sequence[Claim]) -> Iterator[str]:
    for topic in dict.fromkeys(claim.topic for claim in claims):
        yield from ("", f"### {topic[0].upper()}{topic[1:]}", "", "| | claimed | seen | |", "|---|---|---|---|")
        for claim in claims:
            if claim.topic == topic:
                cells = [claim.subject, claim.claimed, claim.seen, "kept" if claim.kept else "**failed**"]
                yield f"| {' | '.join(map(_escape, cells))} |"


def _escape(cell: str) -> str:
    return " ".join(cell.replace("|", "&#124;").replace("<", "&lt;").split())
