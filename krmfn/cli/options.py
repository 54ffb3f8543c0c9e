"""What options are, and the ones that several commands share. Plain data: imports neither click nor what options do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.releases.release import Release, find_release, newest_release
from krmfn.reports import FORMATS


class Option(NamedTuple):
    """An option. A `flag` takes no value; `choices` limit it; `joined` values are a comma-separated list; one that may
    be given `several` times has a tuple of values."""

    names: tuple[str, ...]
    help: str
    default: Any = None
    choices: tuple[str, ...] = ()
    flag: bool = False
    joined: bool = False
    metavar: str = "TEXT"
    several: bool = False

    @property
    def key(self) -> str:
        """The name under which run() gets the value: the last spelling, `--feature-gates` as `feature_gates`."""
        return self.names[-1].lstrip("-").replace("-", "_")


def switch(help: str, *names: str) -> Option:
    """An option without a value: off, unless it is given."""
    return Option(names, help, False, flag=True)


class Argument(NamedTuple):
    """The positional part of a command line: between `least` and `most` words (None: no upper bound)."""

    metavar: str
    help: str
    least: int = 1
    most: int | None = None
    default: str = ""  # what no word means


class UsageError(Exception):
    """A command line that cannot be carried out. The message says which part, and what would be accepted."""


PATHS = Argument(
    "[PATH]...",
    "Files, folders (searched for *.yaml, *.yml, *.json), - for stdin, git:REV[:PATH]. [default: .]",
    0,
    default=".",
)

KUBERNETES = Option(
    ("--kubernetes",),
    "Target Kubernetes version, such as v1.37.2. [default: the configuration's, else the newest]",
    metavar="VERSION",
)
FEATURE_GATES = Option(
    ("--feature-gates",),
    "Feature gates of the cluster, such as GenericWorkload=true. [default: assume that required gates are on]",
    metavar="A=true,B=false",
)
CONFIG = Option(
    ("--config",),
    "The configuration (kind GangScheduling). [default: krmfn.yaml here or in a parent folder]",
    metavar="FILE",
)
COLOR = Option(
    ("--color",),
    "Colours in text output; NO_COLOR, CLICOLOR and CLICOLOR_FORCE are honoured.",
    "auto",
    ("auto", "always", "never"),
)
PROVE = switch("Do not run the simulator, even if it is there: report only what the rules prove.", "--prove")
AS_IS = switch("Show only groups that are in the manifests, not those that krmfn would generate.", "--as-is")
QUIET = switch("Print only errors: no warnings, notes or progress.", "-q", "--quiet")
VERBOSE = switch("Print every note, and every file that was not read.", "-v", "--verbose")
OUTPUT = Option(("-o", "--output"), "Format of the findings.", "text", FORMATS)
UPDATE = Option(
    ("--update",),
    "How the change is sent: apply (kubectl, Argo CD), server-side-apply (Flux), or replace (PUT).",
    "apply",
    ("apply", "server-side-apply", "replace"),
)
CRDS = Option(
    ("--crds",),
    "CustomResourceDefinitions that are not in the manifests, for checking their custom resources.",
    metavar="PATH",
)
NO_RENDER = switch("Read the files of kustomizations instead of rendering them.", "--no-render")
REQUIRE_RENDER = switch("Treat a kustomization that cannot be rendered as an error, not a warning.", "--require-render")
ALLOW_EXEC = Option(
    ("--allow-exec",),
    "Programs, besides krmfn itself, that kustomize may run as functions. [default: none]",
    metavar="PROGRAM,...",
)
ALLOW_HELM = switch(
    "Render charts of the repository that Argo CD, Flux and kustomize deploy, with helm from the PATH.", "--allow-helm"
)
SELECT = Option(
    ("--select",), "Check only these rules: ids, patterns such as pod-*, or stages.", metavar="RULE[:PATH],..."
)
IGNORE = Option(
    ("--ignore",),
    "Ignore these rules, everywhere or in files that match a pattern: min-count-one:examples.",
    metavar="RULE[:PATH],...",
)
SEVERITY = Option(
    ("--severity",),
    "Set another severity (error, warning, info) for these rules: requests-missing=info, server:legacy=warning.",
    metavar="RULE[:PATH]=SEVERITY,...",
)
EXCLUDE = Option(
    ("--exclude",),
    "Skip these files and folders (patterns as in .gitignore), besides those of .gitignore and .krmfnignore.",
    metavar="PATTERN,...",
)
SHARD = Option(
    ("--shard",),
    "Work on one part of the kustomizations and folders only, such as 3/16; krmfn merge joins the reports.",
    metavar="NUMBER/OF",
)
BASELINE = Option(("--baseline",), "Report only what is not in this file of known findings.", metavar="FILE")
WRITE_BASELINE = switch("Write the findings into the file of --baseline instead of reporting them.", "--write-baseline")
FAIL_ON = Option(
    ("--fail-on",),
    "The lowest severity that makes the exit status 1. [default: the configuration's, else error]",
    None,
    ("error", "warning"),
)
CLUSTER = Option(
    ("--cluster",),
    "Data about the cluster, as kubectl get … -o yaml or krmfn facts prints it: a file, a folder or -. Repeatable.",
    (),
    metavar="PATH",
    several=True,
)
SIMULATOR = Option(
    ("--simulator",),
    "The simulator: a program, or a folder with krmfn-simulator-RELEASE. [default: found on the PATH]",
    metavar="PATH",
)

CACHE = Option(
    ("--cache",),
    "A folder in which runs are kept: if nothing has changed, the same is printed again. [default: $KRMFN_CACHE]",
    metavar="DIR",
)

RENDERING = (NO_RENDER, REQUIRE_RENDER, ALLOW_EXEC, ALLOW_HELM)
COMMON = (KUBERNETES, FEATURE_GATES, CONFIG, COLOR, QUIET)


def read_release(options: Mapping[str, Any]) -> Release:
    """The release of --kubernetes, or the newest one. Raises UnknownRelease."""
    return find_release(options["kubernetes"]) if options["kubernetes"] else newest_release()


def spell_command(command: str, words: Iterable[str]) -> str:
    """A command line that can be copied into a shell."""
    import shlex

    return " ".join([command, *map(shlex.quote, words)])


def split_list(text: str | None) -> list[str]:
    """The words of an option that takes several, separated by commas."""
    return [word for word in (text or "").split(",") if word]


def parse(
    arguments: Argument, options: Sequence[Option], words: Sequence[str]
) -> tuple[list[str], dict[str, Any]] | None:
    """The positional words of an ordinary command line and the values by Option.key, read without click: click alone
    takes 38 ms, a third of `validate` of one object. Only what cannot be misread: whole option names, values where
    they are due. None for everything else (help, an abbreviation, a mistake), which click knows how to explain."""
    by_name = {name: option for option in options for name in option.names}
    values = {option.key: option.default for option in options}
    paths: list[str] = []
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
    if len(paths) < arguments.least or (arguments.most is not None and len(paths) > arguments.most):
        return None
    if paths.count("-") > 1:
        return None
    return paths or [arguments.default] * bool(arguments.default), values


def _is_choice(option: Option, value: str) -> bool:
    words = value.split(",") if option.joined else [value]
    return not option.choices or all(word in option.choices for word in words)
