"""The front door: one question, one answer, for every kind that something is known of."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from krmfn.model.values import Value, as_text, dig
from krmfn.server.admission import NO_FACTS, AdmissionFacts
from krmfn.server.requests import create, hold, update
from krmfn.server.schema import Gates, Kind, compile_schemas, find_kind
from krmfn.server.verdict import Mode, Verdict, guard, refused_by


def answer(
    value: Any,
    release: str,
    gates: Gates,
    stored: Any = None,
    way: Mode = "apply",
    facts: AdmissionFacts = NO_FACTS,
    definitions: Iterable[Value] = (),
) -> Verdict | None:
    """The answer of a server of `release` to an object, with strict field validation.

    `value` is what `json.loads` gives. Gates that are not in `gates` have their default. Without `stored` it is a
    create; else a change of `stored`, as it lies in Git, sent in one `way`: "apply" keeps what the server filled in, as
    kubectl's three-way apply does; "server-side-apply" is one forced field manager; "replace" is a PUT of the manifest
    with the stored resourceVersion, as `kubectl replace` sends it. What the server would not have taken before is no
    state to change: the answer is that to a create.

    A custom resource is judged by `definitions` (CustomResourceDefinitions), else by those that come with krmfn; a
    built-in kind without rules of its own by its shape. None where nothing is known of the kind.
    """
    kind = kind_of(value, release, gates)
    if kind is None:
        return _judge_other(value, release, stored, way, definitions)

    def ask(body: Any) -> Verdict:
        return create(kind, body, facts) if stored is None else change_held(kind, body, stored, way, facts)

    return ask_as_sent(ask, value)


def _judge_other(value: Any, release: str, stored: Any, way: Mode, definitions: Iterable[Value]) -> Verdict | None:
    """The answer about an object of a kind without rules: by its definition, or by its shape; None where neither is
    known."""
    api_version, kind = as_text(value, "apiVersion"), as_text(value, "kind")
    group, _, version = api_version.rpartition("/")
    if "." in group:
        from krmfn.server.custom import Given
        from krmfn.server.shipped import Shipped, find_shipped, judge_all

        found = Given(definitions).find(group, kind, version)
        known = Shipped("", "", found, True) if found else find_shipped(group, kind, version, {})
        if isinstance(known, Shipped):
            answer, doubted = judge_all(known, compile_schemas(release, {}), value, stored, (), way)
            return refused_by((*answer.causes, *doubted))
    from krmfn.server.others import apply_over, find_shape, judge_shape

    root = find_shape(api_version, kind, release)
    if root is None:
        return None
    merged = apply_over(root, stored, value) if stored is not None and way == "server-side-apply" else value
    return judge_shape(root, merged, api_version, release, stored, way)


def kind_of(value: Any, release: str, gates: Gates) -> Kind | None:
    """The kind that `apiVersion` and `kind` name, in that release with those gates on; None when it is not covered."""
    api_version = dig(value, "apiVersion")
    if not isinstance(api_version, str):  # without one it is of no group, not even the core group
        return None
    group, _, version = api_version.rpartition("/")
    return find_kind(group, as_text(value, "kind"), release, gates, version)


def ask_as_sent(ask: Callable[[Any], Verdict], value: Any) -> Verdict:
    """The answer to a value; where a type is wrong, the one to what a client sends, which writes numbers otherwise."""
    verdict = guard(ask, value)
    if any(cause.rule in ("wrong-type", "bad-value") for cause in verdict.causes):
        return guard(lambda: ask(as_sent(value)))
    return verdict


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
    if stored is None:
        return create(kind, new, facts)
    if mode == "replace":
        meta = new.get("metadata") if isinstance(new, dict) else None
        if isinstance(meta, dict) and not meta.get("resourceVersion"):
            new = {**new, "metadata": {**meta, "resourceVersion": stored["metadata"]["resourceVersion"]}}
        return update(kind, new, stored, facts)
    from krmfn.server.apply import apply, apply_server_side

    return (apply if mode == "apply" else apply_server_side)(kind, new, old, stored, facts)
