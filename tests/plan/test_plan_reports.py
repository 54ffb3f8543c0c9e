"""Update plans as text, JSON, Markdown and results."""

from __future__ import annotations

import json
import re

from krmfn.plan.records import Plan
from krmfn.reports.plans import FORMATS, render_plan, to_results
from tests.plan.states import GROUP, JOB, TREE, plan

KEY = "  schedulingConstraints: {topology: [{key: topology.kubernetes.io/zone}]}\n"
DATA = "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{x: {}}}\n"
PLAN = plan(JOB + GROUP, JOB + GROUP + KEY + TREE)


def test_the_text_tells_what_to_rename() -> None:
    text = render_plan(PLAN)
    assert text.startswith("Must be replaced\n  PodGroup ml/train  (new.yaml:14:1)\n")
    assert "spec.schedulingConstraints: Invalid value" in text
    assert 'spec.schedulingConstraints: (none) -> {"topology": [{"key": "topology.kubernetes.io/zone"}]}' in text
    assert "Job ml/train spec.template.spec.schedulingGroup.podGroupName  (new.yaml:11:39)" in text
    assert text.endswith("0 refused, 1 to be replaced, 0 removed, 2 new, 0 updated in place, 1 unchanged\n")
    assert "\x1b" not in text


def test_colors_change_nothing_else() -> None:
    colored = render_plan(PLAN, color=True)
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render_plan(PLAN)


def test_the_document_is_complete() -> None:
    document = json.loads(render_plan(PLAN, "json"))
    assert document["refused"] is True
    assert document["summary"] == {"refuse": 0, "replace": 1, "remove": 0, "new": 2, "update": 0, "unchanged": 1}
    (group,) = (entry for entry in document["entries"] if entry["action"] == "replace")
    assert group["resourceRef"] == {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "name": "train",
        "namespace": "ml",
    }
    assert group["changes"] == [
        {"path": "spec.schedulingConstraints", "new": {"topology": [{"key": "topology.kubernetes.io/zone"}]}}
    ]
    assert group["reasons"][0]["type"] == "Invalid"
    assert [rename["path"] for rename in group["renames"]] == [
        "metadata.name",
        "spec.template.spec.schedulingGroup.podGroupName",
    ]


def test_markdown_is_a_table_with_details() -> None:
    text = render_plan(PLAN, "markdown")
    assert "**The API server would refuse this change.**" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[1] == "| `PodGroup ml/train` | Must be replaced | `spec.schedulingConstraints` |"
    assert len(rows) == 4
    assert all(row.count("|") == 4 for row in rows)
    assert "### `PodGroup ml/train`" in text


def test_markdown_says_when_all_is_well() -> None:
    assert "Everything can be applied in place." in render_plan(plan(JOB, JOB), "markdown")


def test_cells_cannot_break_the_table() -> None:
    text = render_plan(plan("", "apiVersion: v1\nkind: A|B\nmetadata: {name: 'x`y'}\n"), "markdown")
    (row,) = (line for line in text.splitlines() if "x`y" in line and line.startswith("|"))
    assert row.replace("\\|", "").count("|") == 4


def test_results_for_other_formats() -> None:
    results = to_results(PLAN)
    assert [(result.severity, result.ref.name if result.ref else "") for result in results] == [
        ("error", "train"),
        ("info", "tree"),
        ("info", "leaf"),
    ]
    assert results[0].path == "spec.schedulingConstraints"
    assert "podgroup-protection" in results[0].tags["hint"]


def test_formats() -> None:
    assert len({render_plan(PLAN, form) for form in FORMATS}) == len(FORMATS)


def test_an_object_of_several_worlds_is_one_for_each_change() -> None:
    """Two clusters get the same update, a third another one."""
    (group,) = (entry for entry in PLAN.entries if entry.action == "replace")
    other = group._replace(world="clusters/c", changes=())
    several = Plan((group._replace(world="clusters/a"), group._replace(world="clusters/b"), other))
    text = render_plan(several)
    assert "  PodGroup ml/train  (new.yaml:14:1, in clusters/a, clusters/b)\n" in text
    assert "  PodGroup ml/train  (new.yaml:14:1, in clusters/c)\n" in text
    assert (text.count("  PodGroup ml/train  ("), "3 to be replaced" in text) == (2, True)
    assert "| `PodGroup ml/train` in clusters/c |" in render_plan(several, "markdown")
    assert [entry["world"][-1] for entry in json.loads(render_plan(several, "json"))["entries"]] == ["a", "b", "c"]


def test_long_values_that_begin_alike_are_shown_where_they_differ() -> None:
    text = render_plan(plan(DATA.format("a" * 90 + "b"), DATA.format("a" * 90 + "c" * 90)))
    assert f'data.x: ...{"a" * 20}b" -> ...{"a" * 20}{"c" * 34}...\n' in text
    text = render_plan(plan(DATA.format("a" * 90), DATA.format("b" * 90)))
    assert f'data.x: "{"a" * 56}... -> "{"b" * 56}...\n' in text
