"""`krmfn explain KIND.FIELD`: what a release or a definition has at a place, and what krmfn says of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial

from krmfn.cli import Options, Words, streams
from krmfn.cli.options import UsageError, read_release
from krmfn.cli.reading import read_crds, read_definitions
from krmfn.fields.lines import Described, FieldLine, find_line, list_described, list_kinds, walk
from krmfn.model.rules import RULES, list_rules_of
from krmfn.model.wording import find_nearest
from krmfn.releases.release import newest_release
from krmfn.reports import channels


def list_words() -> Iterable[str]:
    return sorted({kind for _, kind in list_kinds(newest_release().name)})


def run(words: Words, options: Options) -> int:
    """Writes to stdout. Raises UsageError for a kind or a field that is not there, and for --crds without any."""
    release = read_release(options)
    kind, *names = words[0].replace("[]", "").strip(".").split(".")
    if not kind:
        raise UsageError("name a kind or a field, such as PodGroup.spec.schedulingPolicy")
    given, version = read_crds(options), options["api_version"] or ""
    find = partial(list_described, kind, release.name, dict.fromkeys(release.gates, True), version)
    found = find(given)
    if not found and not given:  # nobody else knows it: the definitions below this folder may
        given = read_definitions(os.curdir)
        found = find(given)
    if not found:
        wanted = f"{kind} of {version}" if version else kind
        known = sorted({name for _, name in list_kinds(release.name, given)})
        raise UsageError(f"Kubernetes {release} has no {wanted}. {_suggest(words[0], known)}")
    try:
        line = find_line(found[0].root, names)
    except LookupError as missing:
        raise UsageError(f"{found[0].source}: {missing.args[0]}") from None
    lines = walk(line) if options["recursive"] else _introduce(found[0], line)
    streams.write("".join(channels.line(str(each)) + "\n" for each in lines))
    for other in found[1:]:
        streams.say(f"{other.source} has another one: --api-version {other.api_version}")
    return 0


def _introduce(described: Described, line: FieldLine) -> Iterable[str]:
    """A field, the fields directly below it, and the rules about it."""
    yield f"{described.source}, {described.api_version}"
    yield str(line)
    yield from (f"  {text}".rstrip() for text in line.description.splitlines())
    for each in line.list_below():
        yield f"  {each.path.removeprefix(line.path)[1:]}: {', '.join(each.words)}"
    for rule in list_rules_of(line.path):
        yield f"{rule}: {RULES[rule].sentence}"


def _suggest(word: str, known: Iterable[str]) -> str:
    """What was probably meant by a word that is no kind."""
    if word in RULES:
        return f"krmfn rules {word} prints the page of that rule"
    if "/" in word:
        return f"krmfn why {word} says why an object does not run"
    nearest = find_nearest(word.partition(".")[0], known)
    hint = f"Did you mean {nearest}?" if nearest else "krmfn knows built-in kinds and kinds for batch jobs."
    return f"{hint} --crds adds the definitions of others"
