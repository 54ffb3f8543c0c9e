"""A session of an editor with `krmfn lsp`: the client of pygls at the other end of a pipe."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tests.cli.conftest import ROOT
from tests.cli.test_explain import DEFINITION
from tests.workspace.repositories import JOB

GROUP = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: g
spec:
  # as Volcano calls it
  minMember: 4
  disruptionMode:
    all: {}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  schedulingGroup:
    podGroupName: g
  containers:
  - name: ä
    image: b
    imagePullPolicy: Never
"""


class Editor:
    """A client in a folder, with the diagnostics that it was sent."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.others = [each for each in folder.parent.iterdir() if each.name == "second"]
        self.client = LanguageClient("editor", "1")
        self.said: dict[str, list[types.Diagnostic]] = {}
        self.arrived = asyncio.Event()
        self.version = 1
        self.awaited: tuple[str, int | None] = ("", None)

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def take(params: types.PublishDiagnosticsParams) -> None:
            name = Path(unquote(urlparse(params.uri).path)).name
            self.said[name] = list(params.diagnostics)
            if (name, params.version) == self.awaited:
                self.arrived.set()

    async def start(self, options: dict[str, Any] | None = None) -> types.InitializeResult:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        await self.client.start_io(sys.executable, "-m", "krmfn", "lsp", env=environment)
        folders = [types.WorkspaceFolder(each.as_uri(), each.name) for each in (self.folder, *self.others)]
        done = await self.client.initialize_async(
            types.InitializeParams(
                types.ClientCapabilities(), workspace_folders=folders, initialization_options=options
            )
        )
        self.client.initialized(types.InitializedParams())
        return done

    def uri(self, name: str) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier((self.folder / name).as_uri())

    async def open(self, name: str, text: str | None = None) -> None:
        """Show a file, or a `text` that is not saved."""
        self.arrived.clear()
        self.awaited = (Path(name).name, 1)
        text = (self.folder / name).read_text() if text is None else text
        item = types.TextDocumentItem((self.folder / name).as_uri(), "yaml", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self.wait()

    async def type(self, name: str, text: str) -> float:
        """The whole text anew; the seconds until something is said."""
        self.arrived.clear()
        self.version += 1
        self.awaited = (Path(name).name, self.version)
        document = types.VersionedTextDocumentIdentifier(self.version, (self.folder / name).as_uri())
        change = types.TextDocumentContentChangeWholeDocument(text)
        began = time.monotonic()
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))
        await self.wait()
        return time.monotonic() - began

    async def wait(self) -> None:
        await asyncio.wait_for(self.arrived.wait(), 30)

    def rules(self, name: str) -> list[str]:
        return [str(each.code) for each in self.said.get(name, [])]

    async def hear(self, name: str, rule: str) -> None:
        """Wait until something is said of a file that is not shown."""
        while rule not in self.rules(name):
            await asyncio.sleep(0.05)

    async def stop(self) -> None:
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await self.client.stop()  # type: ignore[no-untyped-call]


def session(folder: Path, run: Callable[[Editor], Awaitable[None]], options: dict[str, Any] | None = None) -> None:
    async def whole() -> None:
        editor = Editor(folder)
        await editor.start(options)
        try:
            await run(editor)
        finally:
            await editor.stop()

    asyncio.run(whole())


def find(text: str, word: str) -> types.Position:
    line = next(number for number, each in enumerate(text.split("\n")) if word in each)
    return types.Position(line, text.split("\n")[line].index(word) + 1)


def test_findings_as_one_types(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    (tmp_path / "other.yaml").write_text(JOB)

    async def run(editor: Editor) -> None:
        await editor.open("group.yaml")
        assert "unknown-field" in editor.rules("group.yaml")
        (found,) = (each for each in editor.said["group.yaml"] if each.code == "unknown-field")
        assert found.range == types.Range(types.Position(6, 13), types.Position(6, 14))
        assert found.severity == types.DiagnosticSeverity.Error
        await editor.type("group.yaml", GROUP.replace("minMember: 4", "schedulingPolicy: {gang: {minCount: 4}}"))
        assert "unknown-field" not in editor.rules("group.yaml")
        await editor.type("group.yaml", GROUP.replace("spec:", "spec: ["))
        assert editor.rules("group.yaml") == ["unreadable"]
        assert (tmp_path / "group.yaml").read_text() == GROUP

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_a_fix_is_the_edit_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)

    async def run(editor: Editor) -> None:
        await editor.open("group.yaml")
        place = types.Range(find(GROUP, "minMember"), find(GROUP, "minMember"))
        params = types.CodeActionParams(editor.uri("group.yaml"), place, types.CodeActionContext([]))
        actions = await editor.client.text_document_code_action_async(params)
        (action,) = actions or []
        assert isinstance(action, types.CodeAction)
        assert action.title == "krmfn: Kubernetes 1.37 calls it schedulingPolicy.gang.minCount"
        assert action.edit
        assert action.edit.changes
        ((edit,),) = action.edit.changes.values()
        lines = GROUP.split("\n")
        start = sum(len(line) + 1 for line in lines[: edit.range.start.line]) + edit.range.start.character
        end = sum(len(line) + 1 for line in lines[: edit.range.end.line]) + edit.range.end.character
        edited = GROUP[:start] + edit.new_text + GROUP[end:]
        words = ["validate", "--kubernetes", "1.37", "--stage", "server", "--fix", str(tmp_path / "group.yaml")]
        subprocess.run([sys.executable, "-m", "krmfn", *words], cwd=ROOT, capture_output=True, check=False)
        assert edited == (tmp_path / "group.yaml").read_text() != GROUP

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_a_definition_of_the_folder_explains_its_objects(tmp_path: Path) -> None:
    text = "apiVersion: example.com/v1\nkind: Swarm\nmetadata: {name: a}\nspec:\n  size: 2\n"
    (tmp_path / "swarm.yaml").write_text(text)
    (tmp_path / "crd.yaml").write_text(DEFINITION)

    async def run(editor: Editor) -> None:
        await editor.open("swarm.yaml")
        place = types.HoverParams(editor.uri("swarm.yaml"), find(text, "size"))
        hover = await editor.client.text_document_hover_async(place)
        assert hover
        assert isinstance(hover.contents, types.MarkupContent)
        said = "`Swarm.spec.size`: int32, required, default 2, at least 1\n\nHow many.\nMore is better."
        assert hover.contents.value.startswith(said)

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_what_a_place_may_hold(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "job.yaml").write_text(JOB)

    async def complete(editor: Editor, name: str, place: types.Position) -> dict[str, str]:
        params = types.CompletionParams(editor.uri(name), place)
        found = await editor.client.text_document_completion_async(params)
        assert isinstance(found, list)
        return {each.label: each.detail or "" for each in found}

    async def run(editor: Editor) -> None:
        for name in ("group.yaml", "pod.yaml", "job.yaml"):
            await editor.open(name)
        hover = await editor.client.text_document_hover_async(
            types.HoverParams(editor.uri("group.yaml"), find(GROUP, "disruptionMode"))
        )
        assert hover
        assert isinstance(hover.contents, types.MarkupContent)
        assert "`PodGroup.spec.disruptionMode`: object" in hover.contents.value
        assert "* `single`: object" in hover.contents.value
        fields = await complete(editor, "group.yaml", find(GROUP, "minMember"))
        assert fields["schedulingPolicy"] == "object"
        assert "workloadRef" in fields
        values = await complete(editor, "pod.yaml", types.Position(6, 19))
        assert values == {"g": "group"}
        assert "PodGroup" in await complete(editor, "pod.yaml", types.Position(1, 7))
        text = POD.replace("  containers:", "  cont\n  containers:")
        await editor.type("pod.yaml", text)
        assert fields_have(await complete(editor, "pod.yaml", find(text, "  cont\n".strip())), "containers")
        text = JOB.replace("metadata:", "metadata:\n  annotations:\n    krmfn", 1)
        await editor.type("job.yaml", text)
        assert "krmfn.dev/min-count" in await complete(editor, "job.yaml", find(text, "    krmfn"))
        where = await editor.client.text_document_definition_async(
            types.DefinitionParams(editor.uri("pod.yaml"), types.Position(6, 20))
        )
        assert isinstance(where, list)
        assert [Path(each.uri).name for each in where if isinstance(each, types.Location)] == ["group.yaml"]

    session(tmp_path, run)


def fields_have(found: dict[str, str], name: str) -> bool:
    return name in found


@pytest.mark.slow
def test_texts_that_are_on_no_disk_and_files_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "first").mkdir()
    (tmp_path / "second").mkdir()
    (tmp_path / "out.yaml").write_text(GROUP)
    (tmp_path / "second/other.yaml").write_text(GROUP)

    async def run(editor: Editor) -> None:
        await editor.open("new.yaml", POD)
        await asyncio.wait_for(editor.hear("other.yaml", "unknown-field"), 30)  # in a second folder of the workspace
        await editor.open("../out.yaml")
        await editor.open("group.yaml", GROUP)
        for name in ("out.yaml", "group.yaml"):
            assert "unknown-field" in editor.rules(name)

    session(tmp_path / "first", run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_files_come_and_go(tmp_path: Path) -> None:
    (tmp_path / "group.yaml").write_text(GROUP)
    (tmp_path / "pod.yaml").write_text(POD)
    (tmp_path / "none.yaml").write_bytes(b"\x00\xff")

    async def run(editor: Editor) -> None:
        await editor.open("pod.yaml")
        await editor.open("group.yaml")
        assert "group-missing" not in editor.rules("pod.yaml")
        assert editor.rules("none.yaml") == ["skipped"]
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(editor.uri("group.yaml")))
        (tmp_path / "group.yaml").unlink()
        gone = types.FileEvent((tmp_path / "group.yaml").as_uri(), types.FileChangeType.Deleted)
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([gone]))
        await editor.type("pod.yaml", f"{POD}# more\n")
        assert "group-missing" in editor.rules("pod.yaml")
        assert editor.rules("group.yaml") == []

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_fix_in_other_lines_and_behind_other_characters(newline: str, tmp_path: Path) -> None:
    text = GROUP.replace("  name: g", '  name: g\n  annotations: {a: "\U0001f600\u2028", b: true}').replace(
        "\n", newline
    )

    async def run(editor: Editor) -> None:
        await editor.open("group.yaml", text)
        line = next(number for number, each in enumerate(text.split(newline)) if "b: true" in each)
        place = types.Range(types.Position(line, 0), types.Position(line, 1))
        params = types.CodeActionParams(editor.uri("group.yaml"), place, types.CodeActionContext([]))
        (action,) = await editor.client.text_document_code_action_async(params) or []
        assert isinstance(action, types.CodeAction)
        assert action.edit
        assert action.edit.changes
        ((edit,),) = action.edit.changes.values()
        units = text.split(newline)[line].encode("utf-16-le")
        first, last = 2 * edit.range.start.character, 2 * edit.range.end.character
        edited = units[:first].decode("utf-16-le") + edit.new_text + units[last:].decode("utf-16-le")
        assert edited.endswith('b: "true"}')
        hover = await editor.client.text_document_hover_async(
            types.HoverParams(editor.uri("group.yaml"), find(text, "disruptionMode"))
        )
        assert hover

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_a_lens_says_what_a_resource_becomes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB)

    async def run(editor: Editor) -> None:
        await editor.open("job.yaml")
        params = types.CodeLensParams(editor.uri("job.yaml"))
        (lens,) = await editor.client.text_document_code_lens_async(params) or []
        assert lens.command
        assert lens.command.title.endswith("pods, all or nothing")

    session(tmp_path, run)


@pytest.mark.slow
def test_a_keystroke_among_500_manifests(tmp_path: Path) -> None:
    for number in range(500):
        folder = tmp_path / f"app{number // 20}"
        folder.mkdir(exist_ok=True)
        (folder / f"job{number}.yaml").write_text(JOB.replace("name: train", f"name: train-{number}"))
        if number % 40 == 0:
            names = "".join(f"- job{each}.yaml\n" for each in range(number, number + 20))
            (folder / "kustomization.yaml").write_text(f"resources:\n{names}")

    async def run(editor: Editor) -> None:
        text = JOB.replace("name: train", "name: train-3")
        for name in ("app0/job3.yaml", "app1/job23.yaml"):
            await editor.open(name)
            text = (tmp_path / name).read_text()
            times = [await editor.type(name, f"{text}# {number}\n") for number in range(5)]
            assert min(times) < 0.5, "100 ms on an idle machine"

    session(tmp_path, run)


@pytest.mark.slow
def test_a_configuration_that_is_wrong_is_told(tmp_path: Path) -> None:
    (tmp_path / "krmfn.yaml").write_text("apiVersion: krmfn.dev/v1alpha1\nkind: GangScheduling\nspec: {selekt: All}\n")
    (tmp_path / "job.yaml").write_text(JOB)

    async def run(editor: Editor) -> None:
        shown: list[str] = []

        @editor.client.feature(types.WINDOW_SHOW_MESSAGE)  # type: ignore[untyped-decorator]
        def take(params: types.ShowMessageParams) -> None:
            shown.append(params.message)
            editor.arrived.set()

        await editor.open("job.yaml")
        assert "selekt" in shown[0]

    session(tmp_path, run)


def test_without_the_package_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "lsprotocol.py").write_text("raise ModuleNotFoundError('no', name='pygls')\n")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    words = [sys.executable, "-m", "krmfn", "lsp"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "krmfn: krmfn lsp needs the package pygls: pip install 'krmfn[lsp]'\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a b.yaml", "ü.yaml"])
def test_names_of_files(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(GROUP)

    async def run(editor: Editor) -> None:
        await editor.open(name)
        assert "unknown-field" in editor.rules(name)

    session(tmp_path, run, {"kubernetes": "1.37"})


@pytest.mark.slow
def test_an_editor_that_says_exit_ends_the_server(tmp_path: Path) -> None:
    start = {"id": 1, "method": "initialize", "params": {"capabilities": {}, "processId": None, "rootUri": None}}
    texts = [
        json.dumps({"jsonrpc": "2.0", **each}) for each in (start, {"id": 2, "method": "shutdown"}, {"method": "exit"})
    ]
    said = "".join(f"Content-Length: {len(text)}\r\n\r\n{text}" for text in texts)
    words, environment = [sys.executable, "-m", "krmfn", "lsp"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, input=said.encode(), capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b'"id": 2, "jsonrpc": "2.0", "result": null' in done.stdout


def test_an_editor_may_give_the_version_as_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    from krmfn.cli.lsp import server

    begun: list[str] = []
    monkeypatch.setattr(server.server, "begin", lambda _, kubernetes: begun.append(kubernetes))
    for options in ({"kubernetes": 1.37}, {"kubernetes": "1.37"}, {}, None):
        server.begin(types.InitializeParams(types.ClientCapabilities(), initialization_options=options))
    assert begun == ["1.37", "1.37", "", ""]
