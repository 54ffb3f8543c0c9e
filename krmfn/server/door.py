"""The front door: one question, one answer, for every kind that something is known of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from krmfn.model.values import Value
from krmfn.server.admission import NO_FACTS, AdmissionFacts
from krmfn.server.answers import Mode, as_sent, change_held, kind_of, misreads_numbers
from krmfn.server.requests import create
from krmfn.server.schema import Gates, compile_schemas
from krmfn.server.verdict import Verdict, guard, refused_by


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
        return (
            guard(create, kind, body, facts) if stored is None else guard(change_held, kind, body, stored, way, facts)
        )

    verdict = ask(value)
    return ask(as_sent(value)) if misreads_numbers(verdict, value) else verdict


def _judge_other(value: Any, release: str, stored: Any, way: Mode, definitions: Iterable[Value] = ()) -> Verdict | None:
    """The answer about an object of a kind without rules: by its definition, or by its shape; None where neither is
    known."""
    api_version, kind = (value.get(key) if isinstance(value, Mapping) else None for key in ("apiVersion", "kind"))
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    group, _, version = api_version.rpartition("/")
    if "." in group:
        from krmfn.server.custom import Given
        from krmfn.server.shipped import Shipped, find_shipped, judge_all

        found = Given(definitions).find(group, kind, version)
        given = Shipped("", "", {str(number): each for number, each in enumerate(found)}, True)
        known = given if found else find_shipped(group, kind, version, {})
        if isinstance(known, Shipped):
            answer, doubted = judge_all(known, compile_schemas(release, {}), value, stored, (), way)
            return refused_by((*answer.causes, *doubted))
    from krmfn.server.others import apply_over, find_shape, judge_shape

    root = find_shape(api_version, kind, release)
    if root is None:
        return None
    merged = apply_over(root, stored, value) if stored is not None and way == "server-side-apply" else value
    return judge_shape(root, merged, api_version, release, stored, way)
