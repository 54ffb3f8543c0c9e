"""Cases that no table thought of: any field that the release's types have, at any depth, with a value of its type.

Fields come from the schemas (read from the Go types), values from their names: what the tables try anywhere below the
same key, and texts and numbers that are right somewhere in the API. A field that the tables do not have is tried too.
"""

from __future__ import annotations

import copy
from functools import cache
from random import Random
from typing import Any

from conformance.generate.tables import draw, edited, list_edits, put, small
from conformance.generate.wrongvalues import STRANGERS, WRONG
from conformance.record import Case
from krmfn.server.schema import Type, find_kind

TEXTS = (
    "", "a", "A", "a.b", "a_b", "a/b", "/a", "../a", "x" * 64, "a b", "é", "1", "-1", "10%", "101%", "1Gi", "1m",
    "1.5", "None", "Always", "Never", "IfNotPresent", "OnFailure", "In", "Exists", "NotIn", "DoesNotExist", "Gt",
    "Equal", "NoSchedule", "NoExecute", "Honor", "Ignore", "TCP", "UDP", "HTTP", "HTTPS", "Memory", "default",
    "kubernetes.io/hostname", "example.com/x", "metadata.name", "limits.cpu", "RuntimeDefault", "Localhost",
    "Unconfined", "linux", "windows", "1.2.3.4", "::1", "Recreate", "RollingUpdate", "OnDelete", "Parallel",
    "Retain", "Delete", "Complete", "SuccessCriteriaMet", "Failed", "Indexed", "FailJob", "Count", "0-1", "c",
    "ReadWriteOnce", "Filesystem", "Block", "SIGTERM", "SIGKILL", "app", "x", "2026-01-01T00:00:00Z",
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 5, 10, 80, 100, 256, 420, 511, 512, 3600, 65535, 65536, 100000, 2**31 - 1, -1, -5)
QUANTITIES = ("1", "0", "-1", "1Gi", "500m", "1.5", "1e3", "0.1", "100k", 1, "64Mi", "2Mi", "1m")
WORDS = ("a", "b", "app", "x", "cpu", "memory", "example.com/gpu", "hugepages-2Mi", "A B", "a/b/c", "ephemeral-storage")
DEPTH = 9


@cache
def values_below(kind: str) -> dict[str, list[Any]]:
    """By key: every value that the tables try there, at any depth."""
    found: dict[str, list[Any]] = {}

    def visit(key: str, value: Any) -> None:
        found.setdefault(key, []).append(value)
        if isinstance(value, dict):
            for name, item in value.items():
                visit(name, item)
        elif isinstance(value, list):
            for item in value:
                for name, inner in item.items() if isinstance(item, dict) else ():
                    visit(name, inner)

    for where, value in list_edits(kind):
        names = [part for part in where if isinstance(part, str)]
        visit(names[-1], value)
    return found


def walk(release: str, kind: str, name: str, rng: Random) -> Case:
    """A create or an update with one to four fields of any type."""
    group = small(kind)["apiVersion"].rpartition("/")[0]
    known = find_kind(group, kind, release, {})
    assert known is not None
    edits = [make_edit(known.root, kind, rng) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4)))]
    if rng.random() < 0.5:
        edits += rng.sample(list_edits(kind), 1)
    if rng.random() < 0.6:
        return Case(f"{kind}.create.walk", kind, "create", edited(small(kind), edits, rng))
    edits = [edit for edit in edits if edit[0][0] != "metadata"]
    base = small(kind)
    base["metadata"]["name"] = name
    old = edited(base, edits[:-1], rng) if rng.random() < 0.6 else base
    new = edited(rng.choice((old, base)), edits[-1:], rng)
    return Case(f"{kind}.update.walk", kind, "update", new, old=old, also=rng.random() < 0.4)


def walk_shape(root: Type, api_version: str, kind: str, rng: Random) -> dict[str, Any]:
    """An object of a built-in kind with any fields that its type has, right or wrong."""
    body: dict[str, Any] = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "t"}}
    for _ in range(rng.choice((1, 1, 2, 3))):
        where, value = make_edit(root, "Pod", rng)
        put(body, where, value)
    if rng.random() < 0.2:
        put(body, (*rng.choice(((), ("metadata",), ("spec",))), rng.choice(STRANGERS)), rng.choice(WRONG))
    if isinstance(body["metadata"], dict):
        body["metadata"].pop("namespace", None)
    return body | {"apiVersion": api_version, "kind": kind}


def make_edit(root: Type, kind: str, rng: Random) -> tuple[tuple[str | int, ...], Any]:
    """A place that the types have, and a value for it. `kind` is the one whose tables know values."""
    of = root
    where: list[str | int] = []
    while True:
        if of.kind == "struct":
            names = [name for name in of.fields if where or name not in ("apiVersion", "kind", "status")]
            if not names:
                break
            name = rng.choice(names)
            where.append(name)
            of = of.fields[name].type
        elif of.kind == "list" and of.item is not None and rng.random() < 0.8:
            where.append(0)
            of = of.item
        else:
            break
        if len(where) > 3 and rng.random() < 0.12:
            break
    keys = [part for part in where if isinstance(part, str)]
    return tuple(where), make_value(of, keys[-1], kind, rng, len(where))


def make_value(of: Type, key: str, kind: str, rng: Random, depth: int) -> Any:
    """A value of the type, or now and then of another."""
    if rng.random() < 0.02:
        return copy.deepcopy(rng.choice(WRONG))
    known = values_below(kind).get(key)
    if known and rng.random() < 0.5:
        return draw(copy.deepcopy(rng.choice(known)), rng)
    if of.kind == "struct":
        if depth > DEPTH:
            return {}
        names = list(of.fields)
        chosen = rng.sample(names, min(len(names), rng.choice((0, 1, 1, 2, 2, 3, 5))))
        chosen += [name for name in of.fields if of.fields[name].required and name not in chosen]
        return {name: make_value(of.fields[name].type, name, kind, rng, depth + 1) for name in chosen}
    if of.kind == "list":
        assert of.item is not None
        return [make_value(of.item, key, kind, rng, depth + 1) for _ in range(rng.choice((0, 1, 1, 1, 2)))]
    if of.kind == "map":
        assert of.item is not None
        return {
            rng.choice(WORDS): make_value(of.item, key, kind, rng, depth + 1) for _ in range(rng.choice((0, 1, 1, 2)))
        }
    if of.kind == "bool":
        return rng.random() < 0.5
    if of.kind in ("int32", "int64", "float64"):
        return rng.choice(NUMBERS)
    if of.kind == "quantity":
        return rng.choice(QUANTITIES)
    if of.kind == "intorstring":
        return rng.choice((rng.choice(NUMBERS), rng.choice(TEXTS)))
    if of.kind == "bytes":
        return rng.choice(("", "YQ==", "a", "Y Q=="))
    if of.kind in ("time", "microtime"):
        return rng.choice(("2026-01-01T00:00:00Z", "2026-01-01", ""))
    return rng.choice(TEXTS)
