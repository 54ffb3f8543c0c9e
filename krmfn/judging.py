"""Which findings count, and how much: the one place that decides, for options, configurations, comments, annotations.

Decides by rule, path, line and object. Knows results and the text of files, no rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from krmfn.config.problems import ConfigError, Mistake, ask_about
from krmfn.config.selection import IGNORE
from krmfn.config.settings import RULED, Ruling, Rulings, Settings
from krmfn.krm.item import Item, list_holding
from krmfn.krm.paths import Path
from krmfn.krm.results import FileRef, ResourceRef, Result, Severity
from krmfn.model.findings import STAGES, Finding
from krmfn.model.patterns import Pattern, is_inside, read_patterns
from krmfn.model.rules import RULES, tell_retired
from krmfn.model.values import Names
from krmfn.model.wording import count, join
from krmfn.pipeline import to_results

if TYPE_CHECKING:
    from krmfn.workspace.manifests import LoadedFile
    from krmfn.workspace.world import World

#: Patterns that are compiled where a manifest ignores something.
_COMMENT = r"#\s*krmfn:\s*ignore\s+([a-z0-9*?,\s-]+)"
_REASON = r"(?m)^([^(\n]*+)\(.*\)"
#: What was not read at all is reported, whichever rules are selected.
_ALWAYS = ("unreadable", "not-rendered")
_NONE = Rulings()


#: The object of a finding, the finding on what somebody wrote, and its result.
Told: TypeAlias = "tuple[Item, Finding, Result]"
#: Findings that count, each with its result.
Counted: TypeAlias = "list[tuple[Finding, Result]]"
#: A result beside the object whose annotations count.
Named: TypeAlias = "tuple[ResourceRef | None, Result]"


class Ignore(NamedTuple):
    """Something that says that findings do not count. `text` is what a message calls it, `place` where it stands."""

    rules: Names
    text: str
    place: FileRef | None = None

    def explain(self) -> tuple[str, str]:
        """Why it ignores nothing, and what to do."""
        for name in self.rules:
            hint = _find_unknown(name)
            if hint:
                return f"{self.text} ignores nothing: there is no rule {name!r}", hint
        rules = ", ".join(self.rules)
        hint = "Remove it, so that it cannot hide a later finding."
        return f"{self.text} ignores nothing: there is no finding of {rules}", hint


class Ignores(NamedTuple):
    """What a run knows of ignores: those of no use and those of use, and which rules were run, by the names that each
    configuration selects (none: all) and by stages."""

    unused: tuple[Ignore, ...]
    used: tuple[Ignore, ...]
    selects: tuple[Names, ...]
    stages: Names


class Judging:
    """Judges the findings of a command, world by world, and remembers which ignores were of use."""

    def __init__(self, given: Rulings = _NONE) -> None:
        """`given` are those of the command line. Raises ConfigError for rules that do not exist."""
        _check_names(given, option=True)
        self._given = given
        self._stages: Collection[str] = STAGES
        self._comments: dict[tuple[str, int], list[Ignore]] = {}
        #: With the folder that an ignore is for, "" for what was read anyway.
        self._known = {_spell(entry, option=True): "" for entry in given.ignore}
        self._used: set[Ignore] = set()
        self._checked: set[Rulings] = set()
        self._patterns: dict[tuple[str, Names], list[Pattern]] = {}

    def read(self, files: Iterable[LoadedFile], stages: Collection[str]) -> None:
        """Takes in the comments of all files, for findings of `stages`."""
        self._stages = stages
        for file in files:
            if b"krmfn" in file.data and b"ignore" in file.data:
                self._read_comments(file.path, file.data)

    def judge(
        self,
        results: Iterable[Named],
        rulings: Rulings = _NONE,
        items: Iterable[Item] = (),
        locate: Callable[[Item], FileRef] | None = None,
        folder: str = "",
        unseen: Sequence[str] = (),
    ) -> list[Result | None]:
        """Each result as it counts, None where it does not. Beside it stands the object whose annotations count.

        `rulings` are those of the world's configuration, `items` its objects, which `locate` finds in their files, and
        `folder` is its kustomization. `unseen` is what else belongs to the world: it may have what is missing. Raises
        ConfigError for rules that do not exist.
        """
        results = [(ref, _doubt(result, unseen)) for ref, result in results] if unseen else results
        if rulings not in self._checked:
            self._checked.add(rulings)
            _check_names(rulings, option=False)
            self._known |= {_spell(entry, option=False): rulings.folder for entry in rulings.ignore if entry.place}
        annotated = self._read_annotations(items, locate or (lambda item: item.locate(_ANNOTATION)))
        if not (annotated or self._comments or any(self._given[:3]) or any(rulings[:3])):
            return _join_alike([result for _, result in results])
        #: What the settings say of results of a rule and a file, for as long as they are the same.
        decided: dict[object, tuple[bool, Severity | None]] = {}
        judged: list[Result | None] = []
        for ref, result in results:
            place = result.file or FileRef("")
            key = (result.tags.get("rule"), result.tags.get("stage"), place.path, result.severity)
            if key not in decided:
                decided[key] = self._decide(result, rulings, folder)
            selected, severity = decided[key]
            near = [*self._comments.get((place.path, place.line), ()), *([annotated[ref]] if ref in annotated else ())]
            found = [ignore for ignore in near if selected and _is_named(result, ignore.rules)]
            self._used.update(found)
            judged.append(None if found or severity is None else result._replace(severity=severity))
        return _join_alike(judged)

    def judge_world(self, world: World, settings: Settings, pairs: Iterable[Named]) -> list[Result | None]:
        """As `judge`, for what was found in a world that was read with `settings`."""
        folder, unseen = world.folder if world.name else "", (*world.left_out, *world.beside)
        return self.judge(
            pairs, settings.rules, world.items, lambda item: world.locate(item, _ANNOTATION), folder, unseen
        )

    def judge_findings(self, world: World, settings: Settings, told: Sequence[Told]) -> Counted:
        """The findings that count, on the objects that somebody wrote, as results. Raises ConfigError."""
        judged = self.judge_world(world, settings, [(item.ref, result) for item, _, result in told])
        return [(finding, result) for (_, finding, _), result in zip(told, judged, strict=True) if result is not None]

    def sum_up(self, covers: Callable[[str], bool]) -> Ignores:
        """The ignores. `covers` says whether all of a folder was checked."""
        unused = [each for each, folder in self._known.items() if each not in self._used and covers(folder)]
        selects = [self._given.select] if self._given.select else [each.select for each in self._checked]
        names = tuple(tuple(name for each in select for name in each.rules) for select in selects)
        return Ignores(tuple(unused), tuple(self._used), names, tuple(self._stages))

    def _decide(self, result: Result, rulings: Rulings, folder: str) -> tuple[bool, Severity | None]:
        """Whether the settings select a result, and its severity, None where it is ignored."""
        selected = self._given if self._given.select else rulings
        chosen = [self._matches(entry, result, selected.folder, folder) for entry in selected.select]
        if chosen and not any(chosen) and result.tags.get("rule") not in _ALWAYS:
            return False, None
        found = [
            _spell(entry, each is self._given)
            for each in (self._given, rulings)
            for entry in each.ignore
            if self._matches(entry, result, each.folder, folder)
        ]
        self._used.update(found)
        severity = None if found else result.severity
        for each in (rulings, self._given):
            for entry in each.severity:
                if severity and entry.severity and self._matches(entry, result, each.folder, folder):
                    severity = entry.severity
        return True, severity

    def _matches(self, entry: Ruling, result: Result, base: str, folder: str) -> bool:
        if not _is_named(result, entry.rules):
            return False
        if not entry.paths:
            return True
        key = (base, entry.paths)
        if key not in self._patterns:
            self._patterns[key] = read_patterns("\n".join(entry.paths), base)
        path = result.file.path if result.file else ""
        patterns = self._patterns[key]
        return is_inside(patterns, path) or (bool(folder) and is_inside(patterns, f"{folder}/"))

    def _read_comments(self, path: str, data: bytes) -> None:
        """The comments in a file: on the line of a finding, or alone on the line above it."""
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            match = re.search(_COMMENT, line)
            if match:
                ignore = Ignore(_split(match[1]), "this comment", FileRef(path, 0, number, match.start() + 1))
                self._known[ignore] = ""
                for each in (number, number + 1) if line.lstrip().startswith("#") else (number,):
                    self._comments.setdefault((path, each), []).append(ignore)

    def _read_annotations(self, items: Iterable[Item], locate: Callable[[Item], FileRef]) -> dict[ResourceRef, Ignore]:
        found: dict[ResourceRef, Ignore] = {}
        for item in list_holding(items, IGNORE.encode()):
            text = item.annotations.get(IGNORE)
            if isinstance(text, str):
                rules = _split(re.sub(_REASON, r"\1", text))
                ignore = found[item.ref] = Ignore(rules, f"the annotation {IGNORE}", locate(item))
                self._known.setdefault(ignore, "")
        return found


def tell_findings(world: World, findings: Iterable[Finding], edits: bool = False) -> list[Told]:
    """What there is to say of a world. `edits` adds those that would mend it."""
    found = list(findings)
    traced = [world.trace(finding) for finding in found]
    results = to_results(traced, edits)
    return [(each.item, own, world.settle(result)) for each, own, result in zip(found, traced, results, strict=True)]


def leave_out_present(found: Sequence[tuple[World, Counted]]) -> list[tuple[World, Counted]]:
    """The findings of worlds, without those of an object that misses what one of its alternatives has."""
    written = [(world, findings) for world, findings in found if not world.name]
    homes = Counter(id(item) for world, _ in written for item in world.items)
    missed = Counter(_identify(finding) for _, findings in written for finding, _ in findings)

    def is_there(finding: Finding) -> bool:
        return _has(finding.rule, "absence") and missed[_identify(finding)] < homes[id(finding.item)]

    return [(world, [pair for pair in findings if world.name or not is_there(pair[0])]) for world, findings in found]


def _identify(finding: Finding) -> tuple[int, str, Path]:
    return id(finding.item), finding.rule, finding.path


def list_unused(parts: Sequence[Ignores]) -> list[Ignore]:
    """What ignores nothing in any part of a run, though its rules were run or do not exist."""
    used = {each for part in parts for each in part.used}
    selects = {names for part in parts for names in part.selects}
    stages = {stage for part in parts for stage in part.stages}
    unused = [each for each in dict.fromkeys(each for part in parts for each in part.unused) if each not in used]
    return [each for each in unused if _is_run(each.rules, selects, stages) or any(map(_find_unknown, each.rules))]


def _is_run(names: Sequence[str], selects: Collection[Sequence[str]], stages: Collection[str]) -> bool:
    """Whether a rule of these names was run and selected somewhere."""
    return any(
        _is_either(rule.id, rule.stage, names)
        and any(not select or _is_either(rule.id, rule.stage, select) for select in selects)
        for rule in RULES.values()
        if rule.stage in stages
    )


def _doubt(result: Result, unseen: Sequence[str]) -> Result:
    if not _has(result.tags.get("rule", ""), "absence"):
        return result
    also = f"It may also be in what was not checked together with this: {join(unseen)}."
    tags = {**result.tags, "hint": f"{result.tags.get('hint', '')} {also}".lstrip()}
    return result._replace(tags=tags, severity="warning" if result.severity == "error" else result.severity)


def _join_alike(results: list[Result | None]) -> list[Result | None]:
    """The results, of which the first that a setting causes stands for those that say the same of other objects."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, result in enumerate(results):
        if result and _has(result.tags.get("rule", ""), "setting"):
            key = (result.message, result.severity, *sorted(result.tags.items()))
            alike.setdefault(key, []).append(index)
    for first, *others in alike.values():
        result = results[first]
        if result and others:
            message = f"{result.message}; the same is true of {count(len(others), 'other gang')}"
            results[first] = result._replace(message=message)
            for index in others:
                results[index] = None
    return results


