"""The line at the top of what `krmfn init` writes, as the YAML language server of other editors reads it.

The server is the real one, from npm, over stdio: the schema that it finds is the one beside the file, or none.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from krmfn.releases import schemastore
from tests.e2e.tools import CACHE, ROOT, require, run

SERVER = "yaml-language-server@2.0.0"
PLACE = CACHE / "npm" / SERVER
MODELINE = "# yaml-language-server: $schema=.krmfn.schema.json\n"
#: Mistakes, each by what is replaced, and what the server says of it.
MISTAKES = {
    ("select: OptIn", "selects: OptIn"): "Property selects is not allowed.",
    ("select: OptIn", "select: Nothing"): 'Value is not accepted. Valid values: "OptIn", "All".',
    ("kind: GangScheduling\n", "kind: GangSheduling\n"): 'Value is not accepted. Valid values: "GangScheduling".',
    ("kind: GangScheduling\n", ""): 'Missing property "kind".',
}


def require_server() -> str:
    """The path of the language server. Without it the test is skipped; in CI, npm installs it."""
    program = PLACE / "node_modules" / ".bin" / "yaml-language-server"
    words = [
        "npm",
        "install",
        "--prefix",
        str(PLACE),
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--silent",
        SERVER,
    ]
    if not program.exists():
        require("npm", "apt-get install npm")
        if os.environ.get("CI") != "true":
            pytest.skip(f"needs yaml-language-server: {' '.join(words)}")
        PLACE.mkdir(parents=True, exist_ok=True)
        subprocess.run(words, check=True)
    return str(program)


async def ask(program: str, path: Path, texts: list[str]) -> list[list[str]]:
    """What the server says of each text, as if it were typed into the file. It must not ask the network for schemas."""
    client = LanguageClient("editor", "1")
    said: dict[int | None, list[str]] = {}
    arrived = asyncio.Event()

    @client.feature(types.WORKSPACE_CONFIGURATION)  # type: ignore[untyped-decorator]
    def configure(params: types.ConfigurationParams) -> list[object]:
        settings = {"yaml": {"validate": True, "schemaStore": {"enable": False}}}
        return [settings.get(each.section or "") for each in params.items]

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
    def take(params: types.PublishDiagnosticsParams) -> None:
        said[params.version] = [str(each.message) for each in params.diagnostics]
        arrived.set()

    await client.start_io(program, "--stdio")
    able = types.ClientCapabilities(
        workspace=types.WorkspaceClientCapabilities(configuration=True),
        text_document=types.TextDocumentClientCapabilities(
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(version_support=True)
        ),
    )
    folders = [types.WorkspaceFolder(path.parent.parent.as_uri(), "w")]  # not the folder that the schema is in
    await client.initialize_async(types.InitializeParams(able, workspace_folders=folders))
    client.initialized(types.InitializedParams())
    answers = []
    for number, text in enumerate(texts):
        item = path.with_name(f"{number}.yaml")
        arrived.clear()
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(item.as_uri(), "yaml", 1, text))
        )
        await asyncio.wait_for(arrived.wait(), 60)
        answers.append(said.popitem()[1])
    await client.shutdown_async(None)
    client.exit(None)
    return answers


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """What `krmfn init` writes in a folder of a repository: the configuration."""
    folder = tmp_path / "prod"
    folder.mkdir()
    (folder / "job.yaml").write_bytes((ROOT / "examples" / "job" / "job.yaml").read_bytes())
    assert run("krmfn", "init", str(folder)).returncode == 0
    return folder / "krmfn.yaml"


@pytest.mark.slow
def test_the_language_server_of_others_finds_mistakes(written: Path) -> None:
    program, good = require_server(), written.read_text()
    wrong = [good.replace(*mistake) for mistake in MISTAKES]
    assert good not in wrong
    unnamed = wrong[0].removeprefix(MODELINE)  # so it is this line that leads to the schema
    assert unnamed != wrong[0]
    nothing, still_nothing, *told = asyncio.run(ask(program, written, [good, unnamed, *wrong]))
    assert (nothing, still_nothing) == ([], [])
    assert told == [[message] for message in MISTAKES.values()]


def test_the_schema_is_the_shipped_one_and_is_written_again(written: Path) -> None:
    schema = written.with_name(".krmfn.schema.json")
    assert json.loads(schema.read_text()) == schemastore.load("krmfn/v1alpha1/gangscheduling.json")
    schema.write_text("{}")  # that of an older krmfn
    again = run("krmfn", "init", str(written.parent))
    assert f"updated {schema}\n" in again.stderr
    assert json.loads(schema.read_text())["title"] == "GangScheduling"


def test_a_configuration_without_the_line_is_left_as_it_is(written: Path) -> None:
    text = written.read_text().removeprefix(MODELINE)
    written.write_text(text)
    written.with_name(".krmfn.schema.json").unlink()
    assert run("krmfn", "init", str(written.parent)).returncode == 0
    assert written.read_text() == text
    assert not written.with_name(".krmfn.schema.json").exists()
