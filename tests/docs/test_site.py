"""The site builds without a warning, and the pages that are made from the code are up to date."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from krmfn.config import read_settings
from playground.build import render_index

ROOT = Path(__file__).parents[2]


def test_generated_pages_are_up_to_date() -> None:
    """When this fails: `python docs/generate.py`."""
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_the_example_of_the_configuration_can_be_read() -> None:
    value = yaml.safe_load((ROOT / "examples" / "configuration" / "krmfn.yaml").read_text())
    settings = read_settings(value)
    assert settings.release.name == "1.37"
    assert settings.overrides


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    """Broken links and missing anchors are warnings; a broken link really fails."""
    if not importlib.util.find_spec("zensical"):
        assert not os.environ.get("CI"), "zensical is missing: pip install '.[docs]'"
        pytest.skip("zensical is missing: pip install '.[docs]'")
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    done = build(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in ("index.html", "tutorial/index.html", "reference/configuration/index.html", "rules/index.html"):
        assert (tmp_path / "site/docs" / page).is_file()
    (tmp_path / "docs" / "tutorial.md").write_text("[nowhere](nowhere.md)")
    assert build(tmp_path).returncode != 0


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_programs_find_every_page() -> None:
    text = render_index()
    found = re.findall(r"^\* \[.+?\]\(docs/(.*?)/?\): (.+)$", text, re.MULTILINE)
    found_pages = (path for path in (ROOT / "docs").rglob("*.md") if path.name[0] != "_")
    pages = {str(path.relative_to(ROOT / "docs")) for path in found_pages}
    listed = {f"{path}.md" if f"{path}.md" in pages else f"{path}/index.md".lstrip("/") for path, _ in found}
    assert listed <= pages
    assert {page for page in pages if page.startswith(("how-to/", "reference/"))} <= listed
    assert all(len(summary) > 20 for _, summary in found)
