"""The answer of an API server to one request: a create, or a change in one of three ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from krmfn.model.values import Fields
from krmfn.server.admission import NO_FACTS, AdmissionFacts
from krmfn.server.requests import create, hold, update
from krmfn.server.schema import Gates, Kind, find_kind
from krmfn.server.verdict import Verdict

Mode: TypeAlias = 'Literal["apply", "server-side-apply", "replace"]'


def kind_of(value: Any, release: str, gates: Gates) -> Kind | None:
    """The kind that `apiVersion` and `kind` name, in that release with those gates on; None when it is not covered."""
    if not isinstance(value, Mapping):
        return None
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group, _, version = api_version.rpartition("/")
    return find_kind(group, kind, release, gates, version)


def misreads_numbers(verdict: Verdict, *values: Any) -> bool:
    """Whether an object is refused for how a number is written, which a client would have written otherwise."""
    if verdict.accepted or not any(cause.rule in ("wrong-type", "bad-value") for cause in verdict.causes):
        return False
    try:
        return any(as_sent(value) is not value for value in values)
    except RecursionError:
        return False


def as_sent(value: Any) -> Any:
    """A value of YAML or JSON as kubectl sends it: whole numbers have no fraction and no exponent, `3.0` is `3`. The
    same object where there is nothing to do."""
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, dict):
        sent = {key: as_sent(item) for key, item in value.items()}
        return sent if any(sent[key] is not item for key, item in value.items()) else value
    if isinstance(value, list):
        items = [as_sent(item) for item in value]
        return items if any(one is not other for one, other in zip(items, value, strict=True)) else value
    return value


def change_held(kind: Kind, new: Any, old: Any, mode: Mode, facts: AdmissionFacts) -> Verdict:
    """The answer to changing `old` as it lies in Git; to a create where the server would not have taken that."""
    old = as_sent(old)
    stored = hold(kind, old, facts)
    return create(kind, new, facts) if stored is None else change(kind, new, old, stored, mode, facts)


def change(
    kind: Kind, new: Any, old: Any, stored: Fields, mode: Mode = "apply", facts: AdmissionFacts = NO_FACTS
) -> Verdict:
    """The answer to changing the manifest `old`, which the server holds as `stored` (see hold)."""
    if mode == "replace":
        meta = new.get("metadata") if isinstance(new, dict) else None
        if isinstance(meta, dict) and not meta.get("resourceVersion"):
            new = {**new, "metadata": {**meta, "resourceVersion": stored["metadata"]["resourceVersion"]}}
        return update(kind, new, stored, facts)
    from krmfn.server.apply import apply, apply_server_side

    return (apply if mode == "apply" else apply_server_side)(kind, new, old, stored, facts)
