"""From the words of a command line to an exit code: by the plain reader where it can, by click otherwise."""

from __future__ import annotations

import sys
from collections.abc import Sequence

#: Run so often and on so little that click's start-up would be most of the time.
PLAIN = ("validate",)


def main(words: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    import gc

    from krmfn.krm import guard

    # What a command reads stays until its end and has no cycles worth a search: that would take a third of the time.
    gc.disable()
    try:
        return guard(lambda: _run(words))
    finally:
        gc.enable()


def _run(words: Sequence[str]) -> int:
    from krmfn.cli.options import UsageError
    from krmfn.config.problems import ConfigError
    from krmfn.releases.release import UnknownRelease
    from krmfn.workspace.trees import InputMissing, WriteFailed

    try:
        if words and words[0] in PLAIN:
            from krmfn.cli import plain, validate

            read = plain.parse(validate.ARGUMENTS, validate.OPTIONS, words[1:])
            if read is not None:
                return validate.run(*read)
        from krmfn.cli.app import main as click_main

        return click_main(words)
    except (UsageError, InputMissing, UnknownRelease, WriteFailed) as mistake:
        sys.stderr.write(f"krmfn: {mistake}\n")
        return 2
    except ConfigError as mistake:
        for problem in mistake.problems:
            sys.stderr.write(f"krmfn: {problem}\n")
        return 2
