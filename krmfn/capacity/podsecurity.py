"""PodSecurity: whether the labels of a namespace let its pods be created. The checks of its levels are the rows of
`schemas/kubernetes/podsecurity.json`, which explains its keys.

Source: k8s.io/pod-security-admission/policy, v0.37.0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.model.gotext import read_digits
from krmfn.model.values import Value, as_list, as_mapping, as_text, dig
from krmfn.releases import schemastore

_ENFORCE = "pod-security.kubernetes.io/enforce"
_LEVELS = ("privileged", "baseline", "restricted")
#: The minor version that stands for `latest`.
_LATEST = 1000


def find_violation(spec: Value, labels: Value) -> str:
    """What the server says of a pod in a namespace with these labels, without the names of containers that it adds;
    "" when it lets the pod be created."""
    level = as_text(labels.get(_ENFORCE))
    strictness = _LEVELS.index(level) if level in _LEVELS else 0
    if not strictness:
        return ""
    version = as_text(labels.get(f"{_ENFORCE}-version")) or "latest"
    minor = read_digits(version.rpartition(".")[2])
    if minor is None:
        minor = _LATEST
    reasons = [
        row["word"]
        for row in schemastore.load("kubernetes/podsecurity.json")["standards"]
        if _LEVELS.index(row["level"]) <= strictness and row.get("least", 0) <= minor and _is_violated(row, spec)
    ]
    return f'violates PodSecurity "{level}:{version}": {", ".join(dict.fromkeys(reasons))}' if reasons else ""


def _is_violated(row: Value, spec: Value) -> bool:
    exempt, path = row.get("others"), row["path"].split(".")
    if exempt == "windows" and dig(spec, "os", "name") == "windows":
        return False
    if exempt == "users" and spec.get("hostUsers") is False:
        return False
    values = [dig(each, *path) for each in _list_places(spec, row["place"])]
    if row["place"] == "inherited":
        of_pod = dig(spec, "securityContext", *path)
        values = [of_pod if value in (None, "") else value for value in values]
    if path[-1] == "drop":
        return any("ALL" not in as_list(value) for value in values)
    if path[-1] in ("add", "kinds"):
        values = [item for value in values for item in as_list(value)]
    if row.get("only"):
        return any(value not in row["values"] for value in values)
    return any(value in row["values"] for value in values)


def _list_places(spec: Value, place: str) -> Iterator[Any]:
    """The parts of a pod in which a row looks for its path."""
    containers = [*as_list(spec, "initContainers"), *as_list(spec, "containers")]
    if place == "pod":
        yield spec
    elif place == "ports":
        for container in containers:
            yield from as_list(container, "ports")
    elif place == "sysctls":
        yield from as_list(spec, "securityContext", "sysctls")
    elif place == "volumes":
        for volume in as_list(spec, "volumes"):
            yield {"kinds": [kind for kind, source in as_mapping(volume).items() if source is not None]}
    else:
        if place == "contexts":
            yield spec.get("securityContext")
        yield from (dig(container, "securityContext") for container in containers)
