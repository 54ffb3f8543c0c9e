"""What an editor offers and explains at a place: fields and their values, kinds, groups, annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from krmfn.cli.lsp.context import Context
from krmfn.config.selection import known_annotations
from krmfn.fields.lines import FieldLine, describe, find_line, list_kinds
from krmfn.model.rules import RULES, list_rules_of
from krmfn.model.values import Value, as_text
from krmfn.releases.release import Release

_ANNOTATIONS = ("metadata", "annotations")
#: The CustomResourceDefinitions of the folder.
Definitions = Sequence[Value]
_LINKS = ("podGroupName", "parentCompositePodGroupName")


class Word(NamedTuple):
    """A word that fits at a place: a field, or a value. `detail` says what it is."""

    text: str
    detail: str
    is_field: bool = False


def explain(context: Context, release: Release, given: Definitions) -> str:
    """What is known of the field or the annotation at a place, as Markdown; empty for nothing."""
    if context.path[-2:] == _ANNOTATIONS:
        return as_text(known_annotations(), context.key, "description")
    line = _find_field(context, context.whole, release, given)
    if line is None:
        return ""
    about = [line.description, ""] if line.description else []
    below = [f"* `{each.path.rpartition('.')[2]}`: {', '.join(each.words)}" for each in line.list_below()]
    rules = [f"* {rule}: {RULES[rule].sentence}" for rule in list_rules_of(line.path)]
    return "\n".join([f"`{line.path}`: {', '.join(line.words)}", "", *about, *below, *([""] if rules else []), *rules])


def list_words(context: Context, release: Release, given: Definitions, groups: Iterable[str]) -> list[Word]:
    """What fits at a place."""
    if not context.on_key:
        return list(_list_values(context, release, given, groups))
    if context.path[-2:] == _ANNOTATIONS:
        return [Word(name, as_text(known, "description"), True) for name, known in known_annotations().items()]
    if not context.path and not context.kind:
        return [Word(name, "", True) for name in ("apiVersion", "kind", "metadata", "spec")]
    line = _find_field(context, context.path, release, given)
    below = line.list_below() if line else []
    return [Word(each.path.rpartition(".")[2], ", ".join(each.words), True) for each in below]


def _list_values(context: Context, release: Release, given: Definitions, groups: Iterable[str]) -> Iterator[Word]:
    if context.whole == ("kind",):
        known = sorted(set(list_kinds(release.name, given)), key=lambda each: each[1])
        yield from (Word(kind, version) for version, kind in known)
    elif context.whole == ("apiVersion",):
        versions = {version for version, _ in list_kinds(release.name, given)}
        yield from (Word(version, "") for version in sorted(versions))
    elif context.key in _LINKS:
        yield from (Word(name, "group") for name in sorted(groups))
    else:
        line = _find_field(context, context.whole, release, given)
        for word in line.words if line else ():
            if word.startswith("enum "):
                yield from (Word(value, "") for value in word.removeprefix("enum ").split(" "))
            elif word == "bool":
                yield from (Word(value, "") for value in ("true", "false"))


def _find_field(context: Context, path: Iterable[str], release: Release, given: Definitions) -> FieldLine | None:
    gates = dict.fromkeys(release.gates, True)
    described = describe(context.api_version, context.kind, release.name, gates, given) if context.kind else None
    if described is None:
        return None
    try:
        return find_line(described.root, list(path))
    except LookupError:
        return None
