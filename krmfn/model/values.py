"""Reading manifests that may be wrong: a value of another type counts as absent. And what the API server tells objects
apart by: whoever pairs objects asks here.

Wrong types are findings of the server stage; every other check looks past them. Knows no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from krmfn.krm.paths import Fields as Fields  # noqa: PLC0414  # who reads values imports it from here
from krmfn.krm.paths import dig as dig  # noqa: PLC0414  # likewise
from krmfn.krm.results import DEFAULT_NAMESPACE, ResourceRef

#: An object, or a mapping in it, as it was read; one that is being made is of `Fields`.
Value: TypeAlias = Mapping[str, Any]
#: Objects, or parts of one, by name.
ByName: TypeAlias = Mapping[str, Value]
#: Namespace and name of an object, or API group and kind.
Key: TypeAlias = tuple[str, str]
Names: TypeAlias = tuple[str, ...]
#: Major and minor version of a project, and those of the installed ones by the projects' names.
Version: TypeAlias = tuple[int, int]
Versions: TypeAlias = Mapping[str, Version]
_NOTHING: Value = {}

_Each = TypeVar("_Each")
_Key = TypeVar("_Key")


def as_mapping(value: object, *path: str | int) -> Value:
    """`value`, or its part at a path, when it is a mapping, an empty one otherwise."""
    value = dig(value, *path) if path else value
    return value if isinstance(value, dict) else _NOTHING


def as_list(value: object, *path: str | int) -> Sequence[Any]:
    """`value`, or its part at a path, when it is a list, an empty one otherwise."""
    value = dig(value, *path) if path else value
    return value if isinstance(value, list) else ()


def as_text(value: object, *path: str | int) -> str:
    """`value`, or its part at a path, when it is a string, "" otherwise."""
    value = dig(value, *path) if path else value
    return value if isinstance(value, str) else ""


def as_int(value: object, *path: str | int) -> int | None:
    """`value`, or its part at a path, if it is a whole number, which a bool is not; else None."""
    value = dig(value, *path) if path else value
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def as_count(value: object, *path: str | int, default: int = 1) -> int:
    """`value`, or its part at a path, when it is a whole number; what counts where none is written otherwise."""
    number = as_int(value, *path)
    return default if number is None else number


def without_nulls(value: Any) -> Any:
    """A value without what is null, as a merge patch has it."""
    if isinstance(value, list):
        return list(map(without_nulls, value))
    if not isinstance(value, Mapping):
        return value
    return {key: without_nulls(each) for key, each in value.items() if each is not None}


def key_of(value: object) -> Key:
    """The namespace and the name of an object. A namespace that is not written is `default`, also for kinds without."""
    return as_text(value, "metadata", "namespace") or DEFAULT_NAMESPACE, name_of(value)


def name_of(value: object) -> str:
    """The name of an object, "" where it has none."""
    return as_text(value, "metadata", "name")


def pick(value: object, keys: Iterable[str]) -> Fields:
    """Of a mapping the keys that are named, as far as they are there."""
    given = as_mapping(value)
    return {key: given[key] for key in keys if key in given}


def group_by(key: Callable[[_Each], _Key], values: Iterable[_Each]) -> dict[_Key, list[_Each]]:
    """Values by what `key` says of each, in their order."""
    groups: dict[_Key, list[_Each]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


class Identity(NamedTuple):
    """An object of a cluster. The version is not part of it; `namespace` is never empty (make one with `identify`)."""

    group: str
    kind: str
    namespace: str
    name: str


def identify(ref: ResourceRef) -> Identity:
    """The identity behind a reference."""
    return Identity(*ref.group_kind, *ref.key)


def is_near(one: str, other: str) -> bool:
    """Whether an object can have moved between two namespaces: a person has added it to the manifest, or removed it."""
    return one == other or DEFAULT_NAMESPACE in (one, other)
