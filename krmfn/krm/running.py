"""Runs a function between stdin and stdout, and decides how it ends. Knows nothing about what functions do.

Exit status: 0 when no result is an error; 1 when one is: the items are written as they came, with the results; 2 when
the input cannot be read (nothing is written) or the functionConfig cannot be used (items as they came, and results);
3 for a defect: nothing is written, the traceback goes to stderr.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import IO, TextIO

from krmfn.krm.errors import EditRefused, Misconfigured, Unreadable
from krmfn.krm.item import Item
from krmfn.krm.listing import Found, Parts, splice
from krmfn.krm.results import Result, Severity, has_errors
from krmfn.krm.source import Source

#: All that the SystemError of Python 3.11 says where no memory is left for the frame of a call.
FRAMELESS = "error return without exception set"

_DEFECT = "This is a bug in the function, not in your input. Please report it with the lines above.\n"


class ResourceList:
    """What an orchestrator sends to a function and gets back. `items` may be changed as a list; their order in the
    output is that of the input. v1, v1beta1 and v1alpha1 are accepted, the answer has the version received.

    Source: KRM Functions Specification.
    """

    __slots__ = ("_listing", "_source", "api_version", "function_config", "items")

    def __init__(self, source: Source, found: Found) -> None:
        """Use `parse`."""
        self._source = source
        self._listing = found.listing
        self.api_version = found.api_version
        self.function_config = found.function_config
        self.items: list[Item] = list(found.listing.items)

    @classmethod
    def parse(cls, data: bytes, path: str = "") -> ResourceList:
        """Read a ResourceList in YAML or JSON. Items are split, not parsed. Raises Unreadable."""
        from krmfn.krm.fast_reading import read_fast

        source = Source(data, path)
        found = read_fast(source)
        if found is None:
            from krmfn.krm.stream import read_resource_list

            found = read_resource_list(source)
        return cls(source, found)

    def append(self, item: Item) -> None:
        """Add an object behind the others."""
        self.items.append(item)

    def remove(self, item: Item) -> None:
        """Take an object out; orchestrators delete what is missing in the answer. Raises ValueError if it is absent."""
        self.items.remove(item)

    def render(self, results: Iterable[Result] = ()) -> bytes:
        """The list with all edits. Results of an earlier function are replaced when there are new ones."""
        return b"".join(self.render_parts(results))

    def render_original(self, results: Iterable[Result] = ()) -> bytes:
        """The list as it was read, with results: the answer of a function that fails."""
        return ResourceList.parse(self._source.data).render(results)

    def render_parts(self, results: Iterable[Result] = ()) -> Parts:
        """Like `render`, in parts that share the memory of the input."""
        spelled = [result.to_json() for result in results]
        return splice(self._source.data, self._listing.splice(self.items, spelled))


Function = Callable[[ResourceList], Iterable[Result] | None]


def run(
    function: Function,
    *,
    stdin: IO[bytes] | None = None,
    stdout: IO[bytes] | None = None,
    stderr: IO[str] | None = None,
    fail_on: Severity = "error",
    report: Callable[[Sequence[Result]], str] | None = None,
) -> int:
    """Read a ResourceList from `stdin`, let `function` change it, write it to `stdout`; give the exit status.

    The function edits the list and yields results. While it runs `sys.stdout` is stderr, so a stray print corrupts
    nothing. Everything is written at the end or not at all. `fail_on` is the severity from which results are failures;
    `report` spells results for stderr, one line each by default.
    """
    errors = stderr or sys.stderr or _open_nothing()
    printed, sys.stdout = sys.stdout, errors
    # Trees and values have no cycles, and looking for cycles in them again and again takes a third of the time.
    collecting = gc.isenabled()
    gc.disable()

    def answer() -> int:
        source, target = _open(stdin, sys.stdin), _open(stdout, printed)
        parts, results, status = _answer(function, source, fail_on)
        if results:
            _fail(status, report(results) if report else "".join(spell_result(each) + "\n" for each in results), errors)
        _write(target, parts)
        return status

    try:
        return guard(answer, errors)
    finally:
        sys.stdout = printed
        if collecting:
            gc.enable()


def guard(work: Callable[[], int], errors: IO[str] | None = None) -> int:
    """Do `work` and give its exit status; 2 with a line on stderr for unreadable input, 3 with a traceback.

    A reader that closed the pipe (`krmfn … | head`) is no failure of anybody: 0, silently.
    """
    try:
        return work()
    except Unreadable as error:
        from krmfn.krm.terminal import line

        return _fail(2, f"error: {line(str(error))}\n", errors)
    except BrokenPipeError:
        silence(1)
        return 0
    except MemoryError:
        pass  # told below, when what the error holds on to is free
    except Exception as error:
        if str(error) != FRAMELESS:
            import traceback

            return _fail(3, traceback.format_exc() + _DEFECT, errors)
    return _fail(2, "error: the input needs more memory than there is\n", errors)


def _fail(status: int, message: str, errors: IO[str] | None) -> int:
    """Say why, if anybody can be told, and give the exit status."""
    try:
        stream = errors or sys.stderr
        stream.write(message)
        stream.flush()
    except OSError:
        silence(2)  # stderr is full: the status has to do
    except (ValueError, AttributeError):
        pass  # stderr is closed
    return status


def _open_nothing() -> TextIO:
    """For messages that nobody can get: the caller has closed stderr."""
    return open(os.devnull, "w", encoding="utf-8")  # as long-lived as a standard stream


def silence(number: int) -> None:
    """Lets a stream go nowhere: what is still buffered would fail again, at the latest when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)


