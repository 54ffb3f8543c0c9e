"""`krmfn init`: makes a folder a kustomization that runs the function."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from krmfn.cli import Options, Words, streams
from krmfn.cli.configuration import Configurations
from krmfn.cli.options import UsageError, read_command, read_release, spell_command
from krmfn.cli.output import tell_changes
from krmfn.cli.reading import read_worlds
from krmfn.cli.tree import draw
from krmfn.config import ConfigError
from krmfn.config.selection import OPT_IN
from krmfn.krm import EditRefused, Item
from krmfn.model.values import as_mapping, group_by
from krmfn.model.wording import count, find_nearest
from krmfn.pipeline import Candidate, list_candidates
from krmfn.reports import channels
from krmfn.workspace.disk import Disk
from krmfn.workspace.kustomization import CONFIG_FILE, plan_init
from krmfn.workspace.moving import find_deployer, list_above, plan_move, spell_advice
from krmfn.workspace.overlays import find_charts, find_overlay
from krmfn.workspace.replacing import FileChange, lock, replace
from krmfn.workspace.trees import KUSTOMIZATIONS, InputMissing, NotRendered
from krmfn.workspace.worlds import Worlds
from krmfn.workspace.writing import plan_changes, spell_diff

#: How the folder is read, which nobody is asked about.
_READING = {option.key: option.default for option in read_command("tree").options}


def run(words: Words, options: Options) -> int:
    """Writes the files that differ. Raises WriteFailed where the folder cannot be prepared."""
    folder = words[0] if words else "."
    with lock([folder], streams.say):
        return _write(folder, options)


def _write(folder: str, options: Options) -> int:
    release = read_release(options)
    configurations = Configurations({})
    configurations.find_rulings(None, folder)  # whose kinds have name references, too
    function = not options["no_function"]
    above = list_above(folder) if options["move"] else {}
    if options["move"]:
        planned = plan_move(folder, above, release.name)
    else:
        planned = plan_init(folder, release.name, function, _read_above(configurations, folder))
    changes = [change for change in planned if change.old != change.new]
    reading = {**_READING, **options}
    places = [*above] if options["move"] else [folder]
    refused = []
    if options["all"] or options["annotate"]:
        offers, here = list_offers(places, reading), os.path.normpath(folder)
        if any(change.old is None and os.path.basename(change.path) == KUSTOMIZATIONS[0] for change in planned):
            offers = [each for each in offers if (os.path.dirname(each.place[0]) or ".") == here]  # which it lists
        words = choose(offers, options)
        changes += annotate(places, words, reading)
        refused = [offer for offer in offers if offer.word in words and not offer.gives]
    if options["diff"]:
        streams.write(channels.lines(spell_diff(changes)))
        return 0
    replace(changes)
    if not options["quiet"]:
        tell_changes([*planned, *(change for change in changes if change not in planned)], os.path.normpath)
    for offer in refused:
        streams.say(
            f"{offer.word} has the annotation now, and gets no group as it is: {'; '.join(offer.candidate.notes)}"
        )
    for place in places if function else ():
        try:
            _lead_on(place, reading)
        except (ConfigError, InputMissing, UsageError) as reason:  # what was written is written
            streams.say(str(reason))
        except NotRendered as reason:
            streams.say(f"{os.path.normpath(place)} {reason}")
    return 0


def _read_above(configurations: Configurations, folder: str) -> bytes | None:
    """The text of the configuration that holds for a folder, of which the function needs a copy there; None without
    one, and for one with paths, which would lead elsewhere."""
    tree = Disk(folder)
    data = tree.find(configurations.find_file(tree, folder))
    spec = as_mapping(Item.parse(data, CONFIG_FILE).value, "spec") if data else {}
    return data if spec.keys().isdisjoint(("cluster", "kinds", "rules")) else None


def _lead_on(folder: str, options: Options) -> None:
    """From the kustomization to its first gang: what could be one, the annotations, and the tree of the next build."""
    quiet, chosen = options["quiet"], options["all"] or options["annotate"]
    offers = [] if quiet and chosen else list_offers([folder], options)
    for line in () if quiet or not offers else spell_offers(offers):
        streams.tell(channels.line(line) + "\n")
    if not chosen and (words := choose(offers, options)):
        changes = annotate([folder], words, options)
        replace(changes)
        tell_changes(changes, os.path.normpath)
        chosen = True
    if quiet:
        return
    if advice := spell_advice(folder, list_above(folder)):
        streams.say(f"{advice}. Let krmfn run there: {spell_command('krmfn init --move', [os.path.normpath(folder)])}")
    if deployer := find_deployer(folder):
        flux = "Flux runs no function: render it in CI (docs/how-to/flux.md)"
        argo = "Argo CD runs functions with a plugin or build options (docs/how-to/argocd.md)"
        streams.say(f"{deployer.source} deploys {os.path.normpath(folder)}. {flux if deployer.builds else argo}")
    if not chosen and any(offer.gives for offer in offers):
        words = [offer.word for offer in offers if offer.gives]
        given = ["--all"] if len(words) > 1 else ["--annotate", *words]
        command = spell_command("krmfn init", [os.path.normpath(folder), *given])
        streams.tell(channels.line(f"next: {command}") + "\n")
        return
    overlay = find_overlay(Disk(folder), folder)
    helm = " --enable-helm" if overlay and find_charts(overlay.value) else ""
    command = spell_command(f"kustomize build --enable-alpha-plugins --enable-exec{helm}", [folder])
    streams.tell(channels.line(f"next: {command}") + "\n")
    draw([folder], {**options, "output": "text"})


class Offer(NamedTuple):
    """A resource that could be a gang, and the place of the object that somebody wrote for it."""

    word: str  # as --annotate takes it: job/train
    place: tuple[str, int]  # the file, and which of its objects
    candidate: Candidate

    @property
    def gives(self) -> bool:
        """Whether an annotation is all that it takes."""
        return self.candidate.pods is not None


def list_offers(folders: Sequence[str], options: Options) -> list[Offer]:
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


def choose(offers: Sequence[Offer], options: Options) -> list[str]:
    """The words of those that options, or somebody at the terminal, want as gangs."""
    gives = [offer.word for offer in offers if offer.gives]
    if options["all"]:
        return gives
    if options["annotate"]:
        return [word.lower() for word in options["annotate"]]
    these = "this resource" if len(gives) == 1 else f"these {len(gives)} resources"
    return gives if gives and streams.agrees(f'Add {OPT_IN}: "true" to {these}? [y/N] ') else []


def annotate(folders: Sequence[str], words: Words, options: Options) -> list[FileChange]:
    """The files with the annotation on the named resources. Raises UsageError for a missing or uneditable one."""
    worlds = read_worlds(folders, options)
    # A file that several folders use is written as it was read last.
    known = group_by(_name, dict(_list_places(worlds)).values())
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


def _name(item: Item) -> str:
    return f"{item.kind}/{item.name}".lower()


def _list_places(worlds: Worlds) -> Iterator[tuple[tuple[str, int], Item]]:
    """All objects that can be edited, each with its file and its number in it."""
    for file in worlds.files:
        yield from (((file.path, number), item) for number, item in enumerate(file.stream.items))
