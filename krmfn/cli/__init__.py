"""The command line: one module per command, each with its table of options and a `run` that returns the exit code.

`app` turns the tables into click commands (help, completion, suggestions); `options.parse` reads an ordinary command
line by the same tables without click, because click alone costs three times the start of the interpreter. To add a
command: a module with SUMMARY, ARGUMENTS, OPTIONS, run(), perhaps EXAMPLES and list_words() (the arguments that a
shell offers), and its name in COMMANDS.
"""

#: The commands in the order of the help text.
COMMANDS = (
    "generate",
    "validate",
    "merge",
    "fleet",
    "diff",
    "tree",
    "fit",
    "facts",
    "why",
    "convert",
    "upgrade",
    "init",
    "bridge",
    "kinds",
    "explain",
    "mcp",
    "lsp",
    "schema",
    "rules",
    "completion",
    "version",
    "help",
)
