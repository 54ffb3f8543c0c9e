"""What the server does to an object before it looks at it: defaults, system fields, gated fields that are off.

Objects are normal and changed in place; the caller owns them. Knows keywords, no kinds.

Source: the defaults and strategies of k8s.io/kubernetes (pkg/registry/…/strategy.go) and of k8s.io/apiserver
(pkg/registry/rest); sections 2.4, 4.5, 5.9 and 8.1 of the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from krmfn.krm.paths import Path
from krmfn.model.values import Fields
from krmfn.server.schema import Field, Kind, Type

_Plan: TypeAlias = "tuple[tuple[Field, ...], tuple[Field, ...]]"

#: The uid that every stored object has here: the server's is random, and only its being there matters.
STORED_UID = "00000000-0000-0000-0000-000000000000"

_SYSTEM = frozenset(("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"))


def fill_defaults(of: Type, value: Fields) -> None:
    """Static defaults of this struct and everything below it."""
    plan = of.cache.get("defaults")
    if plan is None:
        filled, holding = _plan(of, lambda field: field.default is not None, through=True)
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


def drop_gated(of: Type, new: Fields, old: Fields | None, path: Path, out: list[tuple[Path, str]]) -> None:
    """Remove the fields whose gate is off, unless the stored object uses them. Appends (path, gate) of what was
    there."""
    own, below = list_gated(of)
    for field in own:
        if field.name in new and not (old and field.name in old):
            del new[field.name]
            out.append(((*path, field.name), field.gate))
    for field in below:
        value = new.get(field.name)
        if not value:
            continue
        before = (old or {}).get(field.name)
        where = (*path, field.name)
        if field.type.kind == "struct":
            drop_gated(field.type, value, before, where, out)
        else:
            _drop_in_list(field, value, before or [], where, out)


def _drop_in_list(field: Field, value: list[Any], old: list[Any], path: Path, out: list[tuple[Path, str]]) -> None:
    """Items are matched with stored ones by index or by name, as the strategy does for that list."""
    assert field.type.item is not None
    if field.drop_by == "name":
        named = {item.get("name", ""): item for item in old}
        matched = [named.get(item.get("name", "")) for item in value]
    else:
        matched = [*old[: len(value)], *[None] * (len(value) - len(old))]
    for index, item in enumerate(value):
        drop_gated(field.type.item, item, matched[index], (*path, index), out)


def list_gated(of: Type, through: bool = False) -> _Plan:
    """The fields of a struct whose gate is off, and those below which there are some; `through` opaque ones, too."""
    key = "all gated" if through else "gated"
    plan: _Plan | None = of.cache.get(key)
    if plan is None:
        plan = of.cache[key] = _plan(of, lambda field: bool(field.gate), through)
    return plan


def _plan(of: Type, test: Callable[[Field], bool], through: bool) -> _Plan:
    """The fields of this struct that pass the test, and those below which some do."""
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


def wipe_system_fields(meta: Fields) -> None:
    """What a create ignores in metadata."""
    for name in _SYSTEM.intersection(meta):
        del meta[name]


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
    meta["name"] = prefix + RANDOM
    if "labels" in meta:
        meta["labels"] = dict(meta["labels"])  # the server works on a copy of the object, in case the name is taken
    return prefix + RANDOM


def drop_repeated_owners(meta: Fields, patched: bool = False) -> str:
    """Equal owner references are kept once. Returns the warning, if any; a patch is looked at after admission."""
    owners = meta.get("ownerReferences")
    if not owners or len(owners) < 2:
        return ""
    kept: list[Any] = []
    repeated = []
    for owner in owners:
        if owner in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept.append(owner)
    if not repeated:
        return ""
    meta["ownerReferences"] = kept
    when = " after mutating admission happens" if patched else ""
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and"
        " may reject such requests as early as 1.24; please fix your requests; duplicate UID(s)"
        f" observed: {', '.join(repeated)}"
    )


def first_generation(kind: Kind, new: Fields) -> None:
    """Built-in kinds count their generations from 1 whatever the manifest says."""
    new["metadata"]["generation"] = 1


def forget_unreadable_managers(meta: Fields) -> None:
    """Managed fields of which one entry cannot be read are replaced by the server's own."""
    entries = meta.get("managedFields", ())
    for entry in entries:
        if (
            entry.get("operation") not in ("Apply", "Update")
            or entry.get("fieldsType") != "FieldsV1"
            or not entry.get("apiVersion")
        ):
            del meta["managedFields"]
            return
