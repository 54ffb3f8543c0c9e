"""Reads the fenced blocks of a page: files, which are compared, and console sessions, which are run.

A page says in a comment what its sessions start from: `<!-- sessions start in: examples/kustomize -->` copies that
folder, `<!-- sessions start in: empty -->` begins with nothing, and every titled block writes its file. A block whose
title starts with `examples/` shows that file of the repository. `... ` alone on a line of console output, or `...`
inside one, stands for any text. A block below the comment `<!-- needs: PROGRAM -->` is only run where that program is.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(
    r"(?:^<!-- needs: (\S+) -->\n)?^( *)```(\w*)(?: title=\"([^\"]+)\")?[^\n]*\n(.*?)^\2```$", re.MULTILINE | re.DOTALL
)
START = re.compile(r"<!-- sessions start in: (\S+)(?:, needs: ([\w ,-]+))? -->")


class Block(NamedTuple):
    """A fenced block: its language, title (may be empty), text without the fences, line in the page, and the program
    without which it is not run (may be empty)."""

    language: str
    title: str
    text: str
    line: int
    needs: str


class Step(NamedTuple):
    """A command of a console block and what it prints; `line_of_output` is 0 for what the page does not show."""

    command: str
    output: str
    line: int
    line_of_output: int = 0


class Page(NamedTuple):
    """A page's blocks, the folder that its sessions start from (empty: none given) and the programs they need."""

    blocks: tuple[Block, ...]
    start: str
    needs: tuple[str, ...]


def read_page(path: Path) -> Page:
    """The blocks of a Markdown file, in order."""
    text = path.read_text()
    blocks = []
    for match in FENCE.finditer(text):
        program, indent, language, title, body = match.groups()
        lines = [line.removeprefix(indent) for line in body.splitlines(keepends=True)]
        line = text.count("\n", 0, match.start(2)) + 1
        blocks.append(Block(language, title or "", "".join(lines), line, program or ""))
    start = START.search(text)
    needs = tuple(start[2].replace(" ", "").split(",")) if start and start[2] else ()
    return Page(tuple(blocks), start[1] if start else "", needs)


def read_steps(block: Block) -> list[Step]:
    """The commands of a console block; a line that ends in a backslash goes on, and `> ` starts its next line."""
    steps: list[Step] = []
    lines = block.text.splitlines(keepends=True)
    number = 0
    while number < len(lines):
        assert lines[number].startswith("$ "), f"line {block.line + 1 + number}: a session starts with a command"
        first, command = number, lines[number][2:]
        while command.endswith("\\\n"):
            number += 1
            command += lines[number].removeprefix("> ")
        number += 1
        output, output_line = "", block.line + 1 + number
        while number < len(lines) and not lines[number].startswith("$ "):
            output += lines[number]
            number += 1
        steps.append(Step(command.rstrip("\n"), output, block.line + 1 + first, output_line))
    return steps


def matches(wanted: str, got: str) -> bool:
    """Whether `got` is `wanted`, in which `...` stands for any text and `...` alone on a line for any lines."""
    pattern = re.escape(wanted).replace(re.escape("...\n"), "@LINES@").replace(re.escape("..."), ".*")
    return re.fullmatch(pattern.replace("@LINES@", r"(?s:.*\n)?"), got) is not None
