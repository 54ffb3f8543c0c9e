"""The schema, the records and the rest of the package say the same: releases, gates, allowed values."""

from __future__ import annotations

import typing
from typing import Any

import pytest

from krmfn.config import ConfigError, GangOptions, KubeRay, Settings, check_feature_gates
from krmfn.config.reading import snake
from krmfn.config.schema import descend, load_schema, resolve
from krmfn.releases.release import find_release, list_gates, list_releases, newest_release

SPEC = descend(load_schema(), "spec")


def test_gates() -> None:
    """Those of the newest release are described; a release may have others."""
    described = descend(SPEC, "kubernetes", "featureGates")["properties"]
    assert set(described) <= set(list_gates())
    assert set(newest_release().gates) <= set(described)


def values_of(hint: Any) -> set[Any]:
    """The values of a Literal, also inside a union."""
    found = set()
    for part in typing.get_args(hint):
        found |= values_of(part) if typing.get_origin(part) else {part}
    return found - {int}


def enum_of(schema: Any) -> set[Any]:
    """The allowed words of a property, in all of its forms."""
    forms = [resolve(form) for form in (*schema.get("anyOf", ()), *schema.get("oneOf", ()))] or [schema]
    return {word for form in forms for word in form.get("enum", ())}


@pytest.mark.parametrize(
    ("record", "field", "path"),
    [
        *(
            (GangOptions, snake(key), ("gang", key))
            for key in descend(SPEC, "gang")["properties"]
            if key != "disruptionMode"
        ),
        (Settings, "scheduler", ("scheduler",)),
        (Settings, "mode", ("mode",)),
        (Settings, "emit_items", ("emitItems",)),
        (Settings, "fail_on", ("failOn",)),
        (KubeRay, "manages", ("kuberay", "manages")),
    ],
)
def test_allowed_values(record: Any, field: str, path: tuple[str, ...]) -> None:
    hint = typing.get_type_hints(record, localns={"Any": Any, "Literal": typing.Literal})[field]
    values = values_of(hint) if typing.get_origin(hint) is not None else set()
    assert {value for value in values if isinstance(value, str)} == enum_of(descend(SPEC, *path))


def test_disruption_modes() -> None:
    """Those of the releases: each says how it spells them."""
    known = {mode for release in map(find_release, list_releases()) for mode in release.modes}
    assert enum_of(descend(SPEC, "gang", "disruptionMode")) == {"", *known}


@pytest.mark.parametrize("gate", ["GenericWorkloads", "compositePodGroup", "TopologyAwareWorkloadSchedulng"])
def test_mistyped_gate_of_the_command_line(gate: str) -> None:
    with pytest.raises(ConfigError, match="Did you mean"):
        check_feature_gates([gate])


@pytest.mark.parametrize("gate", ["GenericWorkload", "AllAlpha", "InPlacePodVerticalScaling"])
def test_other_gates_of_a_cluster_are_no_matter_of_ours(gate: str) -> None:
    check_feature_gates([gate])
