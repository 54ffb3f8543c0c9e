"""The values of the hand-made cases: tables, no code."""

from __future__ import annotations

from typing import Any

GONE = object()
CLAIM = {"name": "c", "resourceClaimName": "x"}

WHOLES: tuple[Any, ...] = (None, {}, [], "", "x", 0, 1, True, [{}], {"a": 1})

COUNTS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 4, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, None, "2", 2.0, 2.5, 1e3, True, [], {}, [2], {"value": 2}, 2**32 + 2, 2**63, 2**64 + 2, -0.0,
    GONE, "", "2Gi", 10**40,
)  # fmt: skip

POLICIES: tuple[Any, ...] = (
    None, {}, [], "gang", 1, {"basic": {}}, {"basic": None}, {"gang": None}, {"basic": None, "gang": None}, {"gang": {}}, {"gang": {}, "basic": {}},
    {"gang": None, "basic": {}}, {"gang": {"minCount": 2}, "basic": None}, {"gang": {"minCount": 0}, "basic": {}}, {"gang": {"minCount": -1}},
    {"gang": {"minCount": -1}, "basic": {}}, {"basic": []}, {"basic": ""}, {"basic": True}, {"basic": {"minCount": 1}}, {"gang": []}, {"gang": [{"minCount": 2}]},
    {"gang": 2}, {"gang": "2"}, {"gang": {"minGroupCount": 2}}, {"gang": {"minCount": 2, "minGroupCount": 2}}, {"Gang": {"minCount": 2}}, {"gang": {"MinCount": 2}},
    {"gang": {"mincount": 2}}, {"gang": {"minCount": 2, "MinCount": 3}}, {"basic": {}, "Basic": {}}, {"all": {}}, {"gang": {"minCount": 2, "x": None}}, GONE,
)  # fmt: skip

SHORT_NAMES: tuple[Any, ...] = (
    "a", "", None, GONE, "A", "a.b", "a_b", "-a", "a-", "m" * 63, "m" * 64, "M" * 64, "a" * 300, "é", "é" * 31 + "a", "é" * 32, 1, True, {}, [], "a\n", "\ta", " ",
    "a.b." + "c" * 60, "a..b", ".", "0", "a\u0000b", "日", "x" * 62 + "é", "1.2",
)  # fmt: skip

LISTS: tuple[tuple[Any, ...], ...] = (
    (), ("a", "a"), ("a", "b", "a"), ("a", "a", "a"), ("", ""), ("", "", ""), ("a", "", ""), (None, None), ("A", "A"), ("a", "A"), ("a", "b", "c", "d", "e", "f", "g", "h"),
    ("a", "b", "c", "d", "e", "f", "g", "h", "i"), ("a", "a", "c", "d", "e", "f", "g", "h", "i"), ("A",) * 9, ("a.b", "a.b"),
)  # fmt: skip

KEYS: tuple[Any, ...] = (
    None, {}, [], "Job/a", 1, {"kind": "Job"}, {"name": "a"}, {"kind": "Job", "name": "a"}, {"apiGroup": "", "kind": "Job", "name": "a"},
    {"apiGroup": None, "kind": "Job", "name": "a"}, {"apiGroup": "batch", "kind": "", "name": ""}, {"apiGroup": "Batch", "kind": "a/b", "name": "a%b"},
    {"apiGroup": "batch/v1", "kind": ".", "name": ".."}, {"apiGroup": "a" * 254, "kind": "/%", "name": "%/"}, {"apiVersion": "batch/v1", "kind": "Job", "name": "a"},
    {"apiGroup": "batch", "kind": "Job", "name": "a", "uid": "u"}, {"apiGroup": 1, "kind": "Job", "name": "a"}, {"apiGroup": "batch", "kind": ["Job"], "name": "a"},
    {"apigroup": "batch", "kind": "Job", "name": "a"}, {"apiGroup": " ", "kind": " ", "name": "\n"}, {"apiGroup": "é", "kind": "é", "name": "é"},
    {"apiGroup": "batch", "kind": "K" * 500, "name": "n" * 500}, {"kind": None, "name": None}, {"apiGroup": "a..b", "kind": "a/b/c", "name": "..."},
)  # fmt: skip

