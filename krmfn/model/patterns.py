"""Paths by patterns as in .gitignore: what is passed over when a folder is read, and where a finding does not count.

Knows patterns and names, no disk.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence, Set
from typing import NamedTuple

#: In the names of files with some fields of objects, for is_called().
PATCH = frozenset(("patch", "patches"))
_STARS = 3
_SIGNS = frozenset("*?[\\")
#: No path is longer.
_LONGEST = 4096


class Pattern(NamedTuple):
    """A line of such a file. `base` is the folder that it counts from; the last pattern that matches decides."""

    base: str
    expression: re.Pattern[str]
    keeps: bool
    folders_only: bool


def read_patterns(text: str, base: str) -> list[Pattern]:
    """The patterns in a file, or in the value of --exclude, one each line. Source: gitignore(5)."""
    return [pattern for line in text.splitlines() if (pattern := _read_line(line, base)) is not None]


def is_called(path: str, names: Set[str]) -> bool:
    """Whether a file, or the folder that it is in, has one of these words in its name.

    >>> [is_called(path, PATCH) for path in ("auth_proxy_patch.yaml", "patches/webhook_in_jobs.yaml", "dispatch.yaml")]
    [True, True, False]
    """
    words = posixpath.join(posixpath.basename(posixpath.dirname(path)), posixpath.basename(path)).lower()
    return not names.isdisjoint(re.split(r"[^a-z]+", words))


def is_ignored(patterns: Iterable[Pattern], path: str, is_folder: bool) -> bool:
    """Whether patterns decide that a path is ignored."""
    ignored = False
    base, inside = "", ""
    for pattern in patterns:
        if pattern.base != base:  # those of one file stand together
            base, inside = pattern.base, _spell_inside(path, pattern.base)
        if inside and (is_folder or not pattern.folders_only) and pattern.expression.fullmatch(inside):
            ignored = not pattern.keeps
    return ignored


def _spell_inside(path: str, base: str) -> str:
    """A path as seen from a folder, empty where it is not in it."""
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


def _read_line(line: str, base: str) -> Pattern | None:
    text = line.rstrip()
    if not text or text.startswith("#"):
        return None
    keeps = text.startswith("!")
    body = text[1:] if keeps or text.startswith(("\\#", "\\!")) else text
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
    return Pattern(base, expression, keeps, folders_only)


def _translate(body: str) -> str:
    """A pattern as a regular expression. Of several stars in one name each but the last takes as little as it can, and
    does not take more later: that changes no answer, and the time stays short for any name. The same is true of `**/`.
    Raises re.error for more than a few stars beside brackets and backslashes, of which this would not hold.
    """
    spelled, place, opened, held = "", 0, False, False
    if ("[" in body or "\\" in body) and max(map(str.count, body.split("/"), "*" * len(body))) > _STARS:
        raise re.error("too many stars")
    while place < len(body):
        rest = body[place:]
        # git cuts off what is plain at the front of a pattern, so that `a**/b` is `a` and `**/b`.
        begins = body[place - 1 : place] == "/" or not _SIGNS.intersection(body[:place])
        if begins and rest.startswith("**/"):
            spelled, place = spelled + (")" if held else ""), place + 3
            held = "/**/" in rest or rest.endswith("/**")
            spelled += "(?>(?:.*?/)??" if held else "(?:.*/)?"
        elif rest == "**" and body[place - 1 : place] == "/":
            spelled, place = spelled + (").+" if held else ".+"), place + 2
        elif rest[0] == "*":
            spelled, place = spelled + (")" if opened else ""), place + 1
            opened = "*" in rest[1:].partition("/")[0] and not ("[" in body or "\\" in body)
            spelled += "(?>[^/]*?" if opened else "[^/]*"
        elif rest[0] == "?":
            spelled, place = spelled + "[^/]", place + 1
        elif rest[0] == "[" and "]" in rest[2:]:
            end = rest.index("]", 2)
            inside = rest[1:end].replace("\\", "\\\\").replace("[", "\\[")
            spelled += "(?!/)[" + ("^" + inside[1:] if inside[0] in "!^" else inside) + "]"
            place += end + 1
        elif rest[0] == "\\" and len(rest) > 1:
            spelled, place = spelled + re.escape(rest[1]), place + 2
        else:
            spelled, place = spelled + re.escape(rest[0]), place + 1
    return spelled
