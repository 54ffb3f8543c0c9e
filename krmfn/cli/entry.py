"""From the words of a command line to an exit code: by the plain reader where it can, by click otherwise.

0 clean, 1 findings, 2 usage, configuration, unreadable input or an answer that cannot be written, 3 a defect of ours,
130 interrupted.
"""

from __future__ import annotations

import errno
import gc
import traceback
from contextlib import suppress

from krmfn.cli import Words, streams
from krmfn.cli.options import UsageError, begin, parse, read_command
from krmfn.config.problems import ConfigError, ask_about
from krmfn.krm import Unreadable
from krmfn.krm.running import FRAMELESS
from krmfn.releases.release import UnknownRelease
from krmfn.reports.channels import lines
from krmfn.workspace.trees import InputMissing, LeftOut, WriteFailed

OUT_OF_MEMORY = "out of memory: check fewer files at once"
#: What no program can do anything about: a full or read-only disk, too many open files, a reader that went away.
_OUTSIDE = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EPIPE),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
)


def main(words: Words) -> int:
    """Runs the command and returns the exit code."""
    # What a command reads stays until its end and has no cycles worth a search: that would take a third of the time.
    collecting = gc.isenabled()
    gc.disable()
    streams.prepare()
    try:
        return _guard(words)
    except KeyboardInterrupt:
        return 130
    finally:
        if collecting:
            gc.enable()


def _guard(words: Words) -> int:
    """The command's exit code; where it cannot end by itself, one line says why."""
    try:
        code = _run(words)
        streams.flush()
        return code
    except streams.StreamLost as lost:
        streams.say(str(lost))
        return 2
    except MemoryError:
        streams.say(OUT_OF_MEMORY)
        return 2
    except Exception as error:
        reason = _explain(error)
        if reason is None:
            streams.tell(lines(traceback.format_exc()))
            streams.say("this is a bug in krmfn, not in your input; please report it with the lines above")
            return 3
        with suppress(streams.StreamLost):  # the reason then; nothing is left for the interpreter to fail with
            streams.flush()
        for text in reason:
            streams.say(text)
        return 2


def _explain(error: Exception) -> list[str] | None:
    """What was wrong with the command line or what it names, None for a defect."""
    if isinstance(error, ConfigError):
        return [str(problem) for problem in error.problems]
    if str(error) == FRAMELESS:
        return [OUT_OF_MEMORY]
    if isinstance(error, OSError) and error.errno in _OUTSIDE:
        return [f"the operating system reports an error: {error.strerror}"]
    if isinstance(error, LeftOut) or (isinstance(error, FileNotFoundError) and error.errno is None):  # of a tree
        return [f"{error.args[0]}: changed while krmfn was reading; run krmfn again"]
    if isinstance(error, InputMissing) and error.known:
        return [" ".join(filter(None, [f"{error}.", ask_about(error.word, error.known)])).removesuffix(".")]
    expected = UsageError | InputMissing | WriteFailed | Unreadable | UnknownRelease
    return [str(error)] if isinstance(error, expected) else None


def _run(words: Words) -> int:
    if words and words[0] == "validate":  # so often and on so little that click's start-up would be most of the time
        from krmfn.cli import validate

        read = parse(read_command("validate"), words[1:])
        if read is not None:
            return begin(validate.run, *read)
    from krmfn.cli.app import main as click_main

    return click_main(words)
