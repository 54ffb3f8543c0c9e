"""The arguments and options of commands, which are data (schemas/commands.json), read from a command line. Imports
neither click nor what commands do: both take time that most runs do not need."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from krmfn.cli import Options, Run, Words
from krmfn.model.values import Names
from krmfn.releases import schemastore
from krmfn.releases.release import Release, find_release, newest_release

#: The environment variable with the folder of the cache, for commands without --cache.
VARIABLE = "KRMFN_CACHE"


class Option(NamedTuple):
    """An option. A `flag` takes no value; `choices` limit it; `joined` values are a comma-separated list; one that may
    be given `several` times has a tuple of values."""

    names: Names
    help: str
    default: Any = None
    choices: Names = ()
    flag: bool = False
    joined: bool = False
    metavar: str = "TEXT"
    several: bool = False

    @property
    def key(self) -> str:
        """The name under which run() gets the value: the last spelling, `--feature-gates` as `feature_gates`."""
        return self.names[-1].lstrip("-").replace("-", "_")


class Argument(NamedTuple):
    """The positional part of a command line: between `least` and `most` words (None: no upper bound)."""

    metavar: str
    help: str
    least: int = 1
    most: int | None = None
    default: str = ""  # what no word means


class UsageError(Exception):
    """A command line with a mistake. The message says which part is wrong, and what would be accepted."""


class CommandRow(NamedTuple):
    """A command as schemas/commands.json describes it. `run` names the module of this package, and the function in it,
    that runs it; `words`, if not empty, those that list the arguments which a shell completes."""

    summary: str
    argument: Argument
    options: tuple[Option, ...]
    examples: str
    run: str
    words: str


@cache
def read_command(name: str) -> CommandRow:
    """The command of that name."""
    table = schemastore.load("commands.json")
    row = table["commands"][name]
    argument = row.get("argument", {"metavar": "", "help": "", "least": 0, "most": 0})
    options = (table["options"][each] if isinstance(each, str) else each for each in row.get("options", ()))
    examples = "".join(f"{line}\n" for line in row.get("examples", ())).replace("{newest}", str(newest_release()))
    return CommandRow(
        row["summary"],
        Argument(**(table["paths"] if argument == "paths" else argument)),
        tuple(map(_read_option, options)),
        examples,
        row.get("run", f"{name}.run"),
        row.get("words", ""),
    )


def _read_option(row: Mapping[str, Any]) -> Option:
    default = False if row.get("flag") else () if row.get("several") else row.get("default")
    return Option(**{**row, "names": tuple(row["names"]), "choices": tuple(row.get("choices", ())), "default": default})


def read_release(options: Options) -> Release:
    """The release of --kubernetes, or the newest one. Raises UnknownRelease."""
    return find_release(options["kubernetes"]) if options["kubernetes"] else newest_release()


def spell_command(command: str, words: Iterable[str]) -> str:
    """A command line that can be copied into a shell."""
    import shlex

    return " ".join([command, *map(shlex.quote, words)])


def split_list(text: str | None) -> list[str]:
    """The words of an option that takes several, separated by commas."""
    return [word for word in (text or "").split(",") if word]


def parse(command: CommandRow, words: Words) -> tuple[list[str], dict[str, Any]] | None:
    """The positional words of an ordinary command line and the values by Option.key, read without click: click alone
    takes 38 ms, a third of `validate` of one object. Only what cannot be misread: whole option names, values where
    they are due. None for everything else (help, an abbreviation, a mistake), which click knows how to explain."""
    argument = command.argument
    by_name = {name: option for option in command.options for name in option.names}
    values = {option.key: option.default for option in command.options}
    paths = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            paths.append(word)
            continue
        name, equals, value = word.partition("=")
        option = by_name.get(name)
        if option is None or (option.flag and equals) or (equals and not name.startswith("--")):
            return None
        if option.flag:
            values[option.key] = True
            continue
        if not equals:
            value = next(rest, "")
        if not value or value.startswith("-") or not _is_choice(option, value):
            return None
        values[option.key] = (*values[option.key], value) if option.several else value
    if len(paths) < argument.least or (argument.most is not None and len(paths) > argument.most):
        return None
    if paths.count("-") > 1:  # stdin can be read once
        return None
    if not paths and argument.default:
        paths.append(argument.default)
    return paths, values


def _is_choice(option: Option, value: str) -> bool:
    words = value.split(",") if option.joined else [value]
    return not option.choices or all(word in option.choices for word in words)


def begin(command: Run, words: Words, options: Options) -> int:
    """Run a command with its words and options, or repeat what it said if that is in the cache: the exit code."""
    if "cache" in options and (folder := options["cache"] or os.environ.get(VARIABLE)):
        from krmfn.cli.caching import repeat

        return repeat(command, words, {**options, "cache": folder})
    return command(words, options)
