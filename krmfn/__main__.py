"""The console script: the KRM function without arguments, the command line with them."""

from __future__ import annotations

import gc
import os
import sys


def script() -> int:
    """Like main, but the process ends here, without a look for cycles and without freeing every object on its own:
    that would be a tenth of the time of any run."""
    code = 130
    try:
        gc.disable()
        _wait_for_streams()
        from krmfn.krm.sharing import allow

        allow()
        code = main()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except OSError:
        return code  # the interpreter tells of streams that fail
    except KeyboardInterrupt:
        pass  # beside main, where nothing is left half done
    os._exit(code)


def _wait_for_streams() -> None:
    """Undoes what some callers set: of streams that do not block, input would be cut, and output lost."""
    for number in range(3):
        try:
            if not os.get_blocking(number):
                os.set_blocking(number, True)
        except OSError:  # closed
            continue


def main() -> int:
    """Runs what the caller asked for and returns the exit code (0 clean, 1 findings, 2 usage or input, 3 a defect)."""
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


def _run(words: list[str]) -> int:
    if not words and "_KRMFN_COMPLETE" not in os.environ:
        if not os.isatty(0):
            # kustomize and kpt call without arguments, at every build: nothing but the function is imported.
            from krmfn.function import main as function

            return function()
        words = ["--help"]
    from krmfn.cli.entry import main as command_line

    return command_line(words)


if __name__ == "__main__":
    sys.exit(script())
