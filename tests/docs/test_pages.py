"""Every page: its files are the examples' files, its console sessions print what it says, its links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import Step, matches, read_page, read_steps
from tests.docs.sessions import ROOT, Outcome, run_commands, run_page, source

#: The rules are made from their rows; the page of the function SDK is run by tests/krm.
PAGES = sorted(
    path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "rules" and path.name != "krm-sdk.md"
)
READMES = sorted((ROOT / "examples").glob("*/README.md"))
HOW_TO_INSTALL = {
    "kustomize": "./dev setup builds it into the cache",
    "kpt": "https://kpt.dev/installation/",
    "kubectl": "https://kubernetes.io/docs/tasks/tools/",
    "pre-commit": "pip install pre-commit",
    "git": "apt-get install git",
    "jq": "apt-get install jq",
}
#: No package manager has them, so that CI may be without.
UNPACKAGED = {"kpt", "kubectl"}
CONFIG_LANGUAGES = {"yaml", "json", "lua", "dockerfile", "python", "toml"}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", PAGES + READMES, ids=name)
def test_files_on_the_page_are_files_of_the_repository(path: Path) -> None:
    page = read_page(path)
    for block in page.blocks:
        if block.language not in CONFIG_LANGUAGES and not block.title:
            continue
        assert block.title, f"{name(path)}:{block.line}: a file without a title is tested by nobody"
        file = source(path, page, block)
        assert file.is_file(), f"{name(path)}:{block.line}: there is no {file}"
        assert block.text == file.read_text(), f"{name(path)}:{block.line} differs from {name(file)}"


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_what_is_not_published_is_not_promised(path: Path) -> None:
    """Until 0.1.0 is: a page with a version to install, or an image, says what to do meanwhile."""
    text = path.read_text()
    if re.search(r"pip install krmfn|krmfn==|krmfn/krmfn:|rev: v", text):
        assert re.search(r"not published yet|[Uu]ntil version 0.1.0 is published", text)


@pytest.mark.parametrize("path", [path for path in PAGES if "```console" in path.read_text()], ids=name)
def test_the_page_names_the_folder_of_its_sessions(path: Path) -> None:
    """A reader who types the commands in another folder has none of the files."""
    page = read_page(path)
    shown = re.sub(r"<!--.*?-->|^ *```.*?^ *```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert not page.start.startswith("examples/") or page.start in shown


@pytest.mark.parametrize("path", [path for path in PAGES + READMES if "```console" in path.read_text()], ids=name)
def test_sessions_print_what_the_page_says(path: Path, tmp_path: Path) -> None:
    page = read_page(path)
    for program in page.needs:
        if not shutil.which(program):
            assert not os.environ.get("CI") or program in UNPACKAGED, f"no {program}: {HOW_TO_INSTALL[program]}"
            pytest.skip(f"{program} is missing: {HOW_TO_INSTALL[program]}")
    problems = "\n".join(compare(run_page(path, page, tmp_path)))
    assert not problems, f"{name(path)}: {problems}"


def compare(runs: list[tuple[Step, Outcome]]) -> Iterator[str]:
    """What is wrong: other output than shown, or a failure that the page does not show with `echo $?`."""
    for number, (step, outcome) in enumerate(runs):
        if not matches(step.output, outcome.output):
            yield f"line {step.line}: {step.command}\n--- shown\n{step.output}--- printed\n{outcome.output}"
        shown = number + 1 < len(runs) and runs[number + 1][0].command == "echo $?"
        if outcome.status and not shown:
            yield f"line {step.line}: {step.command}: exit status {outcome.status}, printed:\n{outcome.output}"


def test_the_reader_of_pages_sees_files_sessions_and_languages(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(
        "<!-- sessions start in: examples/x, needs: git, kpt -->\n"
        '1. a\n\n    ```yaml title="a/b.yaml"\n    a:\n      b: 1\n    ```\n\n'
        "```console\n$ echo a \\\n>   b\na b\n$ true\n```\n```\nx\n```\n"
    )
    page = read_page(path)
    assert page.start == "examples/x"
    assert page.needs == ("git", "kpt")
    assert [block[:3] for block in page.blocks] == [
        ("yaml", "a/b.yaml", "a:\n  b: 1\n"),
        ("console", "", "$ echo a \\\n>   b\na b\n$ true\n"),
        ("", "", "x\n"),
    ]
    assert read_steps(page.blocks[1]) == [Step("echo a \\\n  b", "a b\n", 10, 12), Step("true", "", 13, 14)]


def test_a_session_that_differs_or_fails_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    steps = [Step("x=1; echo $x", "1\n", 1), Step("echo $x", "2\n", 2), Step("false", "", 3), Step("printf a", "a", 4)]
    problems = list(compare(run(steps, folder)))
    assert len(problems) == 2
    assert "line 2: echo $x" in problems[0]
    assert "line 3: false: exit status 1" in problems[1]
    shown = [Step("false", "", 1), Step("echo $?", "1\n", 2)]
    assert not list(compare(run(shown, folder)))


def run(steps: list[Step], folder: Path) -> list[tuple[Step, Outcome]]:
    return list(zip(steps, run_commands([step.command for step in steps], folder), strict=True))


def test_dots_stand_for_any_text() -> None:
    assert matches("a ... c\n...\nd\n", "a b c\nx\ny\nd\n")
    assert matches("a\n...\n", "a\n")
    assert not matches("a ... c\n", "a b\nc\n")
    assert not matches("a\n", "a\nb\n")
