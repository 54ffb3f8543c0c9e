"""How a function ends: exit status, stdout, stderr."""

from __future__ import annotations

import gc
import io
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from krmfn.krm import Item, Misconfigured, ResourceList, Result, run

ROOT = Path(__file__).parent.parent.parent
TEXT = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: A # c\n"


def call(function: Callable[[ResourceList], Iterable[Result] | None], text: str = TEXT) -> tuple[int, str, str]:
    out, err = io.BytesIO(), io.StringIO()
    status = run(function, stdin=io.BytesIO(text.encode()), stdout=out, stderr=err)
    return status, out.getvalue().decode(), err.getvalue()


def edit(resources: ResourceList) -> None:
    resources.items[0].set(("a",), 1)
    resources.append(Item.new({"kind": "B"}))


def test_edits_are_written() -> None:
    assert call(edit) == (0, TEXT + "  a: 1\n- kind: B\n", "")


@pytest.mark.parametrize("collecting", [True, False])
def test_garbage_is_collected_afterwards_as_before(collecting: bool) -> None:
    before = gc.isenabled()
    try:
        (gc.enable if collecting else gc.disable)()
        call(edit)
        assert gc.isenabled() == collecting
    finally:
        (gc.enable if before else gc.disable)()


def test_results_are_written_and_told() -> None:
    status, out, err = call(lambda _: [Result("hm", "warning", tags={"rule": "r"})])
    assert (status, err) == (0, "warning: hm [r]\n")
    assert out == TEXT + "results:\n- message: hm\n  severity: warning\n  tags:\n    rule: r\n"


def test_with_an_error_the_items_leave_as_they_came() -> None:
    def function(resources: ResourceList) -> Iterable[Result]:
        edit(resources)
        yield Result("line one\nline two", "error", resources.items[0].ref, "a")

    status, out, err = call(function)
    assert status == 1
    assert out.startswith(TEXT + "results:\n")
    assert err == "error: A (no name) a: line one line two\n"


def test_warnings_fail_where_they_shall() -> None:
    out = io.BytesIO()
    warn = [Result("w", "warning")]
    given = io.BytesIO(TEXT.encode())
    assert run(lambda _: warn, stdin=given, stdout=out, stderr=io.StringIO(), fail_on="warning") == 1


@pytest.mark.parametrize(
    "text", ["", "\n", "a: b: c\n", "kind: List\n", "[", "apiVersion: v1\nkind: ResourceList\n", TEXT + "\x01"]
)
def test_unreadable_input_gives_no_output_and_one_line(text: str) -> None:
    status, out, err = call(edit, text)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_an_item_that_proves_unreadable_later_gives_no_output() -> None:
    status, out, err = call(lambda resources: [Result(str(resources.items[0].value))], TEXT + "  a: *x\n")
    assert (status, out) == (2, "")
    assert "line 5, column 6: unknown anchor referenced" in err


def test_a_defect_gives_no_output_and_a_traceback() -> None:
    def function(resources: ResourceList) -> Iterable[Result]:
        edit(resources)
        raise KeyError("oops")

    status, out, err = call(function)
    assert (status, out) == (3, "")
    assert "Traceback" in err
    assert "Please report it" in err


def test_a_wrong_configuration_gives_the_items_and_the_results() -> None:
    def function(_: ResourceList) -> Iterable[Result]:
        raise Misconfigured([Result("no such key", path="spec.x")])

    status, out, err = call(function)
    assert status == 2
    assert out.startswith(TEXT + "results:\n")
    assert err == "error: spec.x: no such key\n"


PROGRAM = """
import os, sys
from krmfn.krm import run
def function(resources):
    print("noise")
    os.write(2, b"")
    resources.items[0].set(("a",), 1)
sys.exit(run(function))
"""


def start(**streams: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, input=TEXT.encode(), check=False, cwd=ROOT, **streams)  # type: ignore[call-overload, no-any-return]  # streams of the caller's choice


def test_a_stray_print_goes_to_stderr() -> None:
    done = start(capture_output=True)
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, TEXT + "  a: 1\n", "noise\n")


def test_an_answer_that_cannot_be_written_is_no_success() -> None:
    with Path("/dev/full").open("wb") as full:
        done = start(stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert b"stdout cannot be written" in done.stderr


def test_a_closed_stdout_is_no_success() -> None:
    command = f"{sys.executable} -c '{PROGRAM}' >&-"
    done = subprocess.run(["sh", "-c", command], input=TEXT.encode(), capture_output=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert b"closed" in done.stderr


def test_little_is_imported_for_a_list_without_items() -> None:
    """Beside what annotations and records are made of, nothing: see also HEAVY in tests/test_architecture.py."""
    program = (
        "import typing, collections.abc; import sys; before = set(sys.modules)\n"
        "from krmfn.krm import run\n"
        "status = run(lambda resources: ())\n"
        "print(*sorted(name for name in set(sys.modules) - before if not name.startswith('krmfn')), file=sys.stderr)"
    )
    text = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"
    done = subprocess.run([sys.executable, "-c", program], input=text, capture_output=True, check=True, cwd=ROOT)
    assert set(done.stderr.decode().split()) <= {"__future__", "gc"}


LIST = b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: v1\n  kind: A\n"


@pytest.mark.parametrize(
    ("redirection", "status", "told"),
    [
        ("<&-", 2, "error: stdin or stdout is closed"),
        (">&-", 2, "error: stdin or stdout is closed"),
        ("2>&-", 0, ""),
        ("<&- 2>&-", 2, ""),
        (">/dev/full", 2, "error: stdout cannot be written: No space left on device"),
        (">/dev/full 2>/dev/full", 2, ""),
    ],
)
def test_streams_that_are_closed_or_full_end_with_a_line_and_a_status(redirection: str, status: int, told: str) -> None:
    command = ["sh", "-c", f'unset PYTHONUNBUFFERED; "{sys.executable}" -m krmfn {redirection}']
    done = subprocess.run(command, input=LIST, capture_output=True, check=False)
    assert done.returncode == status
    assert done.stderr.decode().startswith(told)
    assert done.stderr.count(b"\n") <= 1


@pytest.mark.parametrize("error", [MemoryError(), SystemError("error return without exception set")])
def test_memory_that_runs_out_in_a_function_is_no_defect(error: Exception) -> None:
    def fail(_resources: ResourceList) -> None:
        raise error

    assert call(fail) == (2, "", "error: the input needs more memory than there is\n")


def test_too_little_memory_ends_with_a_line_and_a_status() -> None:
    text = LIST + b"  data: {" + b"a: [1, 2, 3], " * 400_000 + b"}\n"
    command = ["sh", "-c", f'ulimit -v 120000; exec "{sys.executable}" -m krmfn']
    text = text.replace(b"v1\n  kind: A", b"batch/v1\n  kind: Job")
    done = subprocess.run(command, input=text, capture_output=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: the input needs more memory than there is\n"
