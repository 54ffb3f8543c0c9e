"""The command line: a function per command, mostly in a separate module, which returns the exit code. Its summary,
arguments, options and examples are its row in schemas/commands.json.

`app` turns the rows into click commands (help, completion, suggestions); `options.parse` reads an ordinary command
line by the same rows without click, because click alone costs three times the start of the interpreter. To add a
command: a module with run(), and its row.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from krmfn.releases import schemastore

#: The commands in the order of the help text.
COMMANDS = tuple(schemastore.load("commands.json")["commands"])
#: What is given to a command, its words and the values of its options by Option.key; and what carries it out.
Words: TypeAlias = Sequence[str]
Options: TypeAlias = Mapping[str, Any]
Run: TypeAlias = Callable[[Words, Options], int]