# Field and value, tried in every object that group fields live in, whether it has that field or not.
FIELDS: tuple[tuple[str, Any], ...] = (
    *(("schedulingConstraints", value) for value in (
        None, {}, [], "x", 1, {"topology": None}, {"topology": []}, {"topology": {}}, {"topology": "rack"}, {"topology": [None]}, {"topology": [{}]}, {"topology": [[]]},
        {"topology": ["rack"]}, {"topology": [{"key": None}]}, {"topology": [{"key": ""}]}, {"topology": [{"key": 1}]}, {"topology": [{"key": "a"}, {"key": "b"}]},
        {"topology": [{"key": "a"}, {"key": "a"}]}, {"topology": [{"key": "a", "level": "b"}]}, {"topology": [{"level": "a"}]}, {"topology": [{"key": "-"}, {}]},
        {"topology": {"key": "a"}}, {"Topology": []}, {"topology": [{"Key": "a"}]}, {"topology": [{"key": "x/" + "y" * 64}]}, {"topology": [{"key": "é/é"}]},
        {"topology": [{"key": "/"}]}, {"topology": [{"key": "a//b"}]}, {"topology": [{"key": "a/"}]}, {"topology": [{"key": "A.B/c"}]}, {"topology": [{"key": "/" + "z" * 64}]},
        {"topology": [{"key": "q" * 254 + "/"}]}, {"topology": [{"key": "a\n"}]}, {"topology": [{"key": "x.y/A_b.c-9"}]}, {"extra": 1},
    )),
    *(("resourceClaims", value) for value in (
        None, [], {}, "x", [None], [{}], [[]], ["c"], [CLAIM], [CLAIM, CLAIM], [{"name": "c"}], [{"name": "", "resourceClaimName": "x"}],
        [{"name": "c", "resourceClaimName": "x", "resourceClaimTemplateName": "y"}], [{"name": "c", "resourceClaimName": None, "resourceClaimTemplateName": None}],
        [{"name": "c", "resourceClaimName": ""}], [{"name": "c", "resourceClaimTemplateName": ""}], [{"name": "c", "resourceClaimName": "", "resourceClaimTemplateName": ""}],
        [{"name": "c", "resourceClaimName": "", "resourceClaimTemplateName": "x"}], [{"name": "C", "resourceClaimName": "X"}], [{"name": "a.b", "resourceClaimName": "a..b"}],
        [{"name": f"c{i}", "resourceClaimName": "x"} for i in range(4)], [{"name": f"c{i}", "resourceClaimName": "x"} for i in range(5)],
        [{"name": "c"}] * 5, [CLAIM, {"name": "c", "resourceClaimTemplateName": "Y"}], [{"resourceClaimName": "x"}, {"resourceClaimName": "y"}],
        [{"name": "c", "resourceClaimName": "q" * 254}], [{"name": "m" * 64, "resourceClaimName": "q" * 253}], [{"name": "c", "source": {"resourceClaimName": "x"}}],
        [{"name": "c", "resourceClaimName": 1}], [{"name": "c", "resourceClaimname": "x"}], [{"name": "c", "resourceClaimTemplateName": "a\n"}],
    )),
    *(("disruptionMode", value) for value in (
        None, "", "Pod", "PodGroup", "pod", "single", "all", "All", {}, [], {"single": {}}, {"all": {}}, {"single": {}, "all": {}}, {"single": None}, {"single": None, "all": {}},
        {"single": None, "all": None}, {"single": []}, {"all": "yes"}, {"all": True}, {"single": {"x": 1}}, {"pod": {}}, {"Single": {}}, {"ALL": {}}, 1, True, ["Pod"],
    )),
    *(("priorityClassName", value) for value in (None, "", "high", "normal", "low", "gold", "system-node-critical", "system-cluster-critical", "High", "a b", 1, {}, "q" * 254, "a..b", "é")),
    *(("priority", value) for value in (None, 0, 1, -1, 1000, 100, -10, 1_000_000_000, 1_000_000_001, 2_000_000_000, 2_000_001_000, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, "0", 0.0, 1.5, True, {}, [])),
    *(("preemptionPolicy", value) for value in (None, "", "Never", "PreemptLowerPriority", "never", "NEVER", "Always", " Never", "Never ", "Never\n", 1, {}, [], True)),
    *(("parentCompositePodGroupName", value) for value in (None, "", "p", "hand", "P", "a.b", "a..b", "q" * 254, "é", 1, {}, [], "a/b", "-")),
    *(("workloadRef", value) for value in (
        None, {}, [], "w", 1, {"workloadName": "w"}, {"templateName": "t"}, {"workloadName": "w", "templateName": "t"}, {"workloadName": "", "templateName": ""},
        {"workloadName": "W", "templateName": "T"}, {"workloadName": "a.b", "templateName": "a.b"}, {"workloadName": None, "templateName": None},
        {"workloadName": 1, "templateName": "t"}, {"workloadName": "w", "templateName": "t", "x": 1}, {"name": "w", "podGroup": "t"}, {"name": "w"}, {"podGroup": "t"},
        {"name": "", "podGroup": ""}, {"name": "w", "podGroup": "t", "podGroupReplicaKey": ""}, {"name": "w", "podGroup": "t", "podGroupReplicaKey": "0"},
        {"name": "w", "podGroup": "t", "podGroupReplicaKey": "A"}, {"name": "w", "podGroup": "t", "podGroupReplicaKey": None}, {"name": "W", "podGroup": "a.b", "podGroupReplicaKey": "a.b"},
        {"name": "w", "podGroup": "t", "podGroupReplicaKey": 0}, {"name": "q" * 254, "podGroup": "m" * 64, "podGroupReplicaKey": "m" * 64}, {"name": None, "podGroup": None},
        {"workloadName": "q" * 254, "templateName": "m" * 64}, {"WorkloadName": "w", "templateName": "t"},
    )),
    *(("podGroupTemplateRef", value) for value in (
        None, {}, [], "w", {"workload": None}, {"workload": {}}, {"workload": []}, {"workload": {"workloadName": "train", "podGroupTemplateName": "workers"}},
        {"workload": {"workloadName": "train", "podGroupTemplateName": "ghost"}}, {"workload": {"workloadName": "ghost", "podGroupTemplateName": "workers"}},
        {"workload": {"workloadName": "", "podGroupTemplateName": ""}}, {"workload": {"workloadName": "Train", "podGroupTemplateName": "a.b"}},
        {"workloadName": "train", "podGroupTemplateName": "workers"}, {"workload": {"workloadName": "train", "templateName": "workers"}}, {"Workload": {}},
        {"workload": {"workloadName": "train", "podGroupTemplateName": "driver", "x": 1}}, {"workload": "train"}, {"workload": {"workloadName": "train"}},
    )),
    *(("schedulingGroup", value) for value in (
        None, {}, [], "g", 1, {"podGroupName": None}, {"podGroupName": ""}, {"podGroupName": "g"}, {"podGroupName": "G"}, {"podGroupName": "a.b"}, {"podGroupName": "a..b"},
        {"podGroupName": "q" * 253}, {"podGroupName": "q" * 254}, {"podGroupName": 1}, {"podGroupName": {}}, {"podGroupName": ["g"]}, {"PodGroupName": "g"},
        {"podGroupName": "g", "x": 1}, {"podgroupName": "g"}, {"workloadName": "w"}, {"podGroupName": "g\n"}, {"podGroupName": "é"}, {"podGroupName": "gang-pg", "compositePodGroupName": "c"},
    )),
    *(("evictionResponders", value) for value in (None, [], [{"name": "example.com/a", "priority": 100}])),
    *(("foo", value) for value in (None, 1, {}, [])),
    ("scheduling", {}), ("spec", {}), ("status", {}), ("metadata", {}), ("name", "x"), ("MinCount", 1), ("gang", {}), ("basic", {}), ("policy", {"gang": {"minCount": 1}}),
)  # fmt: skip
