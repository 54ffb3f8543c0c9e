"""From the object that configures a run to its settings: the kind GangScheduling, or a ConfigMap.

Knows how the keys of the schema become the records of the settings, and no default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from krmfn.config.configmap import read_data
from krmfn.config.problems import ConfigError, Problem, find_nearest
from krmfn.config.schema import descend, fill_defaults, find_problems, load_schema
from krmfn.config.selectors import Requirement, Selector, SelectorError, parse_requirements
from krmfn.config.settings import GangOptions, KubeRay, Override, Select, Settings
from krmfn.krm.paths import Path

_SELECTOR_FIELDS: Mapping[str, str] = {
    "kinds": "kinds",
    "namespaces": "namespaces",
    "names": "names",
    "labelSelector": "labels",
    "annotationSelector": "annotations",
}


def read_settings(value: Mapping[str, Any] | None) -> Settings:
    """The settings of a configuration object: kind GangScheduling, a ConfigMap, or None for all defaults.

    Raises ConfigError with every mistake at once.
    """
    problems: list[Problem] = []
    path: Path = ("spec",)
    spec: Mapping[str, Any] = {}
    schema = descend(load_schema(), "spec")
    if value is not None and value.get("kind") == "ConfigMap" and value.get("apiVersion") == "v1":
        path = ("data",)
        spec, problems = read_data(value.get("data") or {}, schema)
        problems += [_flatten(problem) for problem in find_problems(spec, schema, path)]
    elif value is not None:
        problems = _check_object(value)
        spec = value.get("spec") or {}
    if problems:
        raise ConfigError(problems)
    filled = fill_defaults(spec, schema)
    settings = _build(filled, path, problems)
    if problems:
        raise ConfigError(problems)
    return settings


def snake(key: str) -> str:
    """The field name of a key: `minCount` is `min_count`."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def _check_object(value: Mapping[str, Any]) -> list[Problem]:
    """The mistakes in an object that should be a GangScheduling. A foreign kind is one mistake, not fifty."""
    properties = load_schema()["properties"]
    kind = value.get("kind")
    kinds = properties["kind"]["enum"]
    if isinstance(kind, str) and not find_nearest(kind, kinds):
        wanted = f"{properties['apiVersion']['enum'][0]} {kinds[0]}"
        return [Problem(("kind",), f'this is a "{kind}"', f"the configuration is a {wanted}, or a ConfigMap")]
    return list(find_problems(value, load_schema()))


def _flatten(problem: Problem) -> Problem:
    """The problem with the dotted key that a ConfigMap has, `data.gang.minCount`, as one step of the path."""
    return problem._replace(path=("data", ".".join(str(part) for part in problem.path[1:])))


def _build(spec: Mapping[str, Any], path: Path, problems: list[Problem]) -> Settings:
    """The record of a spec that the schema finds right; what only the selectors' own grammar finds goes to problems."""
    major, minor = spec["kuberay"]["version"].lstrip("v").split(".")[:2]
    return Settings(
        release=spec["kubernetes"]["version"],
        feature_gates=spec["kubernetes"]["featureGates"],
        scheduler=spec["scheduler"],
        kuberay=KubeRay((int(major), int(minor)), spec["kuberay"]["manages"]),
        select=_build_select(spec["select"], (*path, "select"), problems),
        gang=GangOptions(**{snake(key): value for key, value in spec["gang"].items()}),
        overrides=tuple(
            Override(
                _build_selector(override["select"], (*path, "overrides", index, "select"), problems),
                {snake(key): value for key, value in override["gang"].items() if value is not None},
            )
            for index, override in enumerate(spec["overrides"])
        ),
        mode=spec["mode"],
        emit_items=spec["emitItems"],
        fail_on=spec["failOn"],
        cluster=spec["cluster"],
    )


def _build_select(value: Any, path: Path, problems: list[Problem]) -> Select:
    if isinstance(value, str):
        mode: Literal["OptIn", "All"] = "All" if value == "All" else "OptIn"
        return Select(mode)
    return Select("Explicit", _build_selector(value, path, problems))


def _build_selector(value: Mapping[str, Any], path: Path, problems: list[Problem]) -> Selector:
    parts: dict[str, Any] = {}
    for key, field in _SELECTOR_FIELDS.items():
        given = value.get(key)
        if not given:
            continue
        if isinstance(given, str):
            parts[field] = _read_requirements(given, (*path, key), problems)
        else:
            parts[field] = tuple(given)
    return Selector(**parts)


def _read_requirements(text: str, path: Path, problems: list[Problem]) -> tuple[Requirement, ...]:
    try:
        return parse_requirements(text)
    except SelectorError as mistake:
        problems.append(Problem(path, str(mistake), "write it as for kubectl: team=ml,tier in (gold,silver),!legacy"))
        return ()
