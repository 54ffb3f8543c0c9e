"""From the object that configures a run to its settings: the kind GangScheduling, or a ConfigMap.

Knows how the keys of the schema become the records of the settings, and no default.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

from krmfn.config.problems import ConfigError, Mistake
from krmfn.config.schema import Schema, descend, fill_defaults, find_problems, load_schema
from krmfn.config.settings import GangOptions, KubeRay, Override, Ruling, Rulings, Select, Settings
from krmfn.krm.results import Severity
from krmfn.model.gotext import read_digits
from krmfn.model.values import Value, Version, without_nulls
from krmfn.model.wording import find_nearest
from krmfn.releases.release import find_release, list_gates, newest_release

if TYPE_CHECKING:
    from krmfn.config.selectors import Selector

#: As many digits of a part of a version are read.
_DIGITS = 9


def read_settings(value: Value | None) -> Settings:
    """The settings of a configuration object: kind GangScheduling, a ConfigMap, or None for all defaults.

    Raises ConfigError with every mistake at once.
    """
    schema = descend(load_schema(), "spec")
    if value is None:
        return _build(fill_defaults({}, schema))
    if value.get("kind") == "ConfigMap" and value.get("apiVersion") == "v1":
        spec, problems = _read_configmap(value, schema)
    else:
        spec, problems = value.get("spec") or {}, _check_object(value)
    if not problems and spec.get("kinds"):
        from krmfn.config.kinds import use_inline  # most configurations have none

        problems = use_inline(spec["kinds"], ("spec", "kinds"))
    if problems:
        raise ConfigError(problems)
    return _build(fill_defaults(spec, schema))


def check_feature_gates(gates: Iterable[str]) -> None:
    """Raise ConfigError for names that are probably mistyped. Others are gates that have nothing to do with groups:
    the flag of a cluster lists all of them."""
    known = list_gates()
    meant = {gate: find_nearest(gate, known, 0.8) for gate in gates if gate not in known}
    problems = [
        Mistake((), f"unknown feature gate {gate}", f"Did you mean {name}?") for gate, name in meant.items() if name
    ]
    if problems:
        raise ConfigError(problems)


def snake(key: str) -> str:
    """The field name of a key: `minCount` is `min_count`."""
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in key)


def read_ruling(word: str, severity: Severity | None = None) -> Ruling:
    """The ruling in its short form, `RULE` or `RULE:PATH`."""
    rule, _, path = word.partition(":")
    return Ruling((rule,), (path,) if path else (), severity)


def _check_object(value: Value) -> list[Mistake]:
    """The mistakes in an object that should be a GangScheduling. A foreign kind is one mistake, not fifty."""
    properties = load_schema()["properties"]
    kind = value.get("kind")
    kinds = properties["kind"]["enum"]
    if isinstance(kind, str) and not find_nearest(kind, kinds):
        wanted = f"{properties['apiVersion']['enum'][0]} {kinds[0]}"
        return [Mistake(("kind",), f'this is a "{kind}"', f"The configuration is a {wanted}, or a ConfigMap.")]
    return list(find_problems(value, load_schema()))


def _read_configmap(value: Value, schema: Schema) -> tuple[Value, list[Mistake]]:
    from krmfn.config.configmap import read_data

    data = value.get("data")
    if data is not None and not isinstance(data, dict):
        return {}, [Mistake(("data",), "should be a mapping of dotted keys", "Write gang.granularity: Group below it.")]
    spec, problems = read_data(data or {}, schema)
    return spec, [*problems, *map(_flatten, find_problems(spec, schema, ("data",)))]


def _flatten(problem: Mistake) -> Mistake:
    """The problem with the dotted key that a ConfigMap has, `data.gang.minCount`, as one step of the path."""
    return problem._replace(path=("data", ".".join(map(str, problem.path[1:]))))


def _build(spec: Value) -> Settings:
    """The record of a spec that has all defaults and no problems."""
    return Settings(
        release=find_release(version) if (version := spec["kubernetes"]["version"]) else newest_release(),
        assumed=not spec["kubernetes"]["version"],
        api_versions=without_nulls(spec["kubernetes"]["apiVersions"]),
        feature_gates=without_nulls(spec["kubernetes"]["featureGates"]),
        scheduler=spec["scheduler"],
        link=spec["link"],
        kuberay=KubeRay(_read_version(spec["kuberay"]["version"]), spec["kuberay"]["manages"]),
        operators={name: _read_version(text) for name, text in without_nulls(spec["operators"]).items()},
        select=_build_select(spec["select"]),
        gang=GangOptions(**{snake(key): value for key, value in spec["gang"].items()}),
        overrides=tuple(
            Override(
                _build_selector(override["select"]),
                {snake(key): value for key, value in without_nulls(override["gang"]).items()},
            )
            for override in spec["overrides"]
        ),
        mode=spec["mode"],
        emit_items=spec["emitItems"],
        fail_on=spec["failOn"],
        cluster=spec["cluster"],
        rules=_build_rulings(spec["rules"]),
        kind_files=tuple(entry for entry in spec["kinds"] if isinstance(entry, str)),
    )


def _read_version(text: str) -> Version:
    """The major and minor version in a text such as `v1.5`. A part with more digits than any has is later than all."""
    major, minor = (read_digits(part, _DIGITS) for part in text.lstrip("v").split(".")[:2])
    return 10**_DIGITS if major is None else major, 10**_DIGITS if minor is None else minor


def _build_rulings(value: Value) -> Rulings:
    ignore, severity = (
        tuple(
            Ruling(tuple(each["rules"]), tuple(each.get("paths") or ()), each.get("severity"), each.get("reason") or "")
            for each in value[key]
        )
        for key in ("ignore", "severity")
    )
    return Rulings(tuple(map(read_ruling, value["select"])), ignore, severity)


def _build_select(value: Any) -> Select:
    if isinstance(value, str):
        mode: Literal["OptIn", "All"] = "All" if value == "All" else "OptIn"
        return Select(mode)
    return Select("Explicit", _build_selector(value))


def _build_selector(value: Value) -> Selector:
    from krmfn.config.selectors import Selector, parse_requirements

    lists = {key: tuple(value.get(key) or ()) for key in ("kinds", "namespaces", "names")}
    return Selector(
        **lists,
        labels=parse_requirements(value.get("labelSelector") or ""),
        annotations=parse_requirements(value.get("annotationSelector") or ""),
    )
