"""The configuration as the kind GangScheduling: defaults, every key, and mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import ConfigError, KubeRay, Override, Select, read_settings
from krmfn.config.selectors import Requirement, Selector


def make(spec: Any = None, **fields: Any) -> dict[str, Any]:
    """A configuration with this spec."""
    value = {"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "metadata": {"name": "gangs"}, **fields}
    return value if spec is None else {**value, "spec": spec}


def problems_of(value: Any) -> list[tuple[str, str, str]]:
    """Path, message and hint of every mistake in `value`."""
    with pytest.raises(ConfigError) as caught:
        read_settings(value)
    return [(".".join(map(str, problem.path)), problem.message, problem.hint) for problem in caught.value.problems]


@pytest.mark.parametrize("value", [None, make(), make({}), make({"gang": None, "select": None, "kuberay": {}})])
def test_defaults(value: Any) -> None:
    settings = read_settings(value)
    assert (settings.release.name, settings.scheduler, settings.kuberay) == (
        "1.37",
        "Kubernetes",
        KubeRay((1, 7), "None"),
    )
    assert (settings.select, settings.overrides, settings.feature_gates) == (Select("OptIn"), (), {})
    assert (settings.mode, settings.emit_items, settings.fail_on, settings.cluster) == ("Generate", "All", "error", {})
    gang = settings.gang
    assert (gang.granularity, gang.min_count, gang.autoscaling, gang.naming) == (
        "Cluster",
        "Replicas",
        "Skip",
        "Stable",
    )
    assert (gang.topology_key, gang.group_topology_keys, gang.disruption_mode, gang.gang_group) == ("", {}, "", "")
    assert gang.requested is False


def test_every_key() -> None:
    settings = read_settings(
        make(
            {
                "kubernetes": {
                    "version": "1.36",
                    "featureGates": {"CompositePodGroup": False},
                    "apiVersions": {"PodGroup": "v1alpha2", "Workload": None},
                },
                "scheduler": "Volcano",
                "kuberay": {"version": "v1.6.2", "manages": "KAI"},
                "select": {
                    "kinds": ["RayCluster.ray.io"],
                    "namespaces": ["ml"],
                    "names": ["train-*"],
                    "labelSelector": "team=ml",
                    "annotationSelector": "!skip",
                },
                "gang": {
                    "granularity": "Group",
                    "minCount": 3,
                    "autoscaling": "MinReplicas",
                    "topologyKey": "zone",
                    "groupTopologyKeys": {"gpu": "rack"},
                    "disruptionMode": "All",
                    "naming": "Revisioned",
                    "gangGroup": "both",
                },
                "overrides": [{"select": {"names": ["x"]}, "gang": {"minCount": "MinReplicas"}}],
                "mode": "Validate",
                "emitItems": "None",
                "failOn": "warning",
                "cluster": {"priorityClasses": {"high": 1000}},
            }
        )
    )
    assert (settings.release.name, settings.feature_gates) == ("1.36", {"CompositePodGroup": False})
    assert settings.api_versions == {"PodGroup": "v1alpha2"}
    assert (settings.scheduler, settings.kuberay) == ("Volcano", KubeRay((1, 6), "KAI"))
    assert settings.select == Select(
        "Explicit",
        Selector(
            ("RayCluster.ray.io",),
            ("ml",),
            ("train-*",),
            (Requirement("team", "In", ("ml",)),),
            (Requirement("skip", "DoesNotExist"),),
        ),
    )
    assert settings.gang[:8] == ("Group", 3, "MinReplicas", "zone", {"gpu": "rack"}, "All", "Revisioned", "both")
    assert settings.overrides == (Override(Selector(names=("x",)), {"min_count": "MinReplicas"}),)
    assert (settings.mode, settings.emit_items, settings.fail_on) == ("Validate", "None", "warning")
    assert settings.cluster == {"priorityClasses": {"high": 1000}}


@pytest.mark.parametrize(
    ("value", "path", "message", "hint"),
    [
        (make({"gangs": {}}), "spec.gangs", "unknown key 'gangs'", "Did you mean gang?"),
        (make({"gang": {"min-count": 3}}), "spec.gang.min-count", "unknown key", "Did you mean minCount?"),
        (make({"kubernetes": {"vresion": "1.37"}}), "spec.kubernetes.vresion", "unknown key", "mean version?"),
        (
            make({"kubernetes": {"featureGates": {"compositePodGroups": True}}}),
            "spec.kubernetes.featureGates.compositePodGroups",
            "unknown feature gate",
            "Did you mean CompositePodGroup?",
        ),
        (make({"gang": {"granularity": "group"}}), "spec.gang.granularity", 'unknown value "group"', "mean Group?"),
        (
            make({"gang": {"granularity": "Node"}}),
            "spec.gang.granularity",
            "unknown value",
            "Cluster, Group or Replica",
        ),
        (make({"gang": {"minCount": "All"}}), "spec.gang.minCount", 'unknown value "All"', "Replicas or MinReplicas"),
        (make({"gang": {"minCount": 0}}), "spec.gang.minCount", "0 is out of range", "1 to 2147483647"),
        (make({"gang": {"minCount": True}}), "spec.gang.minCount", "should not be true", "a whole number"),
        (make({"gang": {"gangGroup": "My Gang"}}), "spec.gang.gangGroup", "has the wrong format", ""),
        (make({"gang": []}), "spec.gang", "should be a mapping, not a list", ""),
        (make({"kubernetes": {"version": 1.37}}), "spec.kubernetes.version", "not 1.37", 'quotes: "1.37"'),
        (make({"kubernetes": {"version": "1.34"}}), "spec.kubernetes.version", "unknown Kubernetes version", ""),
        (
            make({"kubernetes": {"featureGates": {"GenericWorkload": "true"}}}),
            "spec.kubernetes.featureGates.GenericWorkload",
            'should be true or false, not "true"',
            "without quotes",
        ),
        (make({"kuberay": {"version": "latest"}}), "spec.kuberay.version", "has the wrong format", "CRDs"),
        (make({"kuberay": {"manages": "volcano"}}), "spec.kuberay.manages", "unknown value", "Did you mean Volcano?"),
        (make({"select": "None"}), "spec.select", 'unknown value "None"', "OptIn or All"),
        (make({"select": True}), "spec.select", "should not be true", "OptIn or All or a mapping"),
        (make({"select": {}}), "spec.select", "is empty", "kinds"),
        (make({"select": {"kind": ["Job"]}}), "spec.select.kind", "unknown key", "Did you mean kinds?"),
        (make({"select": {"kinds": "Job"}}), "spec.select.kinds", "should be a list", ""),
        (make({"select": {"kinds": [1]}}), "spec.select.kinds.0", "should be a string, not 1", 'quotes: "1"'),
        (make({"select": {"labelSelector": "a in (b"}}), "spec.select.labelSelector", "parentheses", "kubectl"),
        (make({"overrides": {}}), "spec.overrides", "should be a list", ""),
        (make({"overrides": [{"gang": {}}]}), "spec.overrides.0.select", "is missing", ""),
        (
            make({"overrides": [{"select": {"annotationSelector": "a>b"}, "gang": {}}]}),
            "spec.overrides.0.select.annotationSelector",
            "needs a whole number",
            "",
        ),
        (make({"cluster": []}), "spec.cluster", "should be a mapping", ""),
        (
            make({"cluster": {"featureGates": {"GenericWorkload": True}}}),  # gates of no component
            "spec.cluster.featureGates.GenericWorkload",
            "should be a mapping, not true",
            "",
        ),
        (make(7), "spec", "should be a mapping, not 7", ""),
        (make(spce={}), "spce", "unknown key", "Did you mean spec?"),
        (make(kind="GangSchedulings"), "kind", "unknown value", "Did you mean GangScheduling?"),
        (make(kind="Deployment"), "kind", 'this is a "Deployment"', "krmfn.dev/v1alpha1 GangScheduling"),
        (make(kind=None), "kind", "is missing", "Write kind: GangScheduling"),
        (make(apiVersion="krmfn.dev/v1"), "apiVersion", "unknown value", "Did you mean krmfn.dev/v1alpha1?"),
    ],
)
def test_mistake(value: Any, path: str, message: str, hint: str) -> None:
    ((found_path, found_message, found_hint),) = problems_of(value)
    assert found_path == path
    assert message in found_message
    assert hint in found_hint


def test_all_mistakes_at_once_in_the_order_of_the_file() -> None:
    value = make({"select": {"labelSelector": "a in (b"}, "gang": {"minCount": 0, "naming": "x"}, "failon": "error"})
    assert [path for path, _, _ in problems_of(value)] == [
        "spec.select.labelSelector",
        "spec.gang.minCount",
        "spec.gang.naming",
        "spec.failon",
    ]


def test_a_mistake_reads_as_one_line() -> None:
    with pytest.raises(ConfigError) as caught:
        read_settings(make({"gang": {"granularity": "group"}}))
    assert str(caught.value) == (
        'spec.gang.granularity: unknown value "group". Did you mean Group? Allowed: Cluster, Group or Replica.'
    )
