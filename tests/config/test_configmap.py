"""The configuration as a ConfigMap with dotted keys."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import ConfigError, Select, read_settings
from krmfn.config.selectors import Selector


def read(data: dict[str, Any] | None) -> Any:
    """The settings of a ConfigMap with this data."""
    return read_settings({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "config"}, "data": data})


@pytest.mark.parametrize(
    ("key", "text", "read_back", "value"),
    [
        ("kubernetes.version", "1.35", lambda settings: settings.release.name, "1.35"),
        ("scheduler", "Volcano", lambda settings: settings.scheduler, "Volcano"),
        ("kuberay.version", "1.6", lambda settings: settings.kuberay.version, (1, 6)),
        ("select", "All", lambda settings: settings.select, Select("All")),
        ("select.kinds", "Job, RayCluster", lambda settings: settings.select.selector.kinds, ("Job", "RayCluster")),
        ("select", '{"names": ["a"]}', lambda settings: settings.select.selector, Selector(names=("a",))),
        ("gang.minCount", "3", lambda settings: settings.gang.min_count, 3),
        ("gang.minCount", "MinReplicas", lambda settings: settings.gang.min_count, "MinReplicas"),
        ("gang.topologyKey", "a.b/c", lambda settings: settings.gang.topology_key, "a.b/c"),
        ("gang.groupTopologyKeys", "a=x,b=y", lambda settings: settings.gang.group_topology_keys, {"a": "x", "b": "y"}),
        ("gang.groupTopologyKeys.a.b", "x", lambda settings: settings.gang.group_topology_keys, {"a.b": "x"}),
        (
            "kubernetes.featureGates",
            "CompositePodGroup=true,GenericWorkload=false",
            lambda settings: settings.feature_gates,
            {"CompositePodGroup": True, "GenericWorkload": False},
        ),
        (
            "kubernetes.featureGates.CompositePodGroup",
            "true",
            lambda settings: settings.feature_gates,
            {"CompositePodGroup": True},
        ),
        (
            "overrides",
            '[{"select": {"names": ["a"]}, "gang": {"minCount": 2}}]',
            lambda settings: settings.overrides[0].changes,
            {"min_count": 2},
        ),
        ("cluster", '{"nodes": []}', lambda settings: settings.cluster, {"nodes": []}),
    ],
)
def test_value(key: str, text: str, read_back: Any, value: Any) -> None:
    assert read_back(read({key: text})) == value


@pytest.mark.parametrize("data", [None, {}])
def test_no_data_is_all_defaults(data: Any) -> None:
    assert read(data) == read_settings(None)


@pytest.mark.parametrize(
    ("key", "text", "message", "hint"),
    [
        ("gang.mincount", "3", "unknown key 'mincount'", "Did you mean minCount?"),
        ("gangs", "3", "unknown key 'gangs'", "Did you mean gang?"),
        ("gang.minCount", "x", 'unknown value "x"', "Replicas"),
        ("gang.minCount", "0", "0 is out of range", ""),
        ("gang", "x", 'should be a mapping, not "x"', ""),
        ("kubernetes.featureGates.GenericWorkload", "yes", "should be true or false", ""),
        ("kubernetes.featureGates", "GenericWorkload", "should be a mapping", ""),
        ("overrides", "[{", "invalid JSON", ""),
        ("kubernetes.version", "1.20", "unknown Kubernetes version", ""),
        ("select.labelSelector", "a in (", "parentheses", ""),
    ],
)
def test_mistake(key: str, text: str, message: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read({key: text})
    (problem,) = caught.value.problems
    assert problem.path[0] == "data"
    assert message in problem.message
    assert hint in problem.hint


def test_a_key_that_is_both_a_value_and_a_folder() -> None:
    with pytest.raises(ConfigError):
        read({"select": "All", "select.kinds": "Job"})
