"""The way from a kustomization to its first gang: which resources could be gangs, and the annotations that say so."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.cli import streams
from krmfn.cli.configuration import Configurations
from krmfn.cli.options import UsageError, spell_command
from krmfn.cli.reading import read_worlds
from krmfn.config.selection import OPT_IN
from krmfn.krm import EditRefused, Item
from krmfn.model.wording import count, find_nearest
from krmfn.pipeline import Candidate, list_candidates
from krmfn.workspace.replacing import FileChange
from krmfn.workspace.worlds import Worlds
from krmfn.workspace.writing import plan_changes


class Offer(NamedTuple):
    """A resource that could be a gang, and the place of the object that somebody wrote for it."""

    word: str  # as --annotate takes it: job/train
    place: tuple[str, int]  # the file, and which of its objects
    candidate: Candidate

    @property
    def gives(self) -> bool:
        """Whether an annotation is all that it takes."""
        return self.candidate.pods is not None


def list_offers(folders: Sequence[str], options: Mapping[str, Any]) -> list[Offer]:
    """What could be gangs in the worlds of folders, each resource once. Raises ConfigError and InputMissing."""
    configurations = Configurations(options)
    found: dict[tuple[str, int], Offer] = {}
    worlds = read_worlds(folders, options)
    places = {id(item): place for place, item in _list_places(worlds)}
    for world in worlds.worlds:
        for each in list_candidates(world.items, configurations.find(world)):
            own = world.sources.get(id(each.item), each.item)
            if place := places.get(id(own)):
                found.setdefault(place, Offer(_name(own), place, each))
    return list(found.values())


def choose(offers: Sequence[Offer], options: Mapping[str, Any]) -> list[str]:
    """The words of those that options, or somebody at the terminal, want as gangs."""
    gives = [offer.word for offer in offers if offer.gives]
    if options["all"]:
        return gives
    if options["annotate"]:
        return [word.lower() for word in options["annotate"]]
    these = "this resource" if len(gives) == 1 else f"these {len(gives)} resources"
    return gives if gives and streams.agrees(f'Add {OPT_IN}: "true" to {these}? [y/N] ') else []


def annotate(folders: Sequence[str], words: Sequence[str], options: Mapping[str, Any]) -> list[FileChange]:
    """The files with the annotation on the resources of these words. Raises UsageError for one that is not there, and
    for one that cannot be edited."""
    worlds = read_worlds(folders, options)
    known: dict[str, list[Item]] = {}
    for item in dict(_list_places(worlds)).values():  # a file that several folders use is written as it was read last
        known.setdefault(_name(item), []).append(item)
    for word in words:
        if word not in known:
            nearest = find_nearest(word, known)
            meant = f". Did you mean {nearest}?" if nearest else ""
            raise UsageError(f"--annotate {word}: no such resource in {' and '.join(folders)}{meant}")
        for item in known[word]:
            try:
                item.set(("metadata", "annotations", OPT_IN), "true")
            except EditRefused as refusal:
                raise UsageError(f"{item.file.path}: {item.ref} cannot be annotated: {refusal}") from None
    return plan_changes(worlds.files, (), ())


def spell_offers(offers: Sequence[Offer]) -> Iterator[str]:
    """The lines that say what could be gangs, with how many pods, and what stands in the way."""
    yield f"{count(len(offers), 'resource')} can become {'gangs' if len(offers) > 1 else 'a gang'}:"
    for offer in offers:
        pods = f": {count(offer.candidate.pods, 'pod')}" if offer.candidate.pods is not None else ": not as it is"
        yield f"  {offer.word} ({offer.place[0]}){pods}"
        for note in offer.candidate.notes:
            yield f"    {note}"


def spell_next(folder: str, offers: Sequence[Offer]) -> str:
    """The command that makes gangs of them."""
    words = [offer.word for offer in offers if offer.gives]
    given = ["--all"] if len(words) > 1 else ["--annotate", *words]
    return spell_command("krmfn init", [os.path.normpath(folder), *given])


def _name(item: Item) -> str:
    return f"{item.kind}/{item.name}".lower()


def _list_places(worlds: Worlds) -> Iterator[tuple[tuple[str, int], Item]]:
    """All objects that can be edited, each with its file and its number in it."""
    for file in worlds.files:
        yield from (((file.path, number), item) for number, item in enumerate(file.stream.items))
