"""The standard streams: the one gate to stdout and stderr of the command line, and what happens when they fail.

A reader that has had enough (`krmfn … | head`) changes nothing about how a command ends; an answer that cannot be
written (a full disk, a closed stream) is an error. Texts are escaped for their channel before they come here
(reports.channels).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO, TypeAlias, TypeVar

from krmfn.cli import Options
from krmfn.krm import running
from krmfn.krm.terminal import line

_Thing = TypeVar("_Thing")
#: How many things take long.
_LONG = 200
#: What is said while somebody keeps it: the name of a function of this module, and its argument.
Said: TypeAlias = list[tuple[str, str | bytes]]
_kept: list[Said] = []


class StreamLost(Exception):
    """What a command has to say cannot be written. The message says why."""


@contextmanager
def keep() -> Iterator[Said]:
    """A block of which everything that is said is kept, in order, for `say_again`."""
    said: Said = []
    _kept.append(said)
    try:
        yield said
    finally:
        _kept.remove(said)


def say_again(said: Said) -> None:
    """What a block has said, to the same streams. Raises StreamLost."""
    for name, text in said:
        if isinstance(text, bytes):
            write_bytes(text)
        elif name == "tell":
            tell(text)
        else:
            write(text)


def _keep(name: str, text: str | bytes) -> None:
    for said in _kept:
        said.append((name, text))


def prepare() -> None:
    """Lets no character be the end of a command: what a stream's encoding lacks is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def write(text: str) -> None:
    """Text for people on stdout. Raises StreamLost."""
    stream = expect()
    _keep("write", text)
    with _losing():
        stream.write(text)


def write_bytes(data: bytes) -> None:
    """Manifests, or a document for programs, on stdout: always UTF-8, as it is. Raises StreamLost."""
    stream = expect()
    _keep("write_bytes", data)
    with _losing():
        stream.flush()
        stream.buffer.write(data)


def flush() -> None:
    """Everything is out, or StreamLost is raised. Nothing is left for the interpreter to fail with at its end."""
    with _losing():
        if sys.stdout is not None:
            sys.stdout.flush()


def tell(text: str) -> None:
    """Lines about what is going on, on stderr. When nobody can read them, nothing happens."""
    _keep("tell", text)
    if sys.stderr is None:
        return
    try:
        if sys.stdout is not None:
            sys.stdout.flush()  # in the order in which it was written, also where both streams go into one file
    except OSError:
        pass  # the next write or flush of stdout says so
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)


def say(text: str) -> None:
    """One line on stderr, `krmfn: ` before it."""
    tell(f"krmfn: {line(text)}\n")


def remark(text: str, options: Options) -> None:
    """As `say`, but not with --quiet."""
    if not options.get("quiet"):
        say(text)


def track(things: Sequence[_Thing], options: Options) -> Iterable[_Thing]:
    """`things`, with a bar on stderr while they are consumed when there are many and somebody watches."""
    if len(things) < _LONG or options.get("quiet") or sys.stderr is None or not sys.stderr.isatty():
        return things
    return _show(things)


def _show(things: Sequence[_Thing]) -> Iterator[_Thing]:
    import click

    with click.progressbar(things, label="reading", file=sys.stderr) as bar:
        yield from bar


def agrees(question: str) -> bool:
    """Whether somebody at the terminal answers yes; where nobody is, the answer is no."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return False
    tell(line(question))
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def describe() -> tuple[object, ...]:
    """What the streams are, as far as it shows in what is written to them."""
    from shutil import get_terminal_size

    found = [each for each in (sys.stdout, sys.stderr) if each is not None]
    width = get_terminal_size().columns if any(each.isatty() for each in found) else 0
    return width, *((each.isatty(), each.encoding) for each in found)


def expect() -> TextIO:
    """Stdout. Raises StreamLost where it is closed."""
    if sys.stdout is None:
        raise StreamLost("stdout is closed: there is nowhere to write to")
    return sys.stdout


def silence() -> None:
    """Lets stdout go nowhere from now on."""
    if sys.stdout is not None:
        _discard(sys.stdout)


def give_up() -> None:
    """Knows no stdout from now on."""
    sys.stdout = None


@contextmanager
def _losing() -> Iterator[None]:
    """A block that writes to stdout. Raises StreamLost where that fails, but not where nobody reads any more."""
    try:
        yield
    except OSError as error:
        silence()
        if not isinstance(error, BrokenPipeError):
            raise StreamLost(f"stdout cannot be written: {error.strerror}") from None


def _discard(stream: TextIO) -> None:
    running.silence(stream.fileno())
