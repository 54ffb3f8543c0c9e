"""Runs the console sessions of a page in one shell, so that `cd`, variables and `$?` work as they do for the reader."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.docs.pages import Block, Page, Step, read_steps

ROOT = Path(__file__).parents[2]
MARK = "--8<-- exit status "


class Outcome(NamedTuple):
    """What a command printed on stdout and stderr together, and its exit status."""

    output: str
    status: int


def home(path: Path, page: Page) -> Path:
    """The folder whose files the page shows: a README's own, else the one that the page names."""
    if path.name == "README.md":
        return path.parent
    return ROOT / "examples" / path.stem if page.start == "empty" else ROOT / page.start


def source(path: Path, page: Page, block: Block) -> Path:
    """The file of the repository that a titled block shows."""
    return ROOT / block.title if block.title.startswith("examples/") else home(path, page) / block.title


def run_page(path: Path, page: Page, folder: Path) -> list[tuple[Step, Outcome]]:
    """Run every command of the page below `folder`. Raises RuntimeError when the shell ends early."""
    work = folder / "work"
    if page.start == "empty":
        work.mkdir()
    else:
        shutil.copytree(home(path, page), work)
    steps: list[Step] = []
    for block in page.blocks:
        if block.needs and not shutil.which(block.needs):
            continue
        if block.language == "console":
            steps += read_steps(block)
        elif page.start == "empty" and block.title and not block.title.startswith("examples/"):
            target = shlex.quote(block.title)
            copy = f"mkdir -p $(dirname {target}); cp {shlex.quote(str(source(path, page, block)))} {target}"
            steps.append(Step(copy, "", block.line, 0))
    outcomes = run_commands([step.command for step in steps], work)
    if len(outcomes) != len(steps):
        raise RuntimeError(f"the shell ended after {len(outcomes)} of {len(steps)} commands")
    return list(zip(steps, outcomes, strict=True))


def run_commands(commands: list[str], folder: Path, timeout: float = 300) -> list[Outcome]:
    """Run `commands` in one bash in `folder`; the programs of this Python's environment come first on the PATH."""
    script = ["exec 2>&1", "set +o history"]
    for command in commands:
        # The status survives for the next command: a reader may type `echo $?`.
        script.append(f'{command}\n__status=$?; printf "\\n{MARK}%s\\n" "$__status"; (exit "$__status")')
    done = subprocess.run(
        ["bash"],
        input="\n".join(script),
        cwd=folder,
        env=_environment(folder.parent / "home"),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    outcomes, lines = [], ""
    for line in done.stdout.splitlines(keepends=True):
        if line.startswith(MARK):
            # The line break in front of the mark is ours.
            outcomes.append(Outcome(lines.removesuffix("\n"), int(line.removeprefix(MARK))))
            lines = ""
        else:
            lines += line
    return outcomes


def _environment(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "GIT_AUTHOR_NAME": "you",
        "GIT_AUTHOR_EMAIL": "you@example.com",
        "GIT_COMMITTER_NAME": "you",
        "GIT_COMMITTER_EMAIL": "you@example.com",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "init.defaultBranch",
        "GIT_CONFIG_VALUE_0": "main",
    }
    # What package installers need to reach their index; a page may install hooks.
    passed = ("PIP_", "SSL_", "XDG_CACHE", "REQUESTS_")
    return environment | {key: value for key, value in os.environ.items() if key.startswith(passed)}
