"""What the API server tells objects apart by. The one notion of it: whoever pairs objects asks here."""

from __future__ import annotations

from typing import NamedTuple

from krmfn.krm.results import DEFAULT_NAMESPACE, ResourceRef


class Identity(NamedTuple):
    """An object of a cluster. The version is not part of it; `namespace` is never empty (make one with `identify`)."""

    group: str
    kind: str
    namespace: str
    name: str


def identify(ref: ResourceRef) -> Identity:
    """The identity behind a reference."""
    api_version, kind, name, namespace = ref
    return Identity(api_version.rpartition("/")[0], kind, namespace or DEFAULT_NAMESPACE, name)


def is_near(one: str, other: str) -> bool:
    """Whether an object can have moved between two namespaces: a person has just written one into it, or taken it
    out."""
    return one == other or DEFAULT_NAMESPACE in (one, other)
