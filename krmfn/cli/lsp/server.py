"""The server of an editor: from the protocol to the checker and back. Knows nothing of what is found."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from krmfn.cli.lsp.checking import Checker, Found
from krmfn.cli.lsp.context import Context, find_context
from krmfn.cli.lsp.words import explain, list_words
from krmfn.cli.options import UsageError
from krmfn.config import ConfigError
from krmfn.krm.results import Edit, FileRef, Result
from krmfn.model.values import as_mapping
from krmfn.releases.release import Release, find_release, newest_release
from krmfn.workspace.trees import InputMissing

#: How long nobody may have typed before the worlds of a file are judged again.
_SECONDS = 0.02
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


class Server(LanguageServer):
    """A language server with the state of its folder."""

    def __init__(self) -> None:
        super().__init__("krmfn", "1")
        self.checker = Checker({})
        self.release: Release = newest_release()
        #: What the editor shows, by file.
        self.shown: Found = {}
        self.changes = 0

    def begin(self, roots: Sequence[str], kubernetes: str) -> None:
        """Work in folders, for a version of Kubernetes (empty: the configuration's)."""
        folders = [root for root in roots if os.path.isdir(root)] or [os.curdir]
        os.chdir(folders[0])
        self.release = find_release(kubernetes) if kubernetes else newest_release()
        self.checker = Checker({"kubernetes": kubernetes} if kubernetes else {}, [*map(os.path.relpath, folders)])

    def take(self, uri: str) -> str:
        """Read the editor's text of a file from now on; its path from the folder."""
        real = _to_path(uri)
        self.checker.unsaved[real] = self.workspace.get_text_document(uri).source.encode()
        return os.path.relpath(real)

    def check(self, path: str = "") -> None:
        """Judge what a file is in, or everything, and show it."""
        try:
            if path:
                self.checker.check_around(path)
            else:
                self.checker.check_all()
        except (ConfigError, UsageError, InputMissing) as error:  # something is wrong with the configuration
            self.window_show_message(types.ShowMessageParams(types.MessageType.Error, f"krmfn: {error}"))
            return
        found = {**({path: []} if path else {}), **self.checker.list_results()}
        for each in self.shown.keys() | found.keys():
            if each == path or self.shown.get(each) != found.get(each):
                self._publish(each, found.get(each, []))
        self.shown = found

    def find(self, uri: str, place: types.Position) -> Context:
        """What is at a place of a text."""
        return find_context(self.workspace.get_text_document(uri).source, place.line, place.character)

    def _publish(self, path: str, results: Iterable[Result]) -> None:
        if not path:
            return
        uri = _to_uri(path)
        document = self.workspace.get_text_document(uri)
        try:
            lines = document.source.split("\n")
        except (OSError, UnicodeError):  # it is gone, or no text
            lines = []
        shown = [_to_diagnostic(result, lines) for result in results]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, shown, document.version))


server = Server()


@server.feature(types.INITIALIZE)
def begin(params: types.InitializeParams) -> None:
    """The folder that is open in the editor, and what its settings say."""
    uris = [each.uri for each in params.workspace_folders or []] or [params.root_uri or ""]
    options = as_mapping(params.initialization_options)
    server.begin([_to_path(uri) for uri in uris if uri], str(options.get("kubernetes", "")))  # 1.37 is a number


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def open_text(params: types.DidOpenTextDocumentParams) -> None:
    """A file is shown: the first one lets everything be checked."""
    server.check(server.take(params.text_document.uri))


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
async def change(params: types.DidChangeTextDocumentParams) -> None:
    """Somebody types: what the file is in is judged again when there is a moment."""
    server.changes += 1
    mine = server.changes
    path = server.take(params.text_document.uri)
    await asyncio.sleep(_SECONDS)
    if mine == server.changes:
        server.check(path)


