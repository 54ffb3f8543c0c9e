"""Objects in the words of a release: links, references to templates and disruption modes as it spells them; and what
its schemas leave no room for: fields that it does not have, values that it does not take, and lists that are too long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from krmfn.convert.board import Board, relink, walk_templates
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.values import Value, as_list
from krmfn.releases import schemastore
from krmfn.releases.release import GROUP as NATIVE
from krmfn.releases.release import QUORUMS, Release, assume_gates
from krmfn.releases.spelling import GROUP_LINKS, NAMES, TEMPLATES, find_word, read_mode

_VALUE = -2


def fit(board: Board, goal: Release, others: Sequence[Release], down: bool) -> None:
    """Take out the fields that `goal` does not know, and say so; say which lists are too long for it, and which
    policies and values it does not have. Of values, and of all if the way is not `down`, only what one of the `others`
    has room for: the rest is a mistake, or a placeholder."""
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            if goal.serves(item.api_version, kind):
                found = _list_misfits(item, goal)
                known = [_list_misfits(item, one).keys() for one in others if kind in one.kinds] if found else ()
                for path, length in reversed(found.items()):
                    is_everywhere = all(any(path[: len(above)] == above for above in each) for each in known)
                    if (down and length != _VALUE) or not is_everywhere:
                        _settle(board, item, path, length, goal)
                if goal.has("mixed-modes"):
                    _tell_mixed(board, item, goal)


def _tell_mixed(board: Board, item: Item, goal: Release) -> None:
    """Modes that the release refuses together, in a Workload or in a group by itself."""
    from krmfn.server import answer

    verdict = answer(item.value, goal.name, assume_gates({}, goal, item.text))
    for cause in verdict.causes if verdict else ():
        if cause.rule == "mixed-modes":
            message = f"Kubernetes {goal} refuses {cause.path[-1]}: {cause.message.partition(': ')[2]}; it is unchanged"
            board.note(item, "convert-impossible", message, cause.path, "Generate the groups for this release instead.")


def _list_misfits(item: Item, release: Release) -> dict[Path, int]:
    schema = schemastore.load(f"kubernetes/{release}/{item.kind.lower()}.json")
    spec = {"properties": {"spec": schema["properties"]["spec"]}}
    return dict(_find_misfits({"spec": item.get(("spec",))}, spec, schema.get("$defs", {}), ()))


def _settle(board: Board, item: Item, path: Path, length: int, goal: Release) -> None:
    if length > 0:
        message = f"{len(item.get(path))} entries in {path[-1]}, but {goal} allows {length}; they are unchanged"
        hint = "Generate one group for all pods instead (granularity Cluster)."
        board.note(item, "convert-impossible", message, path, hint)
    elif length == _VALUE:
        message = f"Kubernetes {goal} does not accept {path[-1]}: {item.get(path)}; it is unchanged"
        board.note(item, "convert-impossible", message, path, f"Write a value that Kubernetes {goal} accepts.")
    elif length:
        words = ", ".join(map(str, item.get(path)))
        message = f"Kubernetes {goal} has no {path[-1]} {words}; it is unchanged"
        board.note(item, "convert-impossible", message, path, f"Use one that Kubernetes {goal} has.")
    else:
        field = ".".join(part for part in path[1:] if isinstance(part, str))
        board.note(item, "convert-lost", f"Kubernetes {goal} has no {field}: it was dropped", path)
        board.edit(item, Item.remove, path)


def _find_misfits(value: Any, schema: Value, types: Value, path: Path) -> Iterator[tuple[Path, int]]:
    """The places of what does not fit: unknown fields with 0, long lists with the most that they may have. A union
    with a member that is not known goes as a whole; -1 for an object that cannot be missing, and would be empty;
    _VALUE for a value of another type, or beyond its limits."""
    needed = -1 if schema.get("x-kubernetes-always-written") else 0
    schema = types.get(str(schema.get("$ref")).rpartition("/")[2], schema)
    fields = schema.get("properties")
    if isinstance(value, Mapping) and fields:
        unknown = [key for key in value if key not in fields]
        if unknown and ("x-kubernetes-union" in schema or (needed and len(unknown) == len(value))):
            yield path, needed
            return
        for key, child in value.items():
            if key in unknown:
                yield (*path, key), 0
            else:
                yield from _find_misfits(child, fields[key], types, (*path, key))
    elif isinstance(value, list):
        longest = schema.get("maxItems", 0)
        if longest and len(value) > longest:
            yield path, longest
        for index, child in enumerate(value):
            yield from _find_misfits(child, schema.get("items", {}), types, (*path, index))
    elif not _takes(schema, value):
        yield path, _VALUE


def _takes(schema: Value, value: Any) -> bool:
    """Whether a text or a number has the type of the schema and is within its limits."""
    form = schema.get("type", ())
    if isinstance(value, str):
        limits = ("maxLength", len(value)), ("x-kubernetes-max-bytes", len(value.encode()))
        known = value in schema.get("enum", (value,)) and all(size <= schema.get(name, size) for name, size in limits)
        return not form or ("string" in form and known)
    if isinstance(value, int) and not isinstance(value, bool):
        return not form or ("integer" in form and schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


def respell(board: Board, goal: Release, writers: Sequence[Release]) -> None:
    """Spell what stands in pods, and in objects of a version that one of `writers` serves, as `goal` does."""
    for item, site in board.sites():
        if site.field in GROUP_LINKS and site.field != goal.link:
            board.edit(item, relink, site.whole[0], goal.link, site.value)
    for kind in goal.kinds:
        for item in board.of(NATIVE, kind):
            if any(one.serves(item.api_version, kind) for one in writers):
                board.edit(item, spell_out, goal)


def spell_out(item: Item, goal: Release) -> None:
    """Spell what an object says as a release does: its reference to a template, modes, names of fields."""
    for path in TEMPLATES:
        names = item.get(("spec", *path[:-1]))
        if path != goal.template and isinstance(names, Mapping) and path[-1] in names:
            item.remove(("spec", path[0]))
            words = {path[-1]: goal.template[-1]}
            item.set(("spec", *goal.template[:-1]), {words.get(key, key): names[key] for key in names})
    _rename(item, ("spec", *goal.template[:-1]), ("workloadName",), goal)
    spec = item.get(("spec",))
    root = (("spec",), item.kind == "CompositePodGroup")
    places: list[tuple[Path, bool]] = [root, *((place, above) for place, _, above in walk_templates(spec))]
    for place, is_composite in reversed(places):  # a list is renamed after what is in it
        fields = item.get(place)
        policy, field, keys = (
            find_word(fields, name) for name in ("schedulingPolicy", "disruptionMode", "schedulingConstraints")
        )
        mode = item.get((*place, field))
        written = goal.modes.get(read_mode(mode), mode)
        if written != mode:
            item.set((*place, field), written)
        quorum = QUORUMS["CompositePodGroup" if is_composite else "PodGroup"]
        _rename(item, (*place, policy, find_word(item.get((*place, policy)), "gang")), (quorum,), goal)
        _rename(item, (*place, policy), ("gang", "basic"), goal)
        topology = find_word(item.get((*place, keys)), "topology")
        for index, _ in enumerate(as_list(item.get((*place, keys, topology)))):
            _rename(item, (*place, keys, topology, index), ("key",), goal)
        _rename(item, (*place, keys), ("topology",), goal)
        _rename(item, place, NAMES.keys() - {*QUORUMS.values()}, goal)


def _rename(item: Item, place: Path, names: Iterable[str], goal: Release) -> None:
    """Give fields the words of `goal`, in their order."""
    values = item.get(place)
    if isinstance(values, Mapping):
        words = {find_word(values, name): goal.call(name) for name in names}
        made = {words.get(key, key): values[key] for key in values}
        if [*made] != [*values]:
            item.set(place, made)
