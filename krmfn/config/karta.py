"""Kinds that a Karta describes, the description of workloads that NVIDIA's KAI and Run:ai read: as a WorkloadKind.

Of jq, in which its paths are written, the part is read that a WorkloadKind can say: fields, `[]`, `//` with a number,
products. What is more gives a kind without gangs, whose reason says what that was.
Source: run-ai/karta, docs/Technical Guide.md and docs/catalog, at d20a8a9 and 812f3f2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text

_HINT = "Write a WorkloadKind for it; krmfn kinds --from prints what was understood."
_STEPS = re.compile(r"(?>(?:\.[A-Za-z_][A-Za-z0-9_-]*(?:\[\])?|\.\[\])+)")
_TERM = re.compile(rf"({_STEPS.pattern})(?://(\d{{1,9}}))?\)?(?:-(\d{{1,9}}))?")
_LABEL = re.compile(r"""\.metadata\.labels\["([^"]+)"\].*""", re.DOTALL)


class _Unsaid(Exception):
    """What a WorkloadKind cannot say."""


def translate(karta: Value) -> Fields:
    """The `spec` of a WorkloadKind for a Karta, empty where that names no kind."""
    structure = as_mapping(karta, "spec", "structureDefinition")
    root = as_mapping(structure, "rootComponent")
    group, version, kind = (as_text(root, "kind", word) for word in ("group", "version", "kind"))
    if not kind:
        return {}
    made: Fields = {"group": group, "kind": kind, "versions": [version]}
    components = [root, *map(as_mapping, as_list(structure, "childComponents"))]
    try:
        members = _list_members(karta, components)
        roles = [role for each in components if (role := _read_component(each, members))]
    except _Unsaid as unsaid:
        return leave_out(made, f"says more than krmfn can: {unsaid}")
    if not members:
        return {**made, "gang": "Never", "reason": "its Karta describes no gang"}
    apart = any("podSpec" in role for role in roles)
    return {**made, "roles": roles, **({"link": {"kept": "Never"}} if apart else {})}


def leave_out(spec: Value, reason: str) -> Fields:
    """The `spec` of the same kind, without gangs because of what its Karta does."""
    made = {key: spec[key] for key in ("group", "kind", "versions")}
    return {**made, "gang": "Never", "reason": f"its Karta {reason}", "hint": _HINT}


def _list_members(karta: Value, components: list[Value]) -> set[str]:
    """The names of the components whose pods are the gang. Raises _Unsaid where there are several gangs."""
    told = list(map(as_mapping, as_list(karta, "spec", "optimizationInstructions", "gangScheduling", "podGroups")))
    if len(told) > 1:
        raise _Unsaid(f"it has {len(told)} kinds of groups")
    parts = {
        as_text(each, "podSelector", *place)
        for each in components
        for place in (("componentInstanceSelector", "idPath"), ("replicaSelector", "keyPath"))
    }
    members: set[str] = set()
    for member in (each for group in told for each in map(as_mapping, as_list(group, "members"))):
        keys = list(map(as_text, as_list(member, "groupByKeyPaths")))
        finer = [key for place, key in enumerate(keys) if place or any(part and key.startswith(part) for part in parts)]
        if finer:
            found = _LABEL.fullmatch(finer[0])
            raise _Unsaid(f"each value of {found[1] if found else finer[0]} is a separate gang")
        if member.get("filters"):
            raise _Unsaid("filters choose the pods of a group")
        members.add(as_text(member, "componentName"))
    empty = {as_text(each, "name") for each in components if not each.get("specDefinition")}
    if members & empty:
        raise _Unsaid(f"{min(members & empty)} has no separate pods")
    return members


def _read_component(component: Value, members: set[str]) -> Fields:
    """The role of a component, empty where it has no pods, or none that are in a gang. Raises _Unsaid."""
    if not component.get("specDefinition"):
        return {}
    name = as_text(component, "name")
    aside = name not in members
    try:
        role = _read_pods(as_mapping(component, "specDefinition"))
        scale = as_mapping(component, "scaleDefinition")
        if scale and not scale.get("replicasPath"):
            raise _Unsaid("an autoscaler counts its pods")
        count = _read_number(as_text(scale, "replicasPath") or "1")
        minimum = _read_number(as_text(scale, "minReplicasPath")) if scale.get("minReplicasPath") else []
    except _Unsaid as unsaid:
        if not aside:
            raise _Unsaid(f"{unsaid} (component {name})") from None
        return {}
    named = "" if "*" in role["template"] else name
    own = as_text(component, "instanceIdPath").rpartition(".")[2]
    return {
        **({"name": named} if named else {"nameField": own} if own not in ("", "key", "name") else {}),
        **role,
        "count": count,
        **({"minimum": minimum} if minimum else {}),
        **({"aside": True} if aside else {}),
    }


def _read_pods(definition: Value) -> Fields:
    """Where the pods of a component are described: a template, or an entry with annotations. Raises _Unsaid."""
    template = as_text(definition, "podTemplateSpecPath")
    if template:
        return {"template": _read_path(template)}
    parts = as_mapping(definition, "fragmentedPodSpecDefinition")
    entry, spec = as_text(definition, "metadataPath"), as_text(definition, "podSpecPath")
    annotations = _read_path(as_text(parts, "annotationsPath")) if parts.get("annotationsPath") else ""
    above, _, last = annotations.rpartition(".")
    if annotations and last == "annotations":
        whole = above.removesuffix(".metadata")
        if whole != above:
            return {"template": whole}
        of_spec = as_text(parts.get("schedulerNamePath") or parts.get("priorityClassNamePath"))
        return {"template": above, "podSpec": _read_path(of_spec).rpartition(".")[0] if of_spec else above}
    if entry and spec:
        return {"template": _read_path(entry), "podSpec": _read_path(spec)}
    raise _Unsaid("no field called annotations is known whose annotations its pods get")


def _read_path(text: str) -> str:
    """A path of jq as a WorkloadKind writes it. Raises _Unsaid."""
    parts = [part.strip() for part in text.split("|")]
    if not all(map(_STEPS.fullmatch, parts)):
        raise _Unsaid(f"the expression {' '.join(text.split())}")
    return "".join(parts).replace(".[]", ".*").replace("[]", ".*").removeprefix(".")


def _read_number(text: str) -> list[Any]:
    """The factors of a number. Raises _Unsaid."""
    *above, last = text.split("|")
    factors = list(_read_factors(text, "|".join(above), last))
    return [factor for factor in factors if factor != 1] or [1]


def _read_factors(text: str, above: str, product: str) -> Iterator[Any]:
    for term in product.split("*"):
        bare = "".join(term.split()).strip("()")
        if re.fullmatch(r"\d{1,9}", bare):
            yield int(bare)
            continue
        found = _TERM.fullmatch(bare)
        if found is None:
            raise _Unsaid(f"the expression {' '.join(text.split())}")
        field = _read_path(f"{above}|{found[1]}" if above else found[1])
        factor = {"field": field, **({"default": int(found[2])} if found[2] else {})}
        yield {**factor, "plus": -int(found[3])} if found[3] else field if found[2] in (None, "1") else factor
