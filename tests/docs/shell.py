"""One shell for all sessions of a page, so that `cd`, variables and `$?` work as they do for the reader."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

MARK = "--8<-- exit status "


class Outcome(NamedTuple):
    """What a command printed on stdout and stderr together, and its exit status."""

    output: str
    status: int


def run_commands(commands: list[str], folder: Path, timeout: float = 300) -> list[Outcome]:
    """Run `commands` in one bash in `folder`; the programs of this Python's environment come first on the PATH."""
    script = ["exec 2>&1", "set +o history"]
    for command in commands:
        # The status survives for the next command: a reader may type `echo $?`.
        script.append(f'{command}\n__status=$?; printf "\\n{MARK}%s\\n" "$__status"; (exit "$__status")')
    home = folder.parent / "home"
    home.mkdir(exist_ok=True)
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
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
    environment |= {key: value for key, value in os.environ.items() if key.startswith(("PIP_", "SSL_", "XDG_CACHE"))}
    done = subprocess.run(
        ["bash"],
        input="\n".join(script),
        cwd=folder,
        env=environment,
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
