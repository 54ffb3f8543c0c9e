"""Pods that the admission plugin PodSecurity refuses: what the labels of their namespace enforce, by the rows of
`schemas/kubernetes/podsecurity.json`.

Source: k8s.io/pod-security-admission/policy, v0.37.0. What only some releases refuse is let pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from krmfn.model.gotext import read_digits
from krmfn.model.values import Value, as_list, as_mapping, as_text, dig
from krmfn.releases import schemastore

ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_NEWEST: Final = 1000
_LEVELS: Final = ("privileged", "baseline", "restricted")


def find_violation(spec: Value, labels: Value) -> str:
    """The server's words about a pod, as far as to the names of its containers; empty when nothing refuses it."""
    level = as_text(labels.get(ENFORCE))
    strictness = _LEVELS.index(level) if level in _LEVELS else 0
    version = as_text(labels.get(f"{ENFORCE}-version")) or "latest"
    number = version.rpartition(".")[2]
    minor = read_digits(number)
    minor = _NEWEST if minor is None else minor
    standards = schemastore.load("kubernetes/podsecurity.json")["standards"] if strictness else ()
    reasons = [
        each["word"]
        for each in standards
        if _LEVELS.index(each["level"]) <= strictness and each.get("least", 0) <= minor and _is_refused(spec, each)
    ]
    return f'violates PodSecurity "{level}:{version}": {", ".join(dict.fromkeys(reasons))}' if reasons else ""


def _is_refused(spec: Value, standard: Value) -> bool:
    others, place, path = standard.get("others"), standard["place"], standard["path"].split(".")
    if others == "windows" and dig(spec, "os", "name") == "windows":
        return False
    if others == "users" and spec.get("hostUsers") is False:
        return False
    found = [dig(each, *path) for each in _list_places(spec, place)]
    if place == "inherited":
        own = dig(spec, "securityContext", *path)
        found = [own if value in (None, "") else value for value in found]
    if path[-1] in ("add", "kinds"):
        found = [item for value in found for item in as_list(value)]
    if path[-1] == "drop":
        return any("ALL" not in as_list(value) for value in found)
    return any((value in standard["values"]) is not standard.get("only", False) for value in found)


def _list_places(spec: Value, place: str) -> Iterator[Any]:
    boxes = [box for field in ("initContainers", "containers") for box in map(as_mapping, as_list(spec.get(field)))]
    if place == "pod":
        yield spec
    elif place == "ports":
        yield from (port for box in boxes for port in as_list(box, "ports"))
    elif place == "sysctls":
        yield from as_list(spec, "securityContext", "sysctls")
    elif place == "volumes":
        for volume in map(as_mapping, as_list(spec, "volumes")):
            yield {"kinds": [kind for kind, source in volume.items() if source is not None]}
    else:
        yield from (spec.get("securityContext") for _ in range(place == "contexts"))
        yield from (box.get("securityContext") for box in boxes)
