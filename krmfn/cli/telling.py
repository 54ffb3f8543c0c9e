"""What there is to say of a world: anew, or as an earlier run said it of the same objects with the same settings."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from krmfn.config import Rulings, Settings
from krmfn.judging import Told, tell_findings
from krmfn.krm import Item
from krmfn.model.findings import Finding
from krmfn.model.kept import find, is_used, keep
from krmfn.model.kinds import KINDS
from krmfn.pipeline import find_all
from krmfn.workspace.world import World


def tell(
    world: World, settings: Settings, old: Sequence[Item] | None, stages: Collection[str], update: str, edits: bool
) -> list[Told]:
    """See find_all (pipeline) and tell_findings."""

    def make() -> list[Told]:
        return tell_findings(world, find_all(world.items, settings, old, stages, update), edits)

    if not is_used():
        return make()
    items = [*world.items, *world.sources.values()]
    named = _spell(world, items, settings, old) + repr((tuple(stages), update, edits)).encode()
    known = find("told", named)
    if known is not None:
        return [(items[item], Finding(items[own], *finding), result) for item, own, finding, result in known]
    told = make()
    places = {id(item): number for number, item in enumerate(items)}
    if all(id(item) in places and id(own.item) in places for item, own, _ in told):
        rows = [(places[id(item)], places[id(own.item)], own[1:], result) for item, own, result in told]
        keep("told", named, rows)
    return told


def _spell(world: World, items: Sequence[Item], settings: Settings, old: Sequence[Item] | None) -> bytes:
    """All that the findings of a world depend on, but for the stages. What counts is judged later, by its rules."""
    places = {id(item): number for number, item in enumerate(world.items)}
    traced = [places.get(item) for item in world.sources], sorted(world.templates.items())
    texts = [list(map(_spell_text, each)) for each in (items, old or (), settings.rivals)]
    plain = settings._replace(rules=Rulings(), rivals=())
    named = world.overlay, world.folder, world.ran_in, traced, old is None, texts, plain, KINDS.own
    return repr(named).encode("utf-8", "surrogatepass")


def _spell_text(item: Item) -> tuple[object, ...]:
    place = item.source.path, item.source.digest, item.start, item.end, item.frame.index
    return (*place, item.text) if item.touched else place
