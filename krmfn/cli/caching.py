"""A command that was run before: what it printed, as long as everything that it had read is the same.

The name of a kept run says which command line, folder and streams; the run itself holds all that it asked the file
system, with the answers, which are asked again before anything is printed. What it was made of is kept apart, by the
digest of all that it follows from: what kustomize printed (storing), the objects of that where they are deployed
(workspace.gathering), the values of files (workspace.manifests), the findings of worlds (judged). A change of one file
makes anew what follows from it.
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
#: Options with which a command changes files, or runs what may do anything.
_CHANGING = ("write", "fix", "write_baseline", "allow_exec")
#: What a revision is has git to say.
ANSWERS["revision"] = name_tree


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
    changes = any(map(options.get, _CHANGING)) or ("check" in options and not options["check"])
    with use(store):
        if changes or any(map(_is_stream, texts)):
            return command(words, options)
        return _repeat(command, words, options)


def _repeat(command: Run, words: Words, options: Options) -> int:
    ended = []

    def carry_out() -> Any:
        with streams.keep() as said:
            ended.append(command(words, options))
        return (said, *ended) if ended[0] in (0, 1) else None

    with watch():
        known = recall("run", _name_run(command.__module__, words, options), carry_out)
    if not ended:
        streams.say_again(known[0])
    return ended[0] if ended else int(known[1])


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
    files = sorted(
        (os.path.relpath(path, top), digest(path))
        for top in (own, root())
        for folder, _, names in os.walk(top)
        for path in (os.path.join(folder, name) for name in names if not name.endswith(".pyc"))
    )
    return repr((__version__, sys.version, yaml.__version__, yaml.__with_libyaml__, files))
