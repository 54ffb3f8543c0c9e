"""Which resources become gangs, and with which options."""

from __future__ import annotations

from typing import Any

import pytest

from krmfn.config import Settings, known_annotations, options_for, read_settings
from tests.config.heads import make_head

RAY, JOB = ("ray.io/v1", "RayCluster"), ("batch/v1", "Job")


def make_settings(**spec: Any) -> Settings:
    """The settings of a configuration with this spec."""
    return read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})


def choose(annotations: dict[str, str] | None = None, kind: Any = RAY, labels: Any = None, **spec: Any) -> Any:
    """What is decided for one item."""
    return options_for(
        make_settings(**spec), make_head(kind[0], kind[1], labels=labels or {}, annotations=annotations or {})
    )


SELECTOR = {"kinds": ["RayCluster"]}
GANG = "krmfn.dev/gang"
LABEL = "ray.io/gang-scheduling-enabled"


@pytest.mark.parametrize(
    ("select", "annotations", "labels", "why", "requested"),
    [
        ("OptIn", {}, {}, "not selected", None),
        ("OptIn", {GANG: "true"}, {}, "selected", True),
        ("OptIn", {GANG: "false"}, {}, "opted out", None),
        ("OptIn", {}, {LABEL: "true"}, "selected", True),
        ("OptIn", {}, {LABEL: "True"}, "selected", True),
        ("OptIn", {}, {LABEL: "false"}, "not selected", None),
        ("OptIn", {LABEL: "true"}, {}, "not selected", None),
        ("OptIn", {"ray.io/native-workload-scheduling": "true"}, {}, "selected", True),
        ("OptIn", {"ray.io/k8s-workload-scheduling": "true"}, {}, "selected", True),
        ("OptIn", {"ray.io/k8s-workload-scheduling": "True"}, {}, "not selected", None),
        ("OptIn", {GANG: "false"}, {LABEL: "true"}, "opted out", None),
        ("All", {}, {}, "selected", False),
        ("All", {GANG: "true"}, {}, "selected", True),
        ("All", {}, {LABEL: "true"}, "selected", True),
        ("All", {GANG: "false"}, {}, "opted out", None),
        (SELECTOR, {}, {}, "selected", True),
        (SELECTOR, {GANG: "false"}, {}, "opted out", None),
        ({"kinds": ["Job"]}, {}, {}, "not selected", None),
        ({"kinds": ["Job"]}, {GANG: "true"}, {}, "selected", True),
        ({"kinds": ["Job"]}, {}, {LABEL: "true"}, "not selected", None),
    ],
)
def test_selection(select: Any, annotations: Any, labels: Any, why: str, requested: bool | None) -> None:
    selection = choose(annotations, labels=labels, select=select)
    assert selection.why == why
    assert selection.notes == ()
    assert (selection.options.requested if selection.options else None) is requested


def test_keys_of_kuberay_are_for_its_kinds_alone() -> None:
    assert choose(kind=JOB, labels={LABEL: "true"}).why == "not selected"


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("granularity", "Group", "granularity", "Group"),
        ("min-count", "MinReplicas", "min_count", "MinReplicas"),
        ("min-count", "5", "min_count", 5),
        ("autoscaling", "MinReplicas", "autoscaling", "MinReplicas"),
        ("topology-key", "topology.kubernetes.io/zone", "topology_key", "topology.kubernetes.io/zone"),
        ("topology-key", "", "topology_key", ""),
        ("topology-key.gpu", "rack", "group_topology_keys", {"gpu": "rack"}),
        ("topology-key.small.group", "rack", "group_topology_keys", {"small.group": "rack"}),
        ("disruption-mode", "All", "disruption_mode", "All"),
        ("naming", "Revisioned", "naming", "Revisioned"),
        ("gang-group", "both", "gang_group", "both"),
    ],
)
def test_annotation(key: str, text: str, field: str, value: Any) -> None:
    selection = choose({GANG: "true", f"krmfn.dev/{key}": text})
    assert getattr(selection.options, field) == value


@pytest.mark.parametrize(
    ("key", "text", "message", "hint"),
    [
        ("gang", "yes", 'unknown value "yes"', "true or false"),
        ("gang", "True", 'unknown value "True"', "Did you mean true?"),
        ("granularity", "group", 'unknown value "group"', "Did you mean Group?"),
        ("min-count", "0", "0 is out of range", "1 to"),
        ("min-count", "-1", "-1 is out of range", ""),
        ("min-count", "many", 'unknown value "many"', "Replicas or MinReplicas"),
        ("disruption-mode", "Pod", "unknown value", "Single or All"),
        ("gang-group", "Both", "has the wrong format", ""),
    ],
)
def test_annotation_with_a_wrong_value(key: str, text: str, message: str, hint: str) -> None:
    selection = choose({GANG: "true", f"krmfn.dev/{key}": text})
    (note,) = selection.notes
    assert (selection.options, note.rule, note.current) == (None, "annotation-value", text)
    assert note.path == ("metadata", "annotations", f"krmfn.dev/{key}")
    assert message in note.message
    assert hint in note.hint


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("gangs", "krmfn.dev/gang?"),
        ("Gang", "krmfn.dev/gang?"),
        ("minCount", "krmfn.dev/min-count?"),
        ("topologykey", "krmfn.dev/topology-key?"),
        ("topology-keys.gpu", "krmfn.dev/topology-key"),
        ("topology-key.", "krmfn.dev/topology-key"),
    ],
)
def test_mistyped_annotation(key: str, hint: str) -> None:
    selection = choose({f"krmfn.dev/{key}": "true"})
    (note,) = selection.notes
    assert (selection.why, note.rule) == ("not selected", "unknown-annotation")
    assert hint in note.hint


def test_annotations_win_over_overrides_and_those_over_the_default() -> None:
    spec: dict[str, Any] = {
        "select": "All",
        "gang": {"minCount": 2, "topologyKey": "zone", "groupTopologyKeys": {"a": "rack"}},
        "overrides": [
            {"select": {"names": ["demo"]}, "gang": {"minCount": 3, "granularity": "Group"}},
            {"select": {"names": ["d*"]}, "gang": {"minCount": 4}},
            {"select": {"names": ["other"]}, "gang": {"minCount": 5}},
        ],
    }
    plain = choose(**spec).options
    assert (plain.min_count, plain.granularity, plain.topology_key) == (4, "Group", "zone")
    own = choose({"krmfn.dev/min-count": "6", "krmfn.dev/topology-key.b": "slot"}, **spec).options
    assert (own.min_count, own.granularity) == (6, "Group")
    assert own.group_topology_keys == {"a": "rack", "b": "slot"}


def test_known_annotations_cover_the_gang_settings() -> None:
    assert set(known_annotations()) == {
        "krmfn.dev/gang",
        "krmfn.dev/generated-from",
        "krmfn.dev/pod-group",
        "krmfn.dev/pod-group-by",
        "krmfn.dev/revision",
        "krmfn.dev/granularity",
        "krmfn.dev/min-count",
        "krmfn.dev/autoscaling",
        "krmfn.dev/topology-key",
        "krmfn.dev/topology-key.<group>",
        "krmfn.dev/disruption-mode",
        "krmfn.dev/naming",
        "krmfn.dev/gang-group",
        "krmfn.dev/slices",
        "krmfn.dev/min-groups",
        "krmfn.dev/min-count.<group>",
    }
