"""Cases from tables of values: each value at its place in a small valid object, alone and several together, as a create
and as an update.

The tables are `podvalues.yaml` (places of a pod's spec, tried in every kind that makes pods), `kindvalues.yaml`, and
`plainvalues.yaml` for kinds without pods.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from conformance.address import BUILT_IN, PLAIN
from conformance.generate.shapes import Where
from conformance.generate.texts import bad, good
from conformance.record import Case
from conformance.versions import Profile

HERE = Path(__file__).parent
PODS: dict[str, Where] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
TEMPLATE: Where = ("spec", "template", "spec")
#: A place and the value that it gets.
Edit = tuple[Where, Any]
TOGETHER = (1, 1, 2, 2, 3, 5)


@cache
def read_table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = yaml.safe_load((HERE / name).read_text())
    return table


@cache
def list_edits(kind: str) -> tuple[Edit, ...]:
    """Everything that the tables try in a kind; those of pods come last."""
    if kind in PLAIN:
        plain = read_table("plainvalues.yaml")
        rows = (*plain["every"].items(), *plain[kind].items())
        return tuple((read_place(text), value) for text, values in rows if text != "object" for value in values)
    pods = PODS.get(kind, TEMPLATE)
    tables: list[tuple[Where, dict[str, list[Any]]]] = [((), read_table("kindvalues.yaml")["every"])]
    tables.append(((), read_table("kindvalues.yaml").get(kind, {})))
    tables.append((pods[:-1], read_table("kindvalues.yaml")["template"]))
    tables.append((pods, read_table("podvalues.yaml")))
    return tuple(
        (place + read_place(text), value)
        for place, table in tables
        for text, values in table.items()
        for value in values
    )


def read_place(text: str) -> Where:
    """`a.b[0].c` as a path."""
    return tuple(int(part) if part.isdigit() else part for part in re.findall(r"[^.\[\]]+", text))


def small(kind: str) -> dict[str, Any]:
    """A valid object of a kind."""
    if kind in PLAIN:
        place = {} if PLAIN[kind].get("cluster") else {"namespace": "ml"}
        content: dict[str, Any] = copy.deepcopy(read_table("plainvalues.yaml")[kind]["object"])
        return {"apiVersion": BUILT_IN[kind], "kind": kind, "metadata": {"name": "t", **place}} | content
    pods: dict[str, Any] = {"containers": [{"name": "c", "image": "busybox:1"}]}
    meta = {"name": "t", "namespace": "ml"}
    head = {"apiVersion": BUILT_IN[kind], "kind": kind, "metadata": meta}
    if kind in ("Job", "CronJob"):
        pods["restartPolicy"] = "Never"
    if kind == "Pod":
        return {**head, "spec": pods}
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pods}
    if kind == "PodTemplate":
        return {**head, "template": template}
    spec: dict[str, Any] = {"template": template}
    if kind == "CronJob":
        spec = {"schedule": "* * * * *", "jobTemplate": {"spec": spec}}
    elif kind != "Job":
        spec["selector"] = {"app": "x"} if kind == "ReplicationController" else {"matchLabels": {"app": "x"}}
    if kind == "StatefulSet":
        spec["serviceName"] = "s"
    return {**head, "spec": spec}


def put(body: Any, where: Where, value: Any) -> None:
    """In place; what is missing on the way, or of another type, is made."""
    for index, step in enumerate(where):
        last = index + 1 == len(where)
        wanted: type = list if not last and isinstance(where[index + 1], int) else dict
        if isinstance(step, int):
            body.extend([None] * (step + 1 - len(body)))
            there = body[step]
        else:
            there = body.get(step)
        if last or not isinstance(there, wanted):
            body[step] = value if last else wanted()
        body = body[step]


def draw(value: Any, rng: Random) -> Any:
    """A copy with a text in place of each `$form`."""
    if isinstance(value, dict):
        return {key: draw(item, rng) for key, item in value.items()}
    if isinstance(value, list):
        return [draw(item, rng) for item in value]
    if isinstance(value, str) and value[:1] == "$" and value[1:].replace("-", "").isalpha():
        return (good if rng.random() < 0.3 else bad)(value[1:], rng)
    return value


def edited(body: Any, edits: Sequence[Edit], rng: Random) -> Any:
    new = copy.deepcopy(body)
    for where, value in edits:
        put(new, where, draw(value, rng))
    meta = new.get("metadata")
    if isinstance(meta, dict) and "generateName" in meta:
        meta.pop("name", None)
    return new


def tables_in_turn(profile: Profile, kind: str) -> Iterator[Case]:
    """Every value of the tables once: created, and put into an object that is stored."""
    rng = Random(f"{profile.name}/{kind}")
    for number, edit in enumerate(list_edits(kind)):
        yield Case(f"{kind}.create.table", kind, "create", edited(small(kind), [edit], rng))
        if edit[0][:2] in (("metadata", "generateName"), ("metadata", "name"), ("metadata", "namespace")):
            continue
        old = small(kind)
        old["metadata"]["name"] = f"t-{number}"
        yield Case(f"{kind}.update.table", kind, "update", edited(old, [edit], rng), old=old, also=number % 3 == 0)


def tables_together(kind: str, name: str, rng: Random) -> Case:
    """Several values at once; an update starts from an object with some of them, or takes them away."""
    edits = list_edits(kind)
    chosen = rng.sample(edits, rng.choice(TOGETHER))
    if rng.random() < 0.6:
        return Case(f"{kind}.create.tables", kind, "create", edited(small(kind), chosen, rng))
    chosen = [edit for edit in chosen if edit[0][0] != "metadata"]
    base = small(kind)
    base["metadata"]["name"] = name
    old = edited(base, chosen[:-1], rng)
    more = [edit for edit in rng.sample(edits, 2) if edit[0][0] != "metadata"]
    start, changes = rng.choice(((base, chosen), (old, more), (old, chosen[-1:]), (base, more)))
    new = edited(start, changes, rng)
    also, live = rng.random() < 0.5, kind not in PLAIN and rng.random() < 0.25
    return Case(f"{kind}.update.tables", kind, "update", new, old=old, also=also, live=live)
