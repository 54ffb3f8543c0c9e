"""Reports of shards: what each says for those who join them, and how they become the report of one run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from krmfn.cli.judged import tell_unused
from krmfn.cli.options import UsageError
from krmfn.judging import Ignore, Ignores
from krmfn.krm.results import FileRef, Result
from krmfn.model.values import Fields, Value
from krmfn.model.wording import join as join_words
from krmfn.workspace.world import collect, merge, name_worlds

if TYPE_CHECKING:
    from krmfn.model.findings import Finding
    from krmfn.workspace.sharding import Shard
    from krmfn.workspace.world import World

#: The tag with the numbers of all worlds that have a result: names alone do not say in which order they come.
_RANKS: Final = "worlds"


class Document(NamedTuple):
    """A report: its results, and of a shard what joins it with the others."""

    path: str
    results: tuple[Result, ...]
    shard: Value | None


def mark(found: Iterable[tuple[World, Sequence[tuple[Finding, Result]]]]) -> Iterator[Result]:
    """The results of worlds, what is the same in several once, each with the numbers of its worlds."""
    pairs = (((world.rank, world.name), result) for world, findings in found for _, result in findings)
    for result, places in collect(pairs):
        named = name_worlds(result, [name for _, name in places if name])
        yield named._replace(tags={**named.tags, _RANKS: " ".join(str(rank) for rank, _ in places)})


def describe(
    shard: Shard, digest: str, fail_on: str, found: Iterable[tuple[World, Sequence[object]]], ignores: Ignores
) -> Fields:
    """What `shard` of a report says. `digest` is of all that was read, by every shard alike."""
    return {
        "number": shard.number,
        "of": shard.of,
        "digest": digest,
        "failOn": fail_on,
        "worlds": {str(world.rank): world.name for world, results in found if results},
        "ignores": ignores,
    }


def check_part(part: Value, results: Iterable[Result]) -> None:
    """Raises KeyError, TypeError and ValueError for what no shard says of itself, or of its results."""
    number, of, digest, names = (part[key] for key in ("number", "of", "digest", "worlds"))
    if not (type(number) is type(of) is int and 1 <= number <= of and part["failOn"] in ("error", "warning")):
        raise ValueError("not one of several parts")
    ignores = _read_ignores(part["ignores"])
    texts = [text for listed in ignores[:2] for each in listed for text in (*each[0], each[1], *(each[2] or ())[:1])]
    texts += [digest] + [names[rank] for each in results for rank in each.tags.get(_RANKS, "").split()]
    lost = any(not each.tags.get(_RANKS, "0").strip() for each in results)  # in no world, so in no joined report
    if lost or not all(isinstance(text, str) for text in texts) or not all(map(str.isdecimal, names)):
        raise ValueError("a result or an ignore is nowhere")


def join(documents: Sequence[Document]) -> list[Result]:
    """The results of one run, of the reports of all its shards. Raises UsageError where they are not that."""
    _check(documents)
    placed: list[tuple[int, int, str, Result]] = []
    for document in documents:
        names = (document.shard or {})["worlds"]
        for number, result in enumerate(document.results):
            tags = {key: text for key, text in result.tags.items() if key not in (_RANKS, "world")}
            if _RANKS not in result.tags:
                placed.append((-1, number, "", result))
            for rank in result.tags.get(_RANKS, "").split():
                placed.append((int(rank), number, names[rank], result._replace(tags=tags)))
    placed.sort(key=lambda each: each[:2])
    unused = tell_unused([_read_ignores((each.shard or {})["ignores"]) for each in documents])
    return [*merge((world, result) for _, _, world, result in placed), *unused]


def _check(documents: Sequence[Document]) -> None:
    first, *others = [each.shard or {} for each in documents]
    for document, shard in zip(documents[1:], others, strict=True):
        if (shard["of"], shard["digest"]) != (first["of"], first["digest"]):
            reason = f"a shard of something else than {documents[0].path}: other files, or other options"
            raise UsageError(f"{document.path}: {reason}; NAME=FILE tells the reports of several repositories apart")
    numbers = [each["number"] for each in (first, *others)]
    twice = [str(each) for each in sorted(set(numbers)) if numbers.count(each) > 1]
    if twice:
        raise UsageError(f"shard {join_words(twice)} of {first['of']} is there twice")
    missing = [str(each) for each in range(1, first["of"] + 1) if each not in numbers]
    if missing:
        few = [*missing[:5], *(["others"] if len(missing) > 5 else [])]
        raise UsageError(f"the report of shard {join_words(few)} of {first['of']} is missing: nothing is known of it")


def _read_ignores(value: Sequence[Any]) -> Ignores:
    unused, used = (
        tuple(Ignore(tuple(rules), text, FileRef(*place) if place else None) for rules, text, place in ignores)
        for ignores in value[:2]
    )
    return Ignores(unused, used, *(tuple(map(tuple, value[2])), tuple(value[3])))
