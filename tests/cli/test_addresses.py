"""No address that nobody here owns: links lead to the site that the metadata names, and nowhere without one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from krmfn.cli import COMMANDS
from krmfn.krm.results import FileRef, Result
from krmfn.reports import FORMATS, render
from krmfn.reports.report import Screen, find_page, find_site
from tests.front_door import call

ROOT = Path(__file__).parents[2]
FOREIGN = ":" + "//krmfn.dev"  # only the API group has this name
#: Hidden folders of the repository; the others are caches, environments and the store of git.
KEPT = (".github", ".devcontainer")
FOUND = [Result("wrong", "error", file=FileRef("a.yaml", line=1, column=1), tags={"rule": "minimum"})]
SCREEN = Screen(80, True, lambda _: ())


@pytest.fixture
def forget() -> Iterator[None]:
    find_site.cache_clear()
    yield
    find_site.cache_clear()


def test_no_file_has_one() -> None:
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name in KEPT or not name.startswith((".", "__"))]
        paths = (Path(folder, name) for name in files)
        found += [path for path in paths if path.is_file() and FOREIGN.encode() in path.read_bytes()]
    assert found == []


CALLS = [["--help"], ["rules"], ["rules", "minimum"], *([name, "--help"] for name in COMMANDS)]


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_no_command_prints_one(words: list[str], tmp_path: Path) -> None:
    done = call(b"", words, tmp_path)
    assert done.out
    assert FOREIGN.encode() not in done.out + done.err


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("site", ["", "https://docs.example.com/krmfn/"])
def test_links_lead_to_the_site_of_the_release(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Project-URL: Documentation, https://…`, as a wheel has it from [project.urls] of pyproject.toml."""
    told = Message()
    told["Project-URL"] = "Source, https://example.com/source"
    if site:
        told["Project-URL"] = f"Documentation, {site}"
    monkeypatch.setattr(metadata, "metadata", lambda _: told)
    page = "https://docs.example.com/krmfn/rules/minimum/" if site else ""
    assert find_page("minimum") == page
    shown = render(FOUND, color=True, screen=SCREEN)
    assert (f"\x1b]8;;{page}\x1b\\" in shown) if site else ("\x1b]8;;" not in shown)
    assert ("helpUri" in render(FOUND, "sarif")) == bool(site)
    assert not any(FOREIGN in render(FOUND, form) for form in FORMATS)


@pytest.mark.usefixtures("forget")
def test_without_metadata_there_is_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    def miss(_: str) -> Message:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "metadata", miss)
    assert find_page("minimum") == ""
