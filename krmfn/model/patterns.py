"""Which paths patterns as in .gitignore match: files that are not read, and files in which a finding does not count.

Knows patterns and names, no disk. Source: gitignore(5), and what git does beyond it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

#: Words in the names of files that patch objects, for is_called().
PATCH = frozenset(("patch", "patches"))
_WILDCARDS = frozenset("*?[\\")
_MOST_STARS = 3
#: No path is longer (PATH_MAX).
_LONGEST = 4096


class Pattern(NamedTuple):
    """A line of .gitignore, in the folder `base`. Of several patterns the last one that matches decides: a `negated`
    one (`!keep.yaml`) says that a path is not ignored."""

    base: str
    expression: re.Pattern[str]
    negated: bool
    folders_only: bool


def read_patterns(text: str, base: str) -> list[Pattern]:
    """The patterns in the text of a file, one each line. Lines that git does not understand are left out."""
    return [pattern for line in text.splitlines() if (pattern := _read_line(line, base)) is not None]


def is_ignored(patterns: Iterable[Pattern], path: str, is_folder: bool) -> bool:
    """Whether patterns say that a path is ignored. Folders that it is in are not looked at: see is_inside()."""
    ignored = False
    base, inside = "", ""
    for pattern in patterns:
        if pattern.base != base:  # those of one file stand together
            base, inside = pattern.base, _spell_inside(path, pattern.base)
        if inside and (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(inside):
            ignored = not pattern.negated
    return ignored


def _spell_inside(path: str, base: str) -> str:
    """The path from a folder, empty where it is not in it."""
    if base == "." and not path.startswith((".", "/")):
        return path
    if path.startswith(f"{base}/") and not base.startswith("."):
        return path[len(base) + 1 :]
    if {path[:1], base[:1]}.isdisjoint("./"):  # most are below the working directory, where their texts say all
        return ""
    inside = posixpath.relpath(path, base)
    return "" if inside == ".." or inside.startswith("../") else inside


def is_inside(patterns: Sequence[Pattern], path: str) -> bool:
    r"""Whether patterns match a path, or a folder that it is in.

    >>> is_inside(read_patterns("legacy/\n!legacy/new.yaml", "clusters"), "clusters/legacy/a.yaml")
    True
    """
    steps = path.split("/")
    folders = ["/".join(steps[:number]) for number in range(1, len(steps))]
    return any(is_ignored(patterns, folder, True) for folder in folders if folder) or (
        bool(path) and is_ignored(patterns, path, False)
    )


def is_called(path: str, names: Set[str]) -> bool:
    """Whether a file, or the folder that it is in, has one of these words in its name.

    >>> [is_called(path, PATCH) for path in ("auth_proxy_patch.yaml", "patches/webhook_in_jobs.yaml", "dispatch.yaml")]
    [True, True, False]
    """
    words = posixpath.join(posixpath.basename(posixpath.dirname(path)), posixpath.basename(path)).lower()
    return not names.isdisjoint(re.split(r"[^a-z]+", words))


def _read_line(line: str, base: str) -> Pattern | None:
    """The pattern in a line; None for a comment, and for one that matches nothing."""
    text = line.rstrip()
    if not text or text.startswith("#"):
        return None
    negated = text.startswith("!")
    body = text[1:] if negated or text.startswith(("\\#", "\\!")) else text
    folders_only = body.endswith("/")
    body = body.rstrip("/")
    anchored = "/" in body
    body = body.lstrip("/")
    if not body or len(body) > _LONGEST:
        return None
    try:
        expression = re.compile(("" if anchored else "(?:.*/)?") + _translate(body), re.DOTALL)
    except re.error:
        return None
    return Pattern(base, expression, negated, folders_only)


def _translate(body: str) -> str:
    """A pattern as a regular expression, which matches any name in a short time.

    Of several `*` in one name each but the last matches as little as it can, for good (an atomic group): no other
    match could succeed where this one fails. The same is true of several `**/`. It is not true beside brackets and
    backslashes: raises re.error for more than a few stars there.
    """
    is_plain = "[" not in body and "\\" not in body
    if not is_plain and max(name.count("*") for name in body.split("/")) > _MOST_STARS:
        raise re.error("too many stars")
    expression, place = "", 0
    in_star = in_folders = False  # inside the atomic group of a `*`, of a `**/`
    while place < len(body):
        before, rest, length = body[:place], body[place:], 1
        # git cuts off what is plain at the front of a pattern, so that `a**/b` is `a` and `**/b`.
        if rest.startswith("**/") and (before.endswith("/") or _WILDCARDS.isdisjoint(before)):
            length, expression = 3, expression + (")" if in_folders else "")
            in_folders = "/**/" in rest or rest.endswith("/**")
            expression += "(?>(?:.*?/)??" if in_folders else "(?:.*/)?"
        elif rest == "**" and before.endswith("/"):
            length, expression = 2, expression + (").+" if in_folders else ".+")
        elif rest[0] == "*":
            expression += ")" if in_star else ""
            in_star = "*" in rest[1:].partition("/")[0] and is_plain
            expression += "(?>[^/]*?" if in_star else "[^/]*"
        elif rest[0] == "?":
            expression += "[^/]"
        elif rest[0] == "[" and "]" in rest[2:]:
            length = rest.index("]", 2) + 1
            inside = rest[1 : length - 1].replace("\\", "\\\\").replace("[", "\\[")
            expression += "(?!/)[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
        elif rest[0] == "\\" and len(rest) > 1:
            length, expression = 2, expression + re.escape(rest[1])
        else:
            expression += re.escape(rest[0])
        place += length
    return expression
