"""`krmfn init`: makes a folder a kustomization that runs the function."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from krmfn.cli import streams
from krmfn.cli.candidates import annotate, choose, list_offers, spell_next, spell_offers
from krmfn.cli.configuration import Configurations
from krmfn.cli.options import UsageError, read_command, read_release, spell_command
from krmfn.cli.output import tell_changes
from krmfn.cli.tree import draw
from krmfn.config import ConfigError
from krmfn.reports import channels
from krmfn.workspace.kustomization import NotPossible, plan_init
from krmfn.workspace.moving import find_deployer, list_above, plan_move, spell_advice
from krmfn.workspace.replacing import lock, replace
from krmfn.workspace.trees import InputMissing
from krmfn.workspace.writing import spell_diff

#: How the folder is read, which nobody is asked about.
_READING = {option.key: option.default for option in read_command("tree").options}


def run(words: Sequence[str], options: Mapping[str, Any]) -> int:
    """Writes the files that differ. Raises UsageError where the folder cannot be prepared."""
    folder = words[0] if words else "."
    with lock([folder], streams.say):
        return _write(folder, options)


def _write(folder: str, options: Mapping[str, Any]) -> int:
    release = read_release(options)
    Configurations({}).find_rulings(None, folder)  # whose kinds have name references, too
    function = not options["no_function"]
    try:
        above = list_above(folder) if options["move"] else []
        if options["move"]:
            planned = plan_move(folder, above, release.name)
        else:
            planned = plan_init(folder, release.name, function)
    except NotPossible as reason:
        raise UsageError(str(reason)) from None
    changes = [change for change in planned if change.old != change.new]
    reading = {**_READING, **options}
    places = [each.folder for each in above] if options["move"] else [folder]
    refused = []
    if options["all"] or options["annotate"]:
        offers = list_offers(places, reading)
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
    return 0


def _lead_on(folder: str, options: Mapping[str, Any]) -> None:
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
        streams.tell(channels.line(f"next: {spell_next(folder, offers)}") + "\n")
        return
    command = spell_command("kustomize build --enable-alpha-plugins --enable-exec", [folder])
    streams.tell(channels.line(f"next: {command}") + "\n")
    draw([folder], {**options, "output": "text"})