def _answer(function: Function, source: IO[bytes], fail_on: Severity) -> tuple[Parts, list[Result], int]:
    if source.isatty():
        raise Unreadable("stdin is a terminal; pipe a ResourceList in, or run krmfn --help")
    data = source.read()
    if not data or data.isspace():
        raise Unreadable("stdin is empty; expected a ResourceList")
    resources = ResourceList.parse(data)
    try:
        results = list(function(resources) or ())
    except Misconfigured as refusal:
        results = list(refusal.results)
        return [resources.render_original(results)], results, 2
    if has_errors(results, fail_on):
        return [resources.render_original(results)], results, 1
    try:
        return resources.render_parts(results), results, 0
    except EditRefused as refused:
        results = [Result(f"the list cannot be written with these objects removed: {refused}"), *results]
        return [resources.render_original(results)], results, 1


def spell_result(result: Result) -> str:
    """One line for people: `severity: Kind namespace/name path: message`.

    >>> from krmfn.krm import Result
    >>> spell_result(Result("must be positive", path="spec.minCount"))
    'error: spec.minCount: must be positive'
    """
    from krmfn.krm.terminal import line

    place = f"{result.file.path}: " if result.file and result.file.path else ""
    subject = f"{result.subject}: " if result.subject else ""
    message = " ".join(result.message.split())
    rule = result.tags.get("rule")
    text = f"{place}{result.severity}: {subject}{message}" + (f" [{rule}]" if rule else "")
    return line(text)


def _open(given: IO[bytes] | None, stream: TextIO | None) -> IO[bytes]:
    """The bytes of a standard stream, which is None where the caller has closed it."""
    if given is None and stream is None:
        raise Unreadable("stdin or stdout is closed: there is nowhere to read or write a ResourceList")
    return given or stream.buffer  # type: ignore[union-attr]  # one of them is there


def _write(target: IO[bytes], parts: Parts) -> None:
    """Write everything. Raises Unreadable where that fails: an answer that nobody gets is no success."""
    try:
        for part in parts:
            target.write(part)
        target.flush()
    except OSError as error:
        silence(1)
        raise Unreadable(f"stdout cannot be written: {error.strerror}") from None
