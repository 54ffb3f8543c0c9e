"""`krmfn completion SHELL`: the script with which a shell completes commands and options."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.options import UsageError
from krmfn.config.problems import suggest

SHELLS = ("bash", "zsh", "fish")


def list_words() -> Iterable[str]:
    return SHELLS


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Prints click's script. Raises UsageError."""
    from click.shell_completion import get_completion_class

    from krmfn.cli.app import application

    made = get_completion_class(words[0]) if words[0] in SHELLS else None
    if made is None:
        raise UsageError(f"no completion for {words[0]}. {suggest(words[0], SHELLS)}")
    # The script asks this version of bash or zsh nothing: it is printed on machines that have none.
    completion = made(application(), {}, "krmfn", "_KRMFN_COMPLETE")
    streams.write(completion.source_template % completion.source_vars() + "\n")
    return 0
