"""The extension for Visual Studio Code: what its manifest says, and that the tool of the marketplace packs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT
from tests.e2e.tools import require

FOLDER = ROOT / "editors" / "vscode"


def test_the_settings_are_those_that_the_code_reads() -> None:
    manifest = json.loads((FOLDER / "package.json").read_text())
    code = (FOLDER / manifest["main"]).read_text()
    settings = manifest["contributes"]["configuration"]["properties"]
    assert all(f'settings.get("{name.removeprefix("krmfn.")}")' in code for name in settings)
    assert 'args: ["lsp"]' in code


@pytest.mark.slow
def test_it_can_be_packed(tmp_path: Path) -> None:
    require("npm", "apt-get install npm")
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    environment = {**os.environ, "npm_config_cache": str(tmp_path / "cache")}
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(["npm", "install", *quiet], cwd=folder, env=environment, check=True)
    subprocess.run(["npm", "install", "--no-save", *quiet, "@vscode/vsce@3"], cwd=folder, env=environment, check=True)
    words = [str(folder / "node_modules/.bin/vsce"), "package", "--allow-missing-repository", "--skip-license"]
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (packed,) = folder.glob("*.vsix")
    names = zipfile.ZipFile(packed).namelist()
    assert "extension/extension.js" in names
    assert any(name.startswith("extension/node_modules/vscode-languageclient/") for name in names)
