"""Groups that need not start together, because their controller starts one after the other."""

from __future__ import annotations

import pytest

from krmfn.model.tree import Composite, PodTemplate
from krmfn.releases.release import find_release, list_needed
from krmfn.targets import emit
from tests.targets.trees import gang, settings, workers


def in_order(count: int) -> Composite:
    """So many groups of two pods that do not wait for each other."""
    return Composite("jobset", tuple(workers(index, f"stage-{index}", 2) for index in range(count)), None)


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_they_are_written_side_by_side(release: str) -> None:
    emission = emit(gang(in_order(2)), settings(release))
    assert [value["kind"] for value in emission.objects] == ["Workload", "PodGroup", "PodGroup"]
    names = [template["name"] for template in emission.objects[0]["spec"]["podGroupTemplates"]]
    assert names == ["stage-0", "stage-1"]
    assert [value["spec"]["schedulingPolicy"] for value in emission.objects[1:]] == [{"gang": {"minCount": 2}}] * 2
    assert "parentCompositePodGroupName" not in emission.objects[1]["spec"]
    assert emission.notes == ()


def test_they_need_one_gate_only() -> None:
    emission = emit(gang(in_order(2)), settings("1.37"))
    assert list_needed(find_release("1.37"), emission.objects) == ("GenericWorkload",)


def test_a_constraint_over_all_of_them_needs_a_root() -> None:
    emission = emit(gang(in_order(2)._replace(topology_key="zone")), settings("1.37"))
    assert [value["kind"] for value in emission.objects][1] == "CompositePodGroup"


def test_a_first_group_of_one_pod_keeps_its_quorum() -> None:
    pod = PodTemplate(0, ("spec", "template"), 1, ("spec", "parallelism"))
    single = workers(0, "driver", 1)._replace(templates=(pod,))
    emission = emit(gang(Composite("jobset", (single, workers(1, "b", 2)), None)), settings("1.36"))
    assert emission.objects[1]["spec"]["schedulingPolicy"] == {"gang": {"minCount": 1}}
