"""A process of its own for each call of the console script, forked from one in which all of krmfn is imported.

Words, environment, folder, streams and exit status are those of the call; what an interpreter and imports take, two
thirds of most calls, is spent once. tests/test_goldens.py and tests/e2e start the script as a user does.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import krmfn
from krmfn.__main__ import script
from tests.front_door import Done

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload([each.name for each in pkgutil.walk_packages(krmfn.__path__, "krmfn.")])
#: How each of stdin, stdout and stderr is opened.
_MODES = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_CREAT)
#: How variables begin that an interpreter reads when it starts: this one has started.
_READ_BEFORE = ("PYTHON", "LC_", "LANG")


def start(words: Sequence[str], data: bytes, folder: Path, environment: Mapping[str, str]) -> Done:
    """Runs the console script with `words` in `folder`, with `data` on stdin, and waits for its end."""
    late = [name for name, value in environment.items() if name.startswith(_READ_BEFORE) and os.getenv(name) != value]
    assert not late, f"{late} would do nothing: start an interpreter"
    with TemporaryDirectory() as streams:
        paths = [Path(streams, name) for name in ("in", "out", "err")]
        paths[0].write_bytes(data)
        process = _CONTEXT.Process(target=_be_the_script, args=(words, folder, dict(environment), paths))
        process.start()
        process.join()
        assert process.exitcode is not None, "it has ended"
        return Done(paths[1].read_bytes(), paths[2].read_bytes(), process.exitcode)


def _be_the_script(words: Sequence[str], folder: Path, environment: Mapping[str, str], paths: Sequence[Path]) -> None:
    for number, (path, mode) in enumerate(zip(paths, _MODES, strict=True)):
        os.dup2(os.open(path, mode), number)
    sys.stdin = os.fdopen(0, closefd=False)  # the fork server closed its own
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["krmfn", *words]
    sys.exit(script())
