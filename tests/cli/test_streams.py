"""How commands end when nobody reads, nothing can be written, or somebody interrupts."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn.cli import app
from krmfn.cli.entry import main
from krmfn.workspace.trees import LeftOut
from tests.cli.conftest import ROOT, Call
from tests.workspace.repositories import JOB, commit

BAD = JOB.replace("parallelism: 8", "parallelism: -1")
KRMFN = f"env -u PYTHONUNBUFFERED {shlex.quote(sys.executable)} -m krmfn"
COMMANDS = {
    "validate": (f"{KRMFN} validate bad.yaml", 1),
    "json": (f"{KRMFN} validate -o json bad.yaml", 1),
    "tree": (f"{KRMFN} tree good.yaml", 0),
    "generate": (f"{KRMFN} generate good.yaml", 0),
    "diff": (f"{KRMFN} diff good.yaml bad.yaml", 1),
    "check": (f"{KRMFN} generate --check good.yaml", 1),
    "rules": (f"{KRMFN} rules", 0),
    "schema": (f"{KRMFN} schema PodGroup", 0),
    "help": (f"{KRMFN} --help", 0),
    "help of a command": (f"{KRMFN} tree -h", 0),
    "version": (f"{KRMFN} --version", 0),
}


def bash(line: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "bad.yaml").write_text(BAD)
    (folder / "good.yaml").write_text(JOB)
    return subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_reader_that_has_had_enough_changes_nothing(name: str, tmp_path: Path) -> None:
    command, code = COMMANDS[name]
    done = bash(f"{command} 2>errors | true; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert done.stdout == f"{code}\n"
    assert "Traceback" not in (tmp_path / "errors").read_text()
    assert "Exception ignored" not in (tmp_path / "errors").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_answer_that_cannot_be_written_is_an_error(name: str, tmp_path: Path) -> None:
    command, _ = COMMANDS[name]
    for redirection, reason in ((">/dev/full", "No space left on device"), (">&-", "is closed")):
        done = bash(f"{command} {redirection}", tmp_path)
        assert done.returncode == 2
        last = done.stderr.splitlines()[-1]
        assert last.startswith("krmfn: ")
        assert reason in last
        assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full", "2> >(true)"])
def test_nobody_listens_to_what_is_told(name: str, redirection: str, tmp_path: Path) -> None:
    command, code = COMMANDS[name]
    done = bash(f"{command} {redirection}", tmp_path)
    assert done.returncode == code
    assert done.stdout


@pytest.mark.parametrize("words", ["schema 2>/dev/full", "schema 2> >(true)", "--help >/dev/full", "-x 2>/dev/full"])
def test_click_has_nowhere_to_write_to(words: str, tmp_path: Path) -> None:
    done = bash(f"{KRMFN} {words}", tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_stdin_is_closed(tmp_path: Path) -> None:
    done = bash(f"{KRMFN} validate - <&-", tmp_path)
    assert (done.returncode, done.stderr) == (2, "krmfn: stdin is closed: there is nothing to read for -\n")


@pytest.mark.slow
def test_streams_that_do_not_block(tmp_path: Path) -> None:
    """Some runners leave them so: a reader would take what has come for all, and a writer lose what does not fit."""
    job = JOB.encode() + b"# " + b"x" * 1_000_000 + b"\n"
    sources, targets = os.pipe(), os.pipe()
    for number in (sources[0], targets[1]):
        os.set_blocking(number, False)
    command = [sys.executable, "-m", "krmfn", "generate", "-q", "-"]
    run = subprocess.Popen(command, cwd=ROOT, stdin=sources[0], stdout=targets[1])
    for number in (sources[0], targets[1]):
        os.close(number)
    with os.fdopen(sources[1], "wb") as source, os.fdopen(targets[0], "rb") as target:
        source.write(job[:100])
        source.flush()
        time.sleep(0.5)
        source.write(job[100:])
        source.close()
        time.sleep(0.5)
        assert b"x" * 1_000_000 in target.read()
    assert run.wait() == 0


@pytest.mark.slow
def test_a_stream_without_the_characters(tmp_path: Path) -> None:
    text = JOB.replace("name: train\n", "name: träin\n")
    (tmp_path / "a.yaml").write_text(text)
    for encoding, name in (("ascii", "tr\\xe4in"), ("latin-1", "träin"), ("utf-16", "träin")):
        done = subprocess.run(
            [sys.executable, "-m", "krmfn", "tree", "-q", "a.yaml"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert f": for Job {name}\n" in done.stdout.decode(encoding)
    done = subprocess.run(
        [sys.executable, "-m", "krmfn", "generate", "-q", "a.yaml"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "name: träin\n" in done.stdout.decode(), "manifests are bytes, whatever the terminal can show"


@pytest.mark.slow
def test_the_working_directory_is_gone(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(JOB)
    for words in (
        "validate .",
        "validate - <a",
        "tree - <a",
        "generate - <a",
        "generate --write .",
        "init",
        "diff a b",
    ):
        (tmp_path / "gone").mkdir()
        line = words.replace("<a", f"<{tmp_path}/a.yaml")
        done = bash(f"cd gone && rmdir ../gone && {KRMFN} {line}", tmp_path)
        assert done.returncode == 2, words
        assert done.stderr == "krmfn: the working directory was deleted; change to another one\n", words


@pytest.mark.slow
@pytest.mark.parametrize("words", [["validate", "-"], ["generate", "-"], []], ids=["validate", "generate", "function"])
def test_an_interrupt_is_silent(words: list[str], tmp_path: Path) -> None:
    # Where the tests run in the background the signal is ignored, and children inherit that.
    program = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program += "from krmfn.__main__ import main; sys.exit(main())"
    run = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(1.5)  # until it waits for its stdin
    run.send_signal(signal.SIGINT)
    out, errors = run.communicate()
    assert (out, errors, run.returncode) == (b"", b"", 130)


def test_an_interrupt_before_the_command_is_known_is_silent() -> None:
    program = "import gc, signal, sys; gc.disable = lambda: signal.default_int_handler(signal.SIGINT, None); "
    program += "from krmfn.__main__ import script; sys.exit(script())"
    command = [sys.executable, "-c", program, "tree"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("begin", [main, app.main], ids=["plain", "click"])
def test_an_interrupt_ends_with_130(monkeypatch: pytest.MonkeyPatch, begin: Callable[[list[str]], int]) -> None:
    def run(_words: object, _options: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("krmfn.cli.validate.run", run)
    assert begin(["validate", "a.yaml"]) == 130


@pytest.mark.parametrize("error", [MemoryError(), SystemError("error return without exception set")])
def test_memory_runs_out(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    def run(_words: object, _options: object) -> int:
        raise error

    monkeypatch.setattr("krmfn.cli.validate.run", run)
    assert main(["validate", "a.yaml"]) == 2
    assert capsys.readouterr().err == "krmfn: out of memory: check fewer files at once\n"


@pytest.mark.parametrize("error", [FileNotFoundError("a.yaml"), LeftOut("a.yaml", "is a link")])
def test_files_vanish(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception) -> None:
    def resolve(_tree: object, _path: str) -> str:
        raise error

    monkeypatch.setattr("krmfn.workspace.gathering.Gathering.rest", property(lambda found: resolve(found, "a.yaml")))
    assert main(["validate", str(ROOT / "examples/job")]) == 2
    assert capsys.readouterr().err.endswith(": changed while krmfn was reading; run krmfn again\n")


def test_a_defect_is_told_as_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(_words: object, _options: object) -> int:
        raise RuntimeError("\x1b[2J")

    monkeypatch.setattr("krmfn.cli.validate.run", run)
    assert main(["validate", "a.yaml"]) == 3
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == [
        "RuntimeError: \\x1b[2J",
        "krmfn: this is a bug in krmfn, not in your input; please report it with the lines above",
    ]


def test_a_caller_that_ignores_the_end_of_children(tmp_path: Path) -> None:
    # A program would be said to have ended well, whatever has happened, and a missing revision would be no difference.
    (tmp_path / "job.yaml").write_text(JOB)
    commit(tmp_path)
    for words in (["diff", "git:missing", "."], ["validate", "job.yaml"]):
        done = subprocess.run(
            [sys.executable, "-m", "krmfn", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN),
        )
        assert done.returncode == (2 if words[0] == "diff" else 0), done.stderr
        assert "no such revision" in done.stderr or words[0] == "validate"


STRANGE = """\
# a head
foo: bar
---
apiVersion: weird version
kind: Thing
metadata: {name: b}   # odd
---
apiVersion: skaffold/v4beta12
kind: Config
---
- a list
--- # a note behind the dashes
"text"
---
apiVersion: v1
kind: ConfigMap
metadata: {name: c}
"""


@pytest.mark.slow
def test_a_filter_passes_on_what_it_does_not_know(krmfn: Call) -> None:
    """kubectl refuses what it gets; what it never gets, nobody misses."""
    done = krmfn("generate", "-", stdin=STRANGE)
    assert (done.code, done.out) == (0, STRANGE)
    job = (ROOT / "examples" / "job" / "job.yaml").read_text()
    done = krmfn("generate", "-q", "-", stdin=f"{STRANGE}---\n{job}")
    assert done.out.startswith(f"{STRANGE}---\n")
    assert "kind: PodGroup" in done.out
