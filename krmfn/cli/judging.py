"""Which findings count: --select, --ignore, comments and annotations in the manifests, and a baseline.

Decides by rule, path and line. Knows results and the text of files, no rule.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from krmfn.cli.options import UsageError, split_list
from krmfn.config.selection import IGNORE
from krmfn.krm.records import NamedTuple
from krmfn.krm.results import FileRef, ResourceRef, Result
from krmfn.workspace.manifests import tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from krmfn.krm.item import Item
    from krmfn.workspace.manifests import Manifest

#: Patterns that are compiled where a manifest ignores something.
_COMMENT: Final = r"#\s*krmfn:\s*ignore\s+([a-z0-9*?,\s-]+)"
_REASON: Final = r"\(.*\)"


class Ignore(NamedTuple):
    """Something that says that findings do not count. `rules` are ids, patterns of ids, or stages; the rest says where:
    files that match a pattern, lines of a file, or an object. `place` is where it says so."""

    rules: tuple[str, ...]
    pattern: str = ""
    path: str = ""
    lines: tuple[int, ...] = ()
    ref: ResourceRef | None = None
    place: FileRef | None = None
    text: str = ""

    def matches(self, result: Result) -> bool:
        """Whether a finding is one of those."""
        if not is_named(result, self.rules):
            return False
        path, line = (result.file.path, result.file.line) if result.file else ("", 0)
        if self.pattern:
            return _is_match(path, self.pattern)
        if self.ref is not None:
            return result.ref == self.ref
        return not self.path or (path == self.path and line in self.lines)


def judge(
    results: Iterable[Result], options: Mapping[str, Any], files: Sequence[Manifest], items: Sequence[Item]
) -> list[Result]:
    """The results that count. What ignores nothing is told. Raises UsageError for rules that do not exist."""
    selected = split_list(options["select"])
    ignores = [_read_option(word) for word in split_list(options["ignore"])]
    _check_names([*selected, *(rule for ignore in ignores for rule in ignore.rules)])
    if any(b"krmfn" in file.data and b"ignore" in file.data for file in files):
        ignores += [ignore for file in files for ignore in _read_comments(file)]
        ignores += [ignore for item in items if (ignore := _read_annotation(item)) is not None]
    if not selected and not ignores:
        return list(results)
    kept: list[Result] = []
    used: set[int] = set()
    for result in results:
        if selected and not is_named(result, selected):
            continue
        matching = [number for number, ignore in enumerate(ignores) if ignore.matches(result)]
        used.update(matching)
        if not matching:
            kept.append(result)
    return [*kept, *(_tell_unused(ignore) for number, ignore in enumerate(ignores) if number not in used)]


def is_named(result: Result, names: Iterable[str]) -> bool:
    """Whether a result is of one of the rules: by id, by a pattern of ids, or by stage."""
    rule, stage = result.tags.get("rule", ""), result.tags.get("stage", "")
    return any(name == stage or fnmatchcase(rule, name) for name in names)


def _is_match(path: str, pattern: str) -> bool:
    """Whether a path, or a folder that it is in, matches a pattern."""
    while path:
        if fnmatchcase(path, pattern.rstrip("/")):
            return True
        path = posixpath.dirname(path)
    return False


def _read_option(word: str) -> Ignore:
    rule, _, pattern = word.partition(":")
    return Ignore((rule,), pattern=pattern, text=f"--ignore {word}")


def _check_names(names: Sequence[str]) -> None:
    if not names:
        return
    from krmfn.catalogue import RULES
    from krmfn.cli.options import STAGES

    for name in names:
        if name not in STAGES and not any(fnmatchcase(rule, name) for rule in RULES):
            from difflib import get_close_matches

            near = get_close_matches(name, [*RULES, *STAGES], 1)
            raise UsageError(f"there is no rule {name!r}" + (f": did you mean {near[0]}?" if near else ""))


def _read_comments(file: Manifest) -> list[Ignore]:
    """The comments in a file: on the line of a finding, or alone on the line above it."""
    found = []
    for number, line in enumerate(file.data.decode("utf-8", "replace").splitlines(), 1):
        match = re.search(_COMMENT, line)
        if match:
            lines = (number, number + 1) if line.lstrip().startswith("#") else (number,)
            place = FileRef(file.path, 0, number, match.start() + 1)
            found.append(Ignore(_split(match[1]), path=file.path, lines=lines, place=place, text="this comment"))
    return found


def _read_annotation(item: Item) -> Ignore | None:
    if item.source.data.find(IGNORE.encode(), item.start, item.end) < 0:
        return None
    text = item.annotations.get(IGNORE)
    if not isinstance(text, str):
        return None
    place = item.locate(("metadata", "annotations", IGNORE))
    return Ignore(_split(re.sub(_REASON, "", text)), ref=item.ref, place=place, text=f"the annotation {IGNORE}")


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").split())


def _tell_unused(ignore: Ignore) -> Result:
    message = f"{ignore.text} ignores nothing: no finding of {', '.join(ignore.rules)} is there"
    return tell("ignore-unused", message, ignore.place, hint="Remove it, so that it hides nothing later.")
