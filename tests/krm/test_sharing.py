"""Work that several processes share gives what one process gives, byte for byte, whatever becomes of the others."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.inputs import resource_list
from krmfn.krm import ABSENT, EditRefused, Result, Stream, Unreadable
from krmfn.krm import stream as stream_module
from krmfn.krm.sharing import share
from tests.front_door import call
from tests.golden_files import FIXTURES
from tests.sharing import share_among

#: Every object of the fixtures, as it is spelled there, the unreadable ones included.
DOCUMENTS = b"\n---\n".join(path.read_bytes() for path in sorted(FIXTURES.rglob("*.yaml")))
COMMANDS = (
    ["validate", "-o", "json"],
    ["validate", "--diff"],
    ["validate", "-o", "sarif", "--stage", "server"],
    ["tree"],
    ["generate", "-q"],
)


@pytest.fixture(params=[2, 3])
def processes(request: pytest.FixtureRequest) -> Iterator[int]:
    with share_among(request.param):
        yield request.param


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that were made."""
    made = []

    def fork(make: Callable[[], int] = os.fork) -> int:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(os, "fork", fork)
    return made


def check_ended(copies: list[int]) -> None:
    """Each has ended, and was waited for. A test that came before may have processes, too."""
    assert copies
    for process in copies:
        with pytest.raises(ChildProcessError):
            os.waitpid(process, os.WNOHANG)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_long_input_is_answered_as_by_one_process(words: list[str], processes: int, tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_bytes(DOCUMENTS)
    shared = call(words=[*words, "all.yaml"], folder=tmp_path)
    with share_among(1):
        assert shared == call(words=[*words, "all.yaml"], folder=tmp_path)
    assert shared.out or shared.err


def test_the_function_answers_a_long_list_as_one_process(processes: int, copies: list[int]) -> None:
    data = "".join(resource_list(60, 40)).encode()
    shared = call(data)
    assert len(copies) == 2 * (processes - 1)  # for what is edited, and for what is new
    with share_among(1):
        assert shared == call(data)
    assert shared.code == 0
    assert shared.out.count(b"kind: Workload") >= 40


def test_what_is_made_comes_in_the_order_of_the_things(processes: int, copies: list[int]) -> None:
    made = share(lambda number: (number, os.getpid()), range(100))
    assert [number for number, _ in made] == list(range(100))
    assert len(copies) == processes - 1
    assert {process for _, process in made} <= {os.getpid(), *copies}


def test_copies_work_while_this_process_does_something_else(processes: int, copies: list[int]) -> None:
    reader, writer = os.pipe()

    def work(number: int) -> int:
        os.write(writer, bytes([number]))
        return os.getpid()

    made = share(work, range(40), lambda: assert_begun(os.read(reader, 1)))
    os.close(reader)
    os.close(writer)
    assert set(made) & set(copies)
    check_ended(copies)


def assert_begun(said: bytes) -> None:
    """Somebody said something: until then reading waits."""
    assert said


def test_one_process_does_both() -> None:
    done: list[str] = []
    assert share(str, range(3), lambda: done.append("other")) == ["0", "1", "2"]
    assert done == ["other"]


def test_nothing_that_is_said_of_a_finding_is_lost(processes: int) -> None:
    result = Result("text", current=ABSENT, proposed=None, tags={"rule": "a"})
    assert all(each == result and each.current is ABSENT for each in share(lambda _: result, range(10)))


@pytest.mark.parametrize("end", ["exit", "kill", "raise", "cannot be sent"])
def test_what_a_copy_leaves_undone_is_done_here(
    end: str, processes: int, copies: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    here = os.getpid()

    def work(number: int) -> object:
        if os.getpid() != here and number == 4:
            match end:
                case "exit":
                    os._exit(3)
                case "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "raise":
                    raise MemoryError
                case _:
                    return lambda: None
        return number

    assert share(work, range(9)) == list(range(9))
    assert capfd.readouterr() == ("", "")
    check_ended(copies)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_ends_all_of_them(error: type[BaseException], processes: int, copies: list[int]) -> None:
    here = os.getpid()

    def work(number: int) -> None:
        if os.getpid() == here:
            raise error
        signal.pause()

    with pytest.raises(error):
        share(work, range(100))
    check_ended(copies)


def test_an_error_in_what_else_is_done_ends_all_of_them(processes: int, copies: list[int]) -> None:
    def fail() -> None:
        raise EOFError

    with pytest.raises(EOFError):
        share(lambda _: signal.pause(), range(100), fail)
    check_ended(copies)


def test_a_copy_ends_when_nobody_waits_for_it() -> None:
    program = (
        "import os, time\n"
        "from krmfn.krm import sharing\n"
        "sharing.allow()\n"
        "os.sched_getaffinity = lambda _: {0, 1}\n"
        "sharing.share(lambda _: time.sleep(0.1) or os.urandom(1000), range(1000), lambda: os._exit(9))\n"
    )
    # As long as a copy is there its stdout is open. All parts would take it more than a minute and a half.
    assert (
        subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=60, check=False).returncode == 9
    )


def test_a_caller_that_ignores_how_processes_end(processes: int, copies: list[int]) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        assert share(str, range(9)) == list("012345678")
    finally:
        signal.signal(signal.SIGCHLD, before)
    check_ended(copies)


def test_where_no_process_can_be_made_one_does_the_work(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", fork)
    assert share(str, range(9)) == list("012345678")


def test_where_no_descriptor_is_left_one_does_the_work(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    pipes = iter([os.pipe()])  # the one for the parts

    def pipe() -> tuple[int, int]:
        for each in pipes:
            return each
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(os, "pipe", pipe)
    assert share(str, range(9)) == list("012345678")


def test_a_library_makes_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork")
    assert share(str, range(2000)) == [str(number) for number in range(2000)]


@pytest.mark.parametrize("name", ["fork", "sched_getaffinity"])
def test_other_systems_make_no_process(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with share_among(3):
        monkeypatch.setattr(os, "fork", lambda: pytest.fail("a process is made"))
        monkeypatch.delattr(os, name)
        assert share(str, range(2000)) == [str(number) for number in range(2000)]


def test_a_stream_is_read_alike_by_one_and_by_many(
    processes: int, copies: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Places, edits and what cannot be read, too; odd documents are read by the first process."""
    odd = (
        b"---\na: &x {b: [c]}\nd: *x\n---\n- a\n---\nkind: List\napiVersion: v1\nitems: []\n---\nkind: \xff\n--- # c\n"
    )
    data = DOCUMENTS + odd + DOCUMENTS

    def read() -> list[object]:
        stream = Stream.parse(data, "a.yaml", tolerant=True)
        told: list[object] = [*stream.skipped]
        for item in stream.items:
            try:
                told += [item.start, item.frame.remarks, item.value, item.locate(("metadata", "name"))]
                item.set(("metadata", "labels", "x"), "y")
            except (EditRefused, Unreadable) as error:
                told.append(str(error))
        return [*told, stream.render()]

    monkeypatch.setattr(stream_module, "_MANY", 10**9)
    alone = read()
    copies.clear()
    monkeypatch.setattr(stream_module, "_MANY", 1)
    assert read() == alone
    assert len(copies) >= processes - 1