@server.feature(types.INITIALIZED)
async def watch(_: types.InitializedParams) -> None:
    """Ask the editor for news of files that are changed, renamed or deleted elsewhere."""
    capabilities = server.client_capabilities.workspace
    if capabilities and (watching := capabilities.did_change_watched_files) and watching.dynamic_registration:
        watchers = [types.FileSystemWatcher("**/*.{yaml,yml,json}"), types.FileSystemWatcher("**/Kustomization")]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        registration = types.Registration("files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await server.client_register_capability_async(types.RegistrationParams([registration]))


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
@server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
def save(_: types.DidSaveTextDocumentParams | types.DidChangeWatchedFilesParams) -> None:
    """A file is saved, or changed elsewhere: others may build on it."""
    server.check()


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def close(params: types.DidCloseTextDocumentParams) -> None:
    """A file is closed: the disk counts again."""
    server.checker.unsaved.pop(_to_path(params.text_document.uri), None)
    server.check()


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover | None:
    """What the field below the cursor may be."""
    text = explain(server.find(params.text_document.uri, params.position), server.release, server.checker.definitions)
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


@server.feature(types.TEXT_DOCUMENT_COMPLETION)
def complete(params: types.CompletionParams) -> list[types.CompletionItem]:
    """The fields, values, kinds, groups and annotations that fit."""
    context = server.find(params.text_document.uri, params.position)
    groups = {name for each in server.checker.checked for name in each.groups}
    return [
        types.CompletionItem(
            word.text,
            kind=types.CompletionItemKind.Field if word.is_field else types.CompletionItemKind.Value,
            detail=word.detail,
            insert_text=f"{word.text}: " if word.is_field and not context.key else word.text,
        )
        for word in list_words(context, server.release, server.checker.definitions, groups)
    ]


@server.feature(types.TEXT_DOCUMENT_CODE_ACTION)
def act(params: types.CodeActionParams) -> list[types.CodeAction]:
    """The edits of the findings below the cursor."""
    uri = params.text_document.uri
    lines = server.workspace.get_text_document(uri).source.split("\n")
    actions: dict[Edit, list[str]] = {}
    for result in server.checker.list_results().get(os.path.relpath(_to_path(uri)), []):
        place = _to_diagnostic(result, lines).range
        if result.edit and params.range.start.line <= place.end.line and place.start.line <= params.range.end.line:
            actions.setdefault(result.edit, []).append(result.tags.get("hint") or result.message)
    return [
        types.CodeAction(
            f"krmfn: {hints[0].rstrip('.')}",
            kind=types.CodeActionKind.QuickFix,
            edit=types.WorkspaceEdit({uri: [types.TextEdit(_to_range(edit, lines), edit.text)]}),
        )
        for edit, hints in actions.items()
    ]


@server.feature(types.TEXT_DOCUMENT_CODE_LENS)
def list_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
    """What the resources of a file become."""
    path = os.path.relpath(_to_path(params.text_document.uri))
    lenses = {each for checked in server.checker.checked for each in checked.lenses if each[0].path == path}
    ordered = sorted(lenses, key=lambda each: each[0].line)
    return [types.CodeLens(_to_point(place), command=types.Command(title, "")) for place, title in ordered]


@server.feature(types.TEXT_DOCUMENT_DEFINITION)
def define(params: types.DefinitionParams) -> list[types.Location]:
    """The group that a link names."""
    name = server.find(params.text_document.uri, params.position).value
    places = {each.groups[name] for each in server.checker.checked if name in each.groups}
    return [types.Location(_to_uri(place.path), _to_point(place)) for place in places]


def _to_diagnostic(result: Result, lines: list[str]) -> types.Diagnostic:
    place = result.file or FileRef("")
    line, column = max(place.line - 1, 0), max(place.column - 1, 0)
    text = lines[line] if line < len(lines) else ""
    end = len(text.split(" #")[0].rstrip())
    rule, hint = result.tags.get("rule", ""), result.tags.get("hint", "")
    return types.Diagnostic(
        types.Range(_to_position(text, line, column), _to_position(text, line, max(end, column + 1))),
        "\n".join(filter(None, [result.message, hint])),
        severity=_SEVERITIES[result.severity],
        code=rule,
        source="krmfn",
    )


def _to_range(edit: Edit, lines: list[str]) -> types.Range:
    start, end = edit.line - 1, edit.end_line - 1
    texts = [lines[number] if number < len(lines) else "" for number in (start, end)]
    first, last = _to_position(texts[0], start, edit.column - 1), _to_position(texts[1], end, edit.end_column - 1)
    return types.Range(first, last)


def _to_point(place: FileRef) -> types.Range:
    position = types.Position(max(place.line - 1, 0), 0)
    return types.Range(position, position)


def _to_position(text: str, line: int, column: int) -> types.Position:
    """A place as the protocol counts: in code units of UTF-16."""
    return types.Position(line, len(text[:column].encode("utf-16-le")) // 2 + max(column - len(text), 0))


def _to_path(uri: str) -> str:
    return os.path.realpath(unquote(urlparse(uri).path))


def _to_uri(path: str) -> str:
    from pathlib import Path

    return Path(path).absolute().as_uri()
