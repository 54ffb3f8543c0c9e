"""What the server does to an object before it looks at it: defaults, system fields, gated fields that are off.

Objects are normal and changed in place; the caller owns them. Knows keywords, no kinds.

Source: the defaults and strategies of k8s.io/kubernetes (pkg/registry/…/strategy.go) and of k8s.io/apiserver
(pkg/registry/rest).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Fields, Names, Value
from krmfn.server.schema import Field, Kind, Stored, Type

_Plan: TypeAlias = "tuple[tuple[Field, ...], tuple[Field, ...]]"

#: The uid that every stored object has here: the server's is random, and only its being there matters.
STORED_UID = "00000000-0000-0000-0000-000000000000"

_SYSTEM = frozenset(("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))


def fill_defaults(of: Type, value: Fields) -> None:
    """Static defaults of this struct and everything below it."""
    plan = of.cache.get("defaults")
    if plan is None:
        filled, holding = plan_fields(of, lambda field: field.default is not None, through=True)
        plan = of.cache["defaults"] = (
            [(field.name, field.default, isinstance(field.default, dict | list)) for field in filled],
            [(field.name, _inner(field.type), field.type.kind == "struct", field.pointer) for field in holding],
        )
    own, below = plan
    for name, default, is_deep in own:
        if name not in value:
            value[name] = copy_value(default) if is_deep else default
    for name, inner, is_struct, pointer in below:
        held = value.get(name)
        if not is_struct:
            for item in held or ():
                fill_defaults(inner, item)
        elif held is not None:
            fill_defaults(inner, held)
        elif not pointer:  # a plain struct is there even when nothing was written
            value[name] = held = {}
            fill_defaults(inner, held)


def drop_gated(kind: Kind, new: Fields, old: Stored) -> Iterator[tuple[Path, str]]:
    """Remove the fields whose gate is off, unless the stored object uses them; in a pod's spec, unless the stored one
    uses what the gate brings. Yields (path, gate) of what was there."""
    found = list(_find_gated(kind.root, new, old, ()))
    at = tuple(kind.pod_spec)
    if at:
        spec, before = dig(new, *at, default={}), dig(old, *at)
        used = {field.gate for _, field, _, _ in _find_gated(kind.pod_type, before, None, (), True)} if before else ()
        found += [each for each in _find_gated(kind.pod_type, spec, None, at, True) if each[1].gate not in used]
    for holder, field, path, was in found:
        if field.name in holder and not (was and field.name in was):
            del holder[field.name]
            yield path, field.gate
            if field.gate == "ContainerStopSignals" and holder == {}:
                del dig(new, *path[:-2])[path[-2]]


def _find_gated(
    of: Type, value: Fields, old: Stored, path: Path, through: bool = False
) -> Iterator[tuple[Fields, Field, Path, Value | None]]:
    """The holder, the field and its path of what is there, and the holder in the stored object: items of lists are
    matched by index or by name, as the strategy does for that list. `through`: see plan_fields."""
    own, below = _list_gated(of, through)
    for field in own:
        if field.name in value:
            yield value, field, (*path, field.name), old
    for field in below:
        inner, before = value.get(field.name), (old or {}).get(field.name)
        if not inner or (field.gate and not through and not (old and field.name in old)):
            continue  # there is nothing, or it goes as a whole
        where = (*path, field.name)
        if field.type.kind == "struct":
            yield from _find_gated(field.type, inner, before, where, through)
        elif item := field.type.item:
            by_name = field.drop_correlation == "name"
            known = {each.get("name", "") if by_name else index: each for index, each in enumerate(before or ())}
            for index, each in enumerate(inner):
                was = known.get(each.get("name", "") if by_name else index) if known else None
                yield from _find_gated(item, each, was, (*where, index), through)


def _list_gated(of: Type, through: bool) -> _Plan:
    """The fields of a struct whose gate is off, and those below which there are some."""
    key = "all gated" if through else "gated"
    plan: _Plan | None = of.cache.get(key)
    if plan is None:
        plan = of.cache[key] = plan_fields(of, lambda field: bool(field.gate), through)
    return plan


def plan_fields(of: Type, test: Callable[[Field], bool], through: bool = False) -> _Plan:
    """The fields of this struct that pass the test, and those below which some do; `through` opaque ones, too."""
    fields = of.fields.values()
    passed = (field for field in fields if through or not field.opaque)
    below = tuple(field for field in passed if _reaches(field.type, test, through))
    return tuple(filter(test, fields)), below


def _reaches(of: Type, test: Callable[[Field], bool], through: bool) -> bool:
    waiting, seen = [of], set()
    while waiting:
        inner = _inner(waiting.pop())
        if inner.kind == "struct" and inner not in seen:
            seen.add(inner)
            for field in inner.fields.values():
                if test(field):
                    return True
                if through or not field.opaque:
                    waiting.append(field.type)
    return False


def _inner(of: Type) -> Type:
    """What a list holds, or a list of lists."""
    while of.kind == "list" and of.item is not None:
        of = of.item
    return of


def copy_value(value: Any) -> Any:
    """A deep copy of a JSON-like value."""
    if isinstance(value, dict):
        return {key: copy_value(item) for key, item in value.items()}
    return [copy_value(item) for item in value] if isinstance(value, list) else value


def with_fields(value: Value, other: Value, *names: str) -> Fields:
    """A copy of an object, with these fields as another one has them, or has them not."""
    out = {name: field for name, field in value.items() if name not in names}
    return out | {name: other[name] for name in names if name in other}


def clean_new_metadata(meta: Fields) -> Names:
    """Drop what a create ignores in metadata. Returns the warning about it, if any."""
    for name in _SYSTEM.intersection(meta):
        del meta[name]
    forget_unreadable_managers(meta)
    return drop_repeated_owners(meta)


#: Stands for the five random characters behind a generateName: some that the server could draw.
RANDOM = "krmfn"


def generate_name(meta: Fields) -> str:
    """Make a name from generateName: its first 58 bytes and five characters. Returns it, or "" where none was made."""
    prefix: str = meta.get("generateName", "")
    if not prefix or meta.get("name"):
        return ""
    encoded = prefix.encode("utf-8", "surrogatepass")
    if len(encoded) > 58:
        prefix = encoded[:58].decode("utf-8", "replace")
    name: str = prefix + RANDOM
    meta["name"] = name
    if "labels" in meta:
        meta["labels"] = dict(meta["labels"])  # the server works on a copy of the object, in case the name is taken
    return name


def drop_repeated_owners(meta: Fields, patched: bool = False) -> Names:
    """Equal owner references are kept once. Returns the warning, if any; a patch is looked at after admission."""
    kept: list[Any] = []
    repeated = []
    for owner in meta.get("ownerReferences", ()):
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if not repeated:
        return ()
    meta["ownerReferences"] = kept
    when = " after mutating admission happens" if patched else ""
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and"
        " may reject such requests as early as 1.24; please fix your requests; duplicate UID(s)"
        f" observed: {', '.join(repeated)}",
    )


def first_generation(kind: Kind, new: Fields) -> None:
    """Built-in kinds count their generations from 1 whatever the manifest says."""
    new["metadata"]["generation"] = 1


def forget_unreadable_managers(meta: Fields) -> None:
    """Managed fields of which one entry cannot be read are replaced by the server's own."""
    if any(
        entry.get("operation") not in ("Apply", "Update")
        or entry.get("fieldsType") != "FieldsV1"
        or not entry.get("apiVersion")
        for entry in meta.get("managedFields", ())
    ):
        del meta["managedFields"]
