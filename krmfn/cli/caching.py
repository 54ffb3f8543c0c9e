"""--cache: a command that was run before prints the same again, if everything that it had read is unchanged.

A kept run is named by its command line, folder and streams. It has all questions to the file system, which are asked
again before anything is printed: the answers have to be the same. Parts of runs are kept separately, by the digest of
everything that they follow from: the output of kustomize (storing), its objects where they are deployed
(workspace.gathering), the values of files (workspace.manifests), the findings of worlds (judged).
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import Any

from krmfn import __version__
from krmfn.cli import Options, Run, Words, streams
from krmfn.model.kept import use
from krmfn.releases.schemastore import root
from krmfn.workspace.disk import find_here
from krmfn.workspace.git import name_tree
from krmfn.workspace.storing import NotTrusted, Store
from krmfn.workspace.witness import ANSWERS, digest, recall, watch

#: What the output of a command depends on, besides files.
_ENVIRONMENT = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "PATH")
#: Options with which a command changes files, or runs programs that may do anything.
_CHANGING = ("write", "fix", "write_baseline", "allow_exec")
# The questions about revisions are answered by git, which witness does not know.
ANSWERS["revision"] = name_tree


@cache
def open_store(folder: str) -> Store | None:
    """The store in the folder of --cache. None if it cannot be used or trusted; a line on stderr says why."""
    try:
        return Store(folder, _identify())
    except NotTrusted as reason:
        streams.say(f"--cache {folder} is not used: {reason}")
    except OSError as error:
        streams.say(f"--cache {folder} is not used: {error.strerror}")
    return None


def repeat(command: Run, words: Words, options: Options) -> int:
    """Run a command whose option --cache names a folder, or print what an earlier run printed; the exit code. What
    changes files, or uses a stream as a file, is always run."""
    store = open_store(options["cache"])
    if store is None:
        return command(words, options)
    changes = any(map(options.get, _CHANGING)) or not options.get("check", True)  # generate, unless it only checks
    with use(store):
        if changes or _uses_stream(words, options):
            return command(words, options)
        return _repeat(command, words, options)


def _uses_stream(words: Words, options: Options) -> bool:
    given = [*words]
    for value in options.values():
        given += value if isinstance(value, tuple) else [value]
    return any(isinstance(each, str) and (each == "-" or each.startswith(("/dev/", "/proc/"))) for each in given)


def _repeat(command: Run, words: Words, options: Options) -> int:
    status: int | None = None

    def carry_out() -> Any:
        nonlocal status
        with streams.keep() as said:
            status = command(words, options)
        return (said, status) if status in (0, 1) else None  # a run with an error is not kept

    with watch():
        known = recall("run", _name_run(command.__module__, words, options), carry_out)
    if status is None:  # an earlier run had the same answers
        said, status = known
        streams.say_again(said)
    return int(status)


def _name_run(command: str, words: Words, options: Options) -> bytes:
    """Everything that decides what a command prints, except for the files that it reads. Raises InputMissing if the
    working directory does not exist any more."""
    given = sorted((key, repr(value)) for key, value in options.items() if key != "cache")
    environment = [os.environ.get(name) for name in _ENVIRONMENT]
    named = command, list(words), given, find_here(), environment, streams.describe()
    return repr(named).encode("utf-8", "surrogatepass")


def _identify() -> str:
    """The program that makes what is kept: its version and files, Python and the YAML library."""
    import yaml

    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = sorted(
        (os.path.relpath(path, top), digest(path))
        for top in (own, root())
        for folder, _, names in os.walk(top)
        for path in (os.path.join(folder, name) for name in names if not name.endswith(".pyc"))
    )
    return repr((__version__, sys.version, yaml.__version__, yaml.__with_libyaml__, files))
