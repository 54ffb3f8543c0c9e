"""A command that was run before: what it printed, as long as everything that it had read is the same.

The name of a kept run says which command line, folder and streams; the run itself holds all that it asked the file
system, with the answers, which are asked again before anything is printed. What it was made of is kept apart, by the
digest of all that it follows from: what kustomize printed (storing), the values of files (workspace.manifests), the
findings of worlds (judged). A change of one file makes anew what follows from it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from typing import Final

from krmfn import __version__
from krmfn.cli import Options, Run, Words, streams
from krmfn.model.kept import find, keep, use
from krmfn.releases.schemastore import root
from krmfn.workspace.disk import find_here
from krmfn.workspace.git import name_tree
from krmfn.workspace.storing import NotTrusted, Store
from krmfn.workspace.witness import digest, holds, watch

#: What the output of a command depends on, besides files.
_ENVIRONMENT: Final = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "PATH")
#: Options with which a command changes files, or runs what may do anything.
_CHANGING: Final = ("write", "fix", "write_baseline", "allow_exec")


@cache
def open_store(folder: str) -> Store | None:
    """What --cache names; None, and a line that says why, where it cannot be believed."""
    try:
        return Store(folder, _identify())
    except NotTrusted as reason:
        streams.say(f"--cache {folder} is not used: {reason}")
    except OSError as error:
        streams.say(f"--cache {folder} is not used: {error.strerror}")
    return None


def repeat(command: Run, words: Words, options: Options) -> int:
    """Run a command whose option --cache names a folder, or say again what it has said."""
    store = open_store(options["cache"])
    if store is None:
        return command(words, options)
    texts = [*words, *(each for value in options.values() for each in (value if isinstance(value, tuple) else [value]))]
    changes = any(options.get(name) for name in _CHANGING) or ("check" in options and not options["check"])
    with use(store):
        if changes or any(map(_is_stream, texts)):
            return command(words, options)
        return _repeat(command, words, options)


def _repeat(command: Run, words: Words, options: Options) -> int:
    name = _name_run(command.__module__, words, options)
    answers, said, code = find("run", name) or ({}, (), None)
    if code is not None and holds(answers, {"revision": name_tree}):
        streams.say_again(said)
        return int(code)
    with watch() as asked, streams.keep() as texts:
        code = command(words, options)
    if code in (0, 1):
        keep("run", name, (asked, texts, code))
    return code


def _is_stream(text: object) -> bool:
    return isinstance(text, str) and (text == "-" or text.startswith(("/dev/", "/proc/")))


def _name_run(command: str, words: Words, options: Options) -> bytes:
    """Everything that decides what a command says, but for what it reads. Raises InputMissing where the working
    directory is gone."""
    given = sorted((key, repr(value)) for key, value in options.items() if key != "cache")
    environment = [os.environ.get(name) for name in _ENVIRONMENT]
    named = command, list(words), given, find_here(), environment, streams.describe()
    return repr(named).encode("utf-8", "surrogatepass")


def _identify() -> str:
    """This program: its version, its files, and what reads for it."""
    import yaml

    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = sorted((os.path.relpath(path, top), digest(path)) for top in (own, root()) for path in _walk(top))
    return repr((__version__, sys.version, yaml.__version__, yaml.__with_libyaml__, files))


def _walk(top: str) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        yield from (os.path.join(folder, name) for name in names if not name.endswith(".pyc"))
