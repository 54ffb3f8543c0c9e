"""The click commands, built from each command module's tables: help, errors with suggestions, shell completion.

The only module that cannot be imported without click. Must not know what a command does.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from textwrap import indent
from typing import Any

import click

from krmfn import __version__
from krmfn.cli import COMMANDS, Words, streams
from krmfn.cli.options import Option, begin, read_command
from krmfn.config.problems import ask_about
from krmfn.model.wording import find_nearest
from krmfn.releases.release import list_releases

HELP = """Gang scheduling for Git: writes the Workload, PodGroup and CompositePodGroup objects that let a group of pods
start all or nothing, links the pod templates to them, and checks them as the API server and the scheduler would.

A resource opts in with the annotation krmfn.dev/gang: "true". krmfn help COMMAND shows the options of a command and
examples, krmfn rules ID the page of a rule.

Without arguments and with a ResourceList on stdin it is a KRM function, as kustomize and kpt call it.
"""


class Interrupted(Exception):
    """Somebody pressed Ctrl-C while a command was at work."""


class Commands(click.Group):
    """A group whose commands are imported when they are named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a module in this package, None for an option behind `--`."""
        return build(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Names the nearest command when there is no such one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = _SYNONYMS.get(args[0]) or ask_about(args[0], COMMANDS) or f"The commands are {', '.join(COMMANDS)}."
            ctx.fail(f"No such command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


#: What other tools call something that has another name here.
_SYNONYMS = {
    "check": "Did you mean validate, or generate --check?",
    "lint": "Did you mean validate?",
    "plan": "Did you mean diff?",
}


class Choice(click.Choice):  # type: ignore[type-arg]  # not generic before click 8.2
    """One of `choices`; or, `joined`, several separated by commas, which stay a string."""

    def __init__(self, choices: Sequence[str], joined: bool) -> None:
        super().__init__(choices)
        self.joined = joined

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuses a word that is not among them."""
        for word in str(value).split(",") if self.joined else [str(value)]:
            if word not in self.choices:
                message = f"{word!r} is not one of {', '.join(self.choices)}. {ask_about(word, self.choices)}"
                self.fail(message.rstrip(), param, ctx)
        return str(value)


class Command(click.Command):
    """A command whose help ends with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they are: a line that is wrapped cannot be copied."""
        if self.epilog:
            with formatter.section("Examples"):
                formatter.write(indent(self.epilog, "  "))


def build(name: str) -> click.Command:
    """The click command of that name."""
    said = read_command(name)
    arguments, run = said.argument, _find(said.run)

    def call(**values: Any) -> int:
        given = values.pop("words", ())  # one text where the command takes exactly one
        words = [given] if isinstance(given, str) else [word for word in given or () if word]
        if not words and arguments.default:
            words = [arguments.default]
        if len(words) < arguments.least:
            raise click.UsageError(f"Missing argument {arguments.metavar}: {arguments.help}")
        if arguments.most is not None and len(words) > arguments.most:
            raise click.UsageError(f"Unexpected argument {words[arguments.most]!r}.")
        several = [word for value in values.values() if isinstance(value, tuple) for word in value]
        if [*words, *values.values(), *several].count("-") > 1:
            raise click.UsageError("Stdin can be read only once, but - is given twice.")
        try:
            return begin(run, words, values)
        except KeyboardInterrupt:  # click would print an empty line
            raise Interrupted from None

    parameters: list[click.Parameter] = []
    if arguments.most != 0:
        count = arguments.least if arguments.most == arguments.least else -1
        kind = click.Path() if "PATH" in arguments.metavar or "DIR" in arguments.metavar else click.STRING
        offer = _offer(_find(said.words)) if said.words else None
        parameters.append(
            click.Argument(
                ["words"], nargs=count, required=False, metavar=arguments.metavar, type=kind, shell_complete=offer
            )
        )
    parameters += [_option(option) for option in said.options]
    text = f"{said.summary}\n\n{arguments.metavar}: {arguments.help}" if arguments.help else said.summary
    short = said.summary.split(". ")[0].rstrip(".")
    return Command(name, callback=call, params=parameters, help=text, short_help=short, epilog=said.examples)


def _find(name: str) -> Any:
    """What has a name in a module of this package."""
    module, _, inner = name.partition(".")
    return getattr(importlib.import_module(f"krmfn.cli.{module}"), inner)


def _offer(words: Any) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What a shell offers for the beginning of an argument: some of the words, or of those that a function lists."""

    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [each for each in (words() if callable(words) else words) if each.startswith(incomplete)]

    return offer


def _option(option: Option) -> click.Option:
    kind: click.ParamType[Any] = click.STRING
    if option.choices:
        kind = Choice(option.choices, option.joined)
    elif option.metavar in {"FILE", "DIR", "PATH"}:
        kind = click.Path()
    return click.Option(
        [*option.names, option.key],
        help=option.help,
        default=option.default,
        multiple=option.several,
        is_flag=option.flag,
        type=None if option.flag else kind,
        show_default=option.default is not None and not option.flag and not option.several,
        metavar=None if option.flag or (option.choices and not option.joined) else option.metavar,
    )


def application() -> click.Group:
    """The whole command line."""
    group = Commands("krmfn", help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
    releases = ", ".join(list_releases())
    return click.version_option(
        __version__, prog_name="krmfn", message=f"%(prog)s %(version)s (Kubernetes {releases})"
    )(group)


def main(words: Words) -> int:
    """Runs a command line and returns the exit code; a mistake in it is explained on stderr (2). Raises StreamLost."""
    if {"-h", "--help", "--version"} & set(words):
        streams.expect()  # click prints these itself, and says nothing where it cannot
    try:
        code = application().main(list(words), prog_name="krmfn", standalone_mode=False)
    except click.ClickException as mistake:
        if isinstance(mistake, click.NoSuchOption):  # click also offers what is hardly like it
            nearest = find_nearest(mistake.option_name, mistake.possibilities or ())
            mistake = click.NoSuchOption(mistake.option_name, None, [nearest] if nearest else [], mistake.ctx)
        mistake.show()
        return mistake.exit_code
    except (click.Abort, Interrupted):
        return 130
    except SystemExit:  # how click ends when nobody reads what it prints: help, completion
        streams.silence()
        return 0
    return code if isinstance(code, int) else 0
