"""What the server fills into the same manifest otherwise after the upgrade of a cluster: objects that exist keep what
they have, those that are created anew get it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.server.stage import gather_facts
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.krm.paths import Path, format_path
from krmfn.krm.results import ABSENT
from krmfn.plan.changes import clean, list_changes
from krmfn.plan.records import Change
from krmfn.releases.gates import assume_gates
from krmfn.releases.spelling import NAMED, read_mode
from krmfn.server.answers import kind_of
from krmfn.server.requests import hold


def explain_filling(old: Item, new: Item, before: Settings, after: Settings) -> Iterator[str]:
    """A sentence for each field that the cluster of `before` fills into `old` otherwise than that of `after` into
    `new`. Nothing where one of them is refused, or of a kind without rules."""
    was, now = _list_filled(old, before), _list_filled(new, after)
    if was is None or now is None:
        return
    written = {_name(change.path) for change in list_changes(clean(old.value), clean(new.value))}
    for path in dict.fromkeys((*now, *was)):
        one, other = was.get(path), now.get(path)
        if not any(path[: len(above)] == above for above in written) and _read(path, one) != _read(path, other):
            place = format_path((other or one or Change((), None, None)).path)
            texts = [json.dumps(each.new) if each else "nothing" for each in (other, one)]
            yield (
                f"{place}: when the object is created, Kubernetes {after.release} fills in {texts[0]}, "
                f"{before.release} filled in {texts[1]}.{' Write the field to keep its meaning.' if one else ''}"
            )


def _list_filled(item: Item, settings: Settings) -> Mapping[Path, Change] | None:
    """What the server adds to the spec of an object, by its path in the names of 1.37."""
    gates = assume_gates(settings.feature_gates, settings.release, item.text)
    kind = kind_of(item.value, settings.release.name, gates)
    stored = hold(kind, item.value, gather_facts((item,), settings)) if kind else None
    if stored is None:
        return None
    changes = list_changes(clean(item.value), clean(stored))
    return {_name(each.path): each for each in changes if each.path[0] == "spec" and each.old is ABSENT}


def _name(path: Path) -> Path:
    return tuple(NAMED.get(part, part) if isinstance(part, str) else part for part in path)


def _read(path: Path, change: Change | None) -> Any:
    """What is filled in, whatever a release calls a mode."""
    value = change.new if change else None
    return read_mode(value) or value if path[-1] == "disruptionMode" else value
