"""A command that was run before: what it printed, as long as everything that it had read is the same.

The name of a kept run says which program, command line, folder and streams; the run itself holds all that it asked the
file system, with the answers, which are asked again before anything is printed. What kustomize made is kept apart, by
the digest of all that it was given, so that a change of one file renders one kustomization.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from krmfn import __version__
from krmfn.cli import streams
from krmfn.releases.schemastore import root
from krmfn.workspace.disk import find_here
from krmfn.workspace.git import name_tree
from krmfn.workspace.processes import RENDERER, find_program
from krmfn.workspace.storing import NotTrusted, Store
from krmfn.workspace.witness import Question, holds, spell_program, watch

#: What the output of a command depends on, besides files.
_ENVIRONMENT: Final = ("NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "TERM", "COLUMNS", "PATH")
#: Options with which a command changes files, or runs what may do anything.
_CHANGING: Final = ("write", "fix", "write_baseline", "allow_exec")


class RenderedResults(dict[bytes, bytes]):
    """What kustomize printed, by the digest of all that it was given."""

    def __init__(self, store: Store) -> None:
        """Reads from a store, and writes to it."""
        super().__init__()
        self._store = store
        self._programs = [spell_program(find_program(name)) for name in ("kustomize", RENDERER)]

    def __contains__(self, key: object) -> bool:
        if isinstance(key, bytes) and not super().__contains__(key) and (found := self._store.load(self._name(key))):
            super().__setitem__(key, zlib.decompress(found))
        return super().__contains__(key)

    def __setitem__(self, key: bytes, data: bytes) -> None:
        if self.get(key) != data:
            super().__setitem__(key, data)
            self._store.save(self._name(key), zlib.compress(data, 1))

    def _name(self, key: bytes) -> str:
        return repr(("rendered", __version__, self._programs, key))


class KeptRun(NamedTuple):
    """What a command has asked the file system, what it has said, and its exit code."""

    answers: Mapping[Question, str]
    said: Sequence[tuple[str, str | bytes]]
    code: int


class Cache(NamedTuple):
    """What is kept in a folder."""

    store: Store
    rendered: RenderedResults


@cache
def open_store(folder: str) -> Cache | None:
    """What --cache names; None, and a line that says why, where it cannot be believed."""
    try:
        store = Store(folder)
    except NotTrusted as reason:
        streams.say(f"--cache {folder} is not used: {reason}")
    except OSError as error:
        streams.say(f"--cache {folder} is not used: {error.strerror}")
    else:
        return Cache(store, RenderedResults(store))
    return None


def repeat(
    command: Callable[[Sequence[str], Mapping[str, Any]], int], words: Sequence[str], options: Mapping[str, Any]
) -> int:
    """Run a command whose option --cache names a folder, or say again what it has said."""
    opened = open_store(options["cache"])
    texts = [*words, *(each for value in options.values() for each in (value if isinstance(value, tuple) else [value]))]
    changes = any(options.get(name) for name in _CHANGING) or ("check" in options and not options["check"])
    if opened is None or changes or any(map(_is_stream, texts)):
        return command(words, options)
    name = _name_run(command.__module__, words, options)
    kept = _unpack(opened.store.load(name))
    if kept is not None and holds(kept.answers, {"revision": name_tree}):
        streams.say_again(kept.said)
        return kept.code
    with watch() as answers, streams.keep() as said:
        code = command(words, options)
    if code in (0, 1):
        opened.store.save(name, _pack(KeptRun(answers, said, code)))
    return code


def _is_stream(text: object) -> bool:
    return isinstance(text, str) and (text == "-" or text.startswith(("/dev/", "/proc/")))


def _name_run(command: str, words: Sequence[str], options: Mapping[str, Any]) -> str:
    """Everything that decides what a command says, but for what it reads. Raises InputMissing where the working
    directory is gone."""
    given = sorted((key, repr(value)) for key, value in options.items() if key != "cache")
    environment = [os.environ.get(name) for name in _ENVIRONMENT]
    return repr((_identify(), command, list(words), given, find_here(), environment, streams.describe()))


def _identify() -> tuple[object, ...]:
    """This program: its version, its files, and what reads for it."""
    import yaml

    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = sorted((path, spell_program(path)) for top in (own, root()) for path in _walk(top))
    return __version__, sys.version, yaml.__version__, yaml.__with_libyaml__, files


def _walk(top: str) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        yield from (os.path.join(folder, name) for name in names if not name.endswith(".pyc"))


def _pack(run: KeptRun) -> bytes:
    answers = [[*question, answer] for question, answer in run.answers.items()]
    said = [
        [name, isinstance(text, bytes), text if isinstance(text, str) else text.decode("latin-1")]
        for name, text in run.said
    ]
    return zlib.compress(json.dumps([answers, said, run.code]).encode(), 1)


def _unpack(data: bytes | None) -> KeptRun | None:
    if data is None:
        return None
    answers, said, code = json.loads(zlib.decompress(data))
    texts = [(name, text.encode("latin-1") if is_bytes else text) for name, is_bytes, text in said]
    return KeptRun({Question(kind, text): answer for kind, text, answer in answers}, texts, code)
