"""What people see at a terminal: wrapped findings with the line of source, links and colours; none of it in a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from krmfn.krm import FileRef
from krmfn.reports.paint import count_columns
from krmfn.reports.report import Screen
from krmfn.reports.screen import spell_source
from tests.cli.conftest import ROOT, Call
from tests.workspace.repositories import JOB

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers:
  - {name: A, image: b, env: [{name: PASSWORD, value: hunter2}]}
"""
ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")

Look = Callable[..., str]


@pytest.fixture
def look(tmp_path: Path) -> Look:
    """Calls the console script at a terminal, and gives what it shows there."""

    def call(*words: str, columns: int = 80, **environment: str) -> str:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "krmfn", *words],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path,
            env={
                **{key: value for key, value in os.environ.items() if key != "NO_COLOR"},
                **{"PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": str(columns)},
                **environment,
            },
        )
        os.close(theirs)
        shown = b""
        try:
            while data := os.read(ours, 65536):
                shown += data
        except OSError:  # how Linux says that nobody writes any more
            pass
        os.close(ours)
        process.wait()
        return shown.decode().replace("\r\n", "\n")

    return call


def test_a_finding_shows_its_line_and_fits_the_terminal(tmp_path: Path, look: Look) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    shown = look("validate", "-q", "pod.yaml", columns=60)
    assert "\x1b]8;;" not in shown  # without a published address there is no link
    plain = ESCAPES.sub("", shown)
    assert max(map(len, plain.splitlines())) <= 60
    assert plain.startswith("pod.yaml:6:12: error: Pod a spec.containers[0].name: Invalid\n    value: ")
    lines = plain.splitlines()
    source = next(number for number, text in enumerate(lines) if " | " in text)
    assert lines[source].startswith("     6 |   - {name: A, image: b, env: [{name: PASSWORD, val")
    assert lines[source + 1] == "       | " + " " * 11 + "^"
    assert "hunter2" not in look("validate", "pod.yaml", columns=200)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["validate", "generate", "convert --to 1.37"])
def test_many_files_are_read_with_a_bar(command: str, tmp_path: Path, look: Look) -> None:
    for number in range(200):
        (tmp_path / f"{number:03}.yaml").write_text(JOB.replace("name: train", f"name: train-{number}"))
    assert "reading" in look(*command.split(), ".")
    assert "reading" not in look(*command.split(), "-q", ".")
    (tmp_path / "000.yaml").unlink()
    assert "reading" not in look(*command.split(), ".")


def test_wide_tabbed_and_long_lines_keep_their_caret(tmp_path: Path, look: Look) -> None:
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n"
        '  - {image: "漢字\\e", name: A, command: [' + "x, " * 60 + "]}\n"
    )
    plain = ESCAPES.sub("", look("validate", "-q", "pod.yaml", columns=50))
    caret = next(text for text in plain.splitlines() if text.endswith("^"))
    source = next(text for text in plain.splitlines() if "…" in text)
    assert source.index("A, command") + 2 == caret.index("^")  # two of the characters before it are wide


def test_a_line_that_is_cut_fills_the_screen() -> None:
    source, _ = spell_source(Screen(40, False, lambda _: ["a" * 99]), FileRef("a", line=1, column=1), "").splitlines()
    assert (len(source), source[-1]) == (40, "…")


@pytest.mark.parametrize("unit", ["a ", "漢", "e\u0301", "\u200d", "\U0001f600\ufe0f", "\x1b"])
def test_lines_of_any_length_are_drawn_where_they_matter(unit: str) -> None:
    text = unit * 200_000
    screen = Screen(40, False, lambda _: [text])
    start = time.process_time()
    for column in range(1, len(text), len(text) // 400):
        source, caret = spell_source(screen, FileRef("a", line=1, column=column), "").splitlines()
        assert count_columns(source) <= 40
        assert 9 <= caret.index("^") < 40
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("words", "environment"),
    [
        (["--color", "never"], {"CLICOLOR_FORCE": "1"}),
        ([], {"NO_COLOR": "1"}),
        ([], {"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}),
        ([], {"CLICOLOR": "0"}),
    ],
)
def test_without_colours_there_are_no_escapes(
    tmp_path: Path, look: Look, words: list[str], environment: dict[str, str]
) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    shown = look("validate", *words, "pod.yaml", **environment)
    assert "\x1b" not in shown
    assert "     6 | " in shown
    assert "     6 | " not in look("validate", "pod.yaml", TERM="dumb")


def test_a_pipe_gets_one_line_each(tmp_path: Path, krmfn: Call) -> None:
    (tmp_path / "pod.yaml").write_text(POD)
    done = krmfn("validate", "--color", "always", "pod.yaml", COLUMNS="40")
    assert "\x1b]8" not in done.out
    assert ESCAPES.sub("", done.out) == krmfn("validate", "pod.yaml").out
    assert " | " not in done.out
    assert krmfn("validate", "pod.yaml", CLICOLOR="0", CLICOLOR_FORCE="1", COLUMNS="40").out == done.out
    assert krmfn("validate", "pod.yaml", CLICOLOR="1", CLICOLOR_FORCE="0").out == ESCAPES.sub("", done.out)


@pytest.mark.slow
def test_trees_plans_and_differences_are_coloured(tmp_path: Path, look: Look, krmfn: Call) -> None:
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "new.yaml").write_text(JOB.replace("8", "9"))
    for words in (["tree", "job.yaml"], ["diff", "job.yaml", "new.yaml"], ["generate", "--check", "job.yaml"]):
        shown = look(*words)
        assert "\x1b[1m" in shown, words
        assert krmfn(*words).out in ESCAPES.sub("", shown)
    assert "\x1b[1;32m+" in look("generate", "--check", "job.yaml")
    assert "\x1b[1;31m8\x1b[0m -> \x1b[1;32m9\x1b[0m" in look("diff", "job.yaml", "new.yaml")
    (tmp_path / "job.yaml").write_text(
        JOB.replace("restartPolicy", "schedulingGroup: {podGroupName: b}\n      restartPolicy")
    )
    assert re.search(r"\x1b\[1;31m[^\x1b]*never start", look("tree", "--as-is", "job.yaml"))


def test_the_page_of_a_rule_is_set_for_a_terminal(look: Look) -> None:
    shown = look("rules", "deadline-counts-waiting")
    assert "\x1b[1mdeadline-counts-waiting\x1b[0m" in shown
    assert "\x1b[1;36mbad.yaml\x1b[0m\n\n    apiVersion: batch/v1\n" in shown
    assert "```" not in shown
    assert "#" not in ESCAPES.sub("", shown)
