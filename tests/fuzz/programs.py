"""Programs in Go that oracles ask, built once from `conformance/go` into the cache; long-lived."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Thread

from conformance.build import cache_folder, name_binary

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "conformance" / "go"


class Program:
    """A child process that answers frames: four bytes of length, then the content."""

    def __init__(self, path: Path, answers: int) -> None:
        """`answers` is the number of frames that it gives for one."""
        self.answers = answers
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, text: bytes) -> list[bytes]:
        """The answers for one text."""
        return self.ask_all([text])[0]

    def ask_all(self, texts: Sequence[bytes]) -> list[list[bytes]]:
        """The answers for each text: many at once spare the waiting for one another."""
        asking = Thread(target=self._write, args=[texts])  # a pipe that is full of answers takes no more questions
        asking.start()
        found = [[self._read() for _ in range(self.answers)] for _ in texts]
        asking.join()
        return found

    def _write(self, texts: Sequence[bytes]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(len(text).to_bytes(4, "big") + text for text in texts))
        self.process.stdin.flush()

    def _read(self) -> bytes:
        assert self.process.stdout is not None
        size = int.from_bytes(self.process.stdout.read(4), "big")
        return self.process.stdout.read(size)


@cache
def find_program(name: str) -> Path | None:
    """The program of `conformance/go/NAME`, built where it is not or its source has changed; None without Go."""
    source = SOURCES / name
    place = cache_folder() / "bin" / name_binary(name)
    if not place.exists():
        go = shutil.which("go")
        if go is None:
            return None
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f"{place.name}.{os.getpid()}")
        done = subprocess.run([go, "build", "-o", part, "."], cwd=source, capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        part.rename(place)
    return place


def read_modules(name: str) -> dict[str, str]:
    """The modules that a program requires directly, with their versions."""
    words = [line.split() for line in (SOURCES / name / "go.mod").read_text(encoding="utf-8").splitlines()]
    lines = [line[1:] if line[:1] == ["require"] else line for line in words]
    return {line[0]: line[1].removeprefix("v") for line in lines if len(line) == 2 and line[1][:1] == "v"}


@cache
def start(name: str, answers: int = 1) -> Program:
    """The running program of this process."""
    place = find_program(name)
    assert place is not None
    return Program(place, answers)
