"""Commands that tell of krmfn itself and of what it knows (rules, schema, version, help, completion), and those that
serve its commands to editors (lsp) and to coding agents (mcp)."""

from __future__ import annotations

from collections.abc import Iterable

from krmfn import __version__
from krmfn.cli import COMMANDS, Options, Words, streams
from krmfn.cli.findings import is_colored
from krmfn.cli.options import UsageError, read_release, split_list
from krmfn.config.problems import ask_about, suggest
from krmfn.model.findings import STAGES
from krmfn.model.rules import RULES, tell_retired
from krmfn.releases import schemastore
from krmfn.releases.release import list_releases, newest_release
from krmfn.reports import channels
from krmfn.reports.pages import read_page

SHELLS = ("bash", "zsh", "fish")


def print_rules(words: Words, options: Options) -> int:
    """The catalogue, or the page of one rule. Raises UsageError for an unknown id."""
    if words:
        rule = RULES.get(words[0])
        if rule is None:
            hint = tell_retired(words[0]) or ask_about(words[0], RULES) or "krmfn rules lists them"
            raise UsageError(f"there is no rule {words[0]!r}. {hint}")
        page = read_page(rule.id)
        streams.write(page.paint() if is_colored({}) else page.text)
        return 0
    stages = split_list(options["stage"]) or STAGES
    rows = [rule for rule in RULES.values() if rule.stage in stages]
    width = max((len(rule.id) for rule in rows), default=0)
    for rule in sorted(rows, key=lambda rule: (STAGES.index(rule.stage), rule.id)):
        streams.write(f"{rule.stage:9} {rule.severity:7} {rule.id:{width}}  {rule.sentence}\n")
    return 0


def list_schemas() -> Iterable[str]:
    return _list_paths(newest_release().name)


def print_schema(words: Words, options: Options) -> int:
    """A published JSON Schema. Raises UsageError for a kind that has none."""
    release = read_release(options)
    found = _list_paths(release.name)
    path = found.get(words[0].lower())
    if path is None:
        hint = ask_about(words[0], found) or f"There are {', '.join(found)}."
        raise UsageError(f"{words[0]}: no schema of that kind for Kubernetes {release}. {hint}")
    streams.write_bytes(channels.json(schemastore.load(path)).encode())
    return 0


def _list_paths(release: str) -> dict[str, str]:
    """Lower-case kind to path: those of the release, and those of others; `podgroup.volcano` where both have one. Some
    files are tables, and `meta` holds types that kinds share."""
    own = f"kubernetes/{release}/"
    found: dict[str, str] = {}
    for path in sorted(schemastore.list_paths(), key=lambda path: not path.startswith(own)):
        is_own = path.startswith(own) and path != f"{own}meta.json"
        if is_own or (not path.startswith("kubernetes/") and "$schema" in schemastore.load(path)):
            kind = path.rpartition("/")[2].removesuffix(".json")
            found[f"{kind}.{path.partition('/')[0]}" if kind in found else kind] = path
    return dict(sorted(found.items()))


def print_version(words: Words, options: Options) -> int:
    """Which krmfn this is, and which releases of Kubernetes it knows."""
    streams.write(f"krmfn {__version__} (Kubernetes {', '.join(list_releases())})\n")
    return 0


def list_commands() -> Iterable[str]:
    return COMMANDS


def print_help(words: Words, options: Options) -> int:
    """The help of the command line, or of a command."""
    from krmfn.cli.app import main

    return main([*words, "--help"])


def print_completion(words: Words, options: Options) -> int:
    """The script of click with which a shell completes commands and options. Raises UsageError."""
    from click.shell_completion import get_completion_class

    from krmfn.cli.app import application

    made = get_completion_class(words[0]) if words[0] in SHELLS else None
    if made is None:
        raise UsageError(f"no completion for {words[0]}. {suggest(words[0], SHELLS)}")
    # The script asks this version of bash or zsh nothing: it is printed on machines that have none.
    completion = made(application(), {}, "krmfn", "_KRMFN_COMPLETE")
    streams.write(completion.source_template % completion.source_vars() + "\n")
    return 0


def serve_editor(words: Words, options: Options) -> int:
    """Findings, explanations and edits over the Language Server Protocol, until the editor ends. Raises UsageError
    where the package of the protocol is missing."""
    try:
        from krmfn.cli.lsp.server import server
    except ModuleNotFoundError as missing:
        raise UsageError(f"krmfn lsp needs the package {missing.name}: pip install 'krmfn[lsp]'") from None
    server.start_io()
    streams.give_up()  # stdout is closed if the editor said exit
    return 0


def serve_agents(words: Words, options: Options) -> int:
    """The commands as tools for coding agents, until stdin ends. Raises UsageError as serve_editor."""
    try:
        from krmfn.mcp import server
    except ModuleNotFoundError as missing:
        raise UsageError(f"krmfn mcp needs the package {missing.name}: pip install 'krmfn[mcp]'") from None
    server.run("stdio")
    return 0
