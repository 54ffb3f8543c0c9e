"""Values and names for mistakes: of the wrong type, out of range, of another release. Tables, no code."""

from __future__ import annotations

from typing import Any

WRONG: tuple[Any, ...] = (
    1, -1, 0, "x", "", "1", True, False, 1.5, [], {}, [[]], [{}], {"a": 1}, [None], ["x"], 10**12, {"": None}, [1,
    "x"], {"name": "a"}, "null", "{}",
)  # fmt: skip
NUMBERS: tuple[Any, ...] = (
    0, -1, -3, -(2**31), 2**31 - 1, 2**31, -(2**31) - 1, 3_000_000_000, 2**32 + 1, 2**63, 2**64, 10**30, 1.0, 1.5,
    0.0, -0.0, 2.0, 1e9, 5e-324, "1", "", " 1", "one", True, None, [1], {"value": 1}, 1_000_000_000, 1_000_000_001,
    2_000_000_000, 2_000_001_000,
)  # fmt: skip
# Fields of other releases, of proposals, and other kinds' names for the same thing.
STRANGERS = (
    "policy", "podGroups", "podGroupTemplates", "compositePodGroupTemplates", "schedulingPolicy", "gang", "basic",
    "minCount", "minGroupCount", "level", "topologyConstraints", "topology", "key", "workloadRef",
    "podGroupTemplateRef", "schedulingGroup", "scheduling", "minMember", "minAvailable", "name", "replicas",
    "queue", "priority", "preemptionPolicy", "disruptionMode", "foo", "", "x y", "x.y", "a/b", "apiVersion",
    "status", "$ref", "é",
)  # fmt: skip
EMPTY: tuple[Any, ...] = (None, {}, [], "", 0)
