"""Cases written by hand: what a table of rules suggests that a made-up object seldom meets.

Each row is an edit of a small valid object: a place and a value, where GONE takes the place away. Rows are tried on
every kind, version and place that they fit.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from conformance.address import BUILT_IN, GROUP
from conformance.generate.oddvalues import COUNTS, FIELDS, GONE, LISTS, OWNERS, POLICIES, SHORT_NAMES, WHOLES
from conformance.generate.shapes import Where
from conformance.record import Case
from conformance.versions import Profile, has_trees

Body = dict[str, Any]


def odd_cases(profile: Profile) -> Iterator[Case]:
    """All of them for a profile, in a fixed order."""
    for kind, versions in profile.served.items():
        for version in versions:
            yield from odd_requests(kind, profile.release.name, f"{GROUP}/{version}")
    for kind in ("Job", "CronJob", "Pod"):
        yield from odd_requests(kind, profile.release.name, BUILT_IN[kind])


def odd_requests(kind: str, release: str, version: str) -> Iterator[Case]:
    """Each body as a create, as an update of the smallest object, and updated to that."""
    for number, (label, body) in enumerate(odd_bodies(kind, release, version)):
        yield Case(f"{kind}.create.hand.{label}", kind, "create", body)
        if label == "whole":
            continue
        small = minimal(kind, release, version)
        for name, old, new in (("set", small, body), ("clear", body, small)):
            pair = copy.deepcopy((old, new))
            for each in pair:
                each["metadata"] = {
                    "name": f"h-{version.rsplit('/', maxsplit=1)[-1]}-{name}-{number}",
                    "namespace": "ml",
                }
            carry = "stored" if number % 2 else "none"
            yield Case(
                f"{kind}.update.hand.{label}", kind, "update", pair[1], old=pair[0], carry=carry, also=number % 3 == 0
            )


def minimal(kind: str, release: str, version: str) -> Body:
    """The smallest object of a kind that the server takes."""
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": "hand", "namespace": "ml"}}
    return {**head, "spec": minimal_spec(kind, release)}


def minimal_spec(kind: str, release: str) -> Body:
    template = {"spec": {"containers": [{"name": "c", "image": "busybox:1"}], "restartPolicy": "Never"}}
    job: Body = {"parallelism": 3, "template": template}
    if has_trees(release):
        job["scheduling"] = {"schedulingPolicy": {"gang": {"minCount": 2}}}
    match kind:
        case "Workload" if release == "1.35":
            return {"podGroups": [{"name": "a", "policy": {"gang": {"minCount": 2}}}]}
        case "Workload":
            return {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minCount": 2}}}]}
        case "PodGroup":
            return {"schedulingPolicy": {"gang": {"minCount": 2}}}
        case "CompositePodGroup":
            return {
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "workloadRef": {"workloadName": "w", "templateName": "t"},
            }
        case "Job":
            return job
        case "CronJob":
            return {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
        case _:
            link = (
                {"workloadRef": {"name": "w", "podGroup": "a"}}
                if release == "1.35"
                else {"schedulingGroup": {"podGroupName": "g"}}
            )
            return {"containers": [{"name": "c", "image": "busybox:1"}], **link}


def odd_bodies(kind: str, release: str, version: str) -> Iterator[tuple[str, Body]]:
    """Labelled bodies: whole values, fields, then what is special to the kind."""
    wholes: tuple[Where, ...] = ((), ("metadata",), ("spec",))
    for value in WHOLES:
        for path in wholes:
            yield "whole", changed(minimal(kind, release, version), path, value)
    for name, value in FIELDS:
        for path in homes(kind, release):
            yield "field", changed(minimal(kind, release, version), (*path, name), value)
    for path, count, values in counted(kind, release):
        for value in values:
            yield "count", changed(minimal(kind, release, version), (*path, count), value)
    if kind == "Workload":
        yield from odd_workloads(release, version)
    for path in policies(kind, release):
        for value in POLICIES:
            yield "policy", changed(minimal(kind, release, version), path, value)


def changed(body: Body, path: Where, value: Any) -> Any:
    """The body with one place set; a missing parent is made."""
    if not path:
        return copy.deepcopy(value)
    place: Any = body
    for step in path[:-1]:
        if isinstance(place, dict) and step not in place:
            place[step] = {}
        place = place[step]
    if value is GONE:
        place.pop(path[-1], None)
    else:
        place[path[-1]] = copy.deepcopy(value)
    return body


def homes(kind: str, release: str) -> list[Where]:
    """The objects that group fields live in."""
    match kind:
        case "Workload":
            return [("spec",), ("spec", "podGroups" if release == "1.35" else "podGroupTemplates", 0)]
        case "Job":
            return (
                [("spec", "scheduling"), ("spec", "template", "spec")]
                if has_trees(release)
                else [("spec", "template", "spec")]
            )
        case "CronJob":
            job = ("spec", "jobTemplate", "spec")
            return (
                [(*job, "scheduling"), (*job, "template", "spec")]
                if has_trees(release)
                else [(*job, "template", "spec")]
            )
        case _:
            return [("spec",)]


def policies(kind: str, release: str) -> list[Where]:
    name = "policy" if release == "1.35" else "schedulingPolicy"
    return [
        (*path, name)
        for path in homes(kind, release)
        if kind in ("Workload", "PodGroup", "CompositePodGroup") or path[-1] == "scheduling"
    ]


def counted(kind: str, release: str) -> Iterator[tuple[Where, str, list[Any]]]:
    for path in policies(kind, release):
        if len(path) > 2 or kind != "Workload":
            yield (*path, "gang"), "minGroupCount" if kind == "CompositePodGroup" else "minCount", COUNTS
    if kind in ("Job", "CronJob"):
        spec = ("spec",) if kind == "Job" else ("spec", "jobTemplate", "spec")
        yield spec, "parallelism", COUNTS[:12]


def odd_workloads(release: str, version: str) -> Iterator[tuple[str, Body]]:
    """Lists of templates, and trees of them."""
    name, policy = ("podGroups", "policy") if release == "1.35" else ("podGroupTemplates", "schedulingPolicy")

    def leaf(text: Any, **more: Any) -> Body:
        named = {} if text is GONE else {"name": text}
        return {**named, policy: {"basic": {}}, **more}

    def body(spec: Any) -> Body:
        return {"apiVersion": version, "kind": "Workload", "metadata": {"name": "hand"}, "spec": spec}

    for names in LISTS:
        yield "names", body({name: [leaf(text) for text in names]})
    for text in SHORT_NAMES:
        yield "name", body({name: [leaf(text), leaf("z")]})
    odd_lists: tuple[Any, ...] = (
        [None],
        [None, None],
        [{}],
        [{}, {}],
        [[]],
        ["a"],
        {},
        {"a": leaf("a")},
        "a",
        [leaf("a"), None],
        [leaf("a"), "b"],
        [leaf("a"), 1],
    )
    for value in odd_lists:
        yield "list", body({name: value})
    for key in OWNERS:
        yield "owner", body({name: [leaf("a")], "controllerRef": key})
    if not has_trees(release):
        return

    def node(text: str, *children: Body, **more: Any) -> Body:
        return {"name": text, "schedulingPolicy": {"gang": {"minGroupCount": 1}}, **split(children), **more}

    def split(children: tuple[Body, ...]) -> Body:
        leaves = [child for child in children if "minGroupCount" not in str(child["schedulingPolicy"])]
        nodes = [child for child in children if child not in leaves]
        lists = {"podGroupTemplates": leaves, "compositePodGroupTemplates": nodes}
        return {key: content for key, content in lists.items() if content}

    deep = leaf("leaf")
    for depth in range(1, 8):
        deep = node(f"n{depth}", deep)
        yield "depth", body({"compositePodGroupTemplates": [deep]})
        yield "depth", body({"compositePodGroupTemplates": [node("x", leaf("y")), deep, copy.deepcopy(deep)]})
    high = {"priorityClassName": "high"}
    trees: tuple[Body, ...] = (
        split((node("a", leaf("b"), leaf("c")), node("d", leaf("b")))),
        split((node("a", leaf("a")),)),
        split((node("a", node("b", leaf("a"))), node("b", leaf("c")))),
        split((node("a", leaf("b")), node("a", leaf("b")))),
        split((node("a"), node("b"))),
        split((node("a", compositePodGroupTemplates=[], podGroupTemplates=None),)),
        split((node("a", leaf("b"), node("c")),)),
        split((node("", leaf("")), leaf("x"))),
        split((node("a", leaf("b")), leaf("a"))),
        split((node("a", leaf("b", **high), **high),)),
        split((node("a", leaf("b", **high)),)),
        split((node("a", leaf("b"), **high),)),
        split((node("a", leaf("b", priority=0), priority=0),)),
        split((node("a", leaf("b", priority=0)),)),
        split((node("a", leaf("b", priority=None, priorityClassName="")),)),
        split((node("a", leaf("b"), preemptionPolicy="Never"),)),
        split((node("a", leaf("b"), disruptionMode={"all": {}}), node("c", leaf("d", disruptionMode={"single": {}})))),
        split(tuple(node(f"n{i}", leaf(f"l{i}")) for i in range(9))),
        split((node("a", *(leaf(f"l{i}") for i in range(9))),)),
        split((node("a", *(node(f"n{i}", leaf(f"l{i}")) for i in range(9))),)),
        split((node("a", *(leaf(f"l{i}") for i in range(8))), node("b", *(leaf(f"l{i}") for i in range(8))))),
        split((leaf("a", **high), leaf("b"))),
        split((leaf("a", priority=1), leaf("b", priority=2), leaf("c"))),
        split((leaf("a", priority=0), leaf("b", priority=None))),
        split((leaf("a", **high), leaf("a"))),
        split(tuple(leaf(f"l{i}", **(high if i == 8 else {})) for i in range(9))),
        split((node("a", leaf("b"), resourceClaims=[]),)),
        split((node("a", leaf("b"), resourceClaims=[{"name": "x"}]),)),
        {"podGroupTemplates": [], "compositePodGroupTemplates": []},
        {"podGroupTemplates": None, "compositePodGroupTemplates": None},
        {"podGroupTemplates": [leaf("a")], "compositePodGroupTemplates": []},
        {"podGroupTemplates": [leaf("a")], "compositePodGroupTemplates": [None]},
        {"compositePodGroupTemplates": [None]},
        {"compositePodGroupTemplates": [{}]},
        {
            "compositePodGroupTemplates": [
                {"name": "a", "schedulingPolicy": {"gang": {"minCount": 1}}, "podGroupTemplates": [leaf("b")]}
            ]
        },
        {"compositePodGroupTemplates": [{"name": "a", "schedulingPolicy": None, "podGroupTemplates": [None]}]},
        {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"gang": {"minGroupCount": 1}}}]},
    )
    for spec in trees:
        yield "tree", body(spec)