_ANNOTATION = ("metadata", "annotations", IGNORE)


def _has(rule: str, trait: str) -> bool:
    """Whether the row of a rule has a trait; what no rule has found has none."""
    return rule in RULES and trait in RULES[rule].traits


def _is_named(result: Result, names: Iterable[str]) -> bool:
    """Whether a result is of one of the rules: by id, by a pattern of ids, or by stage."""
    return _is_either(result.tags.get("rule", ""), result.tags.get("stage", ""), names)


def _is_either(rule: str, stage: str, names: Iterable[str]) -> bool:
    return any(name == stage or fnmatchcase(rule, name) for name in names)


def _spell(entry: Ruling, option: bool) -> Ignore:
    if option:
        return Ignore(entry.rules, f"--ignore {':'.join((*entry.rules, *entry.paths))}")
    paths = ", ".join(entry.paths)
    return Ignore(entry.rules, f"this entry {f'for {paths}' if paths else 'of rules.ignore'}", entry.place)


def _check_names(rulings: Rulings, option: bool) -> None:
    """Raises ConfigError for names that are no rule, no pattern of rules and no stage."""
    problems = []
    for key in RULED:
        for index, entry in enumerate(getattr(rulings, key)):
            for name in entry.rules:
                hint = _find_unknown(name)
                if hint is not None:
                    path = () if option else ("spec", "rules", key, index)
                    place = entry.place.spell() if entry.place else ""
                    problems.append(Mistake(path, f"there is no rule {name!r}", hint, place))
    if problems:
        raise ConfigError(problems)


def _find_unknown(name: str) -> str | None:
    """A hint for a name that is nothing, None for one that is something."""
    if name in STAGES or any(fnmatchcase(rule, name) for rule in RULES):
        return None
    return tell_retired(name) or ask_about(name, [*RULES, *STAGES]) or "krmfn rules lists them."


def _split(text: str) -> Names:
    return tuple(text.replace(",", " ").split())
