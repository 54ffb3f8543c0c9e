"""Groups that people wrote by hand for other schedulers, as in issues of these projects: what never starts is found."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from krmfn.config import read_settings
from krmfn.model.findings import Finding
from krmfn.model.kinds import KINDS, KindRow
from krmfn.model.schedulers import SCHEDULERS
from tests.checks.cases import Case, find_all, read_items


def find_findings(*values: dict[str, Any]) -> list[Finding]:
    return find_all(Case(read_items(yaml.safe_dump_all(values)), None, read_settings(None)))


def find(*values: dict[str, Any]) -> dict[str, str]:
    """The messages by rule."""
    return {one.rule: one.message for one in find_findings(*values)}


def make_pods(choice: str, group: str = "train", count: int = 3, space: str = "ml", **more: str) -> dict[str, Any]:
    """A Job whose pods name a group of a scheduler."""
    row = SCHEDULERS[choice]
    metadata: dict[str, Any] = {"labels": dict(more), "annotations": {}}
    metadata[row.link[0]][row.link[1]] = group
    spec = {"schedulerName": row.name, "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": metadata, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": space},
        "spec": {"parallelism": count, "completions": count, "template": template},
    }


def make_group(choice: str, name: str = "train", space: str = "ml", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": space}
    return {"apiVersion": SCHEDULERS[choice].api_version, "kind": "PodGroup", "metadata": metadata, "spec": spec}


each = pytest.mark.parametrize("choice", SCHEDULERS)


@each
def test_more_members_than_pods(choice: str) -> None:
    """volcano#1331, scheduler-plugins#358: a minimum that the pods never reach."""
    assert (
        "minMember is 4, but only 3 pods can exist (Job train 3)"
        in find(make_pods(choice), make_group(choice, minMember=4))["scheduler-members-above-pods"]
    )
    assert "scheduler-members-above-pods" not in find(make_pods(choice), make_group(choice, minMember=3))


@each
def test_a_group_in_another_namespace(choice: str) -> None:
    """volcano#604: the pods wait without an event."""
    found = find(make_pods(choice), make_group(choice, space="team", minMember=3))
    assert 'the PodGroup "train" is in another namespace (team)' in found["scheduler-group-missing"]
    found = find(make_pods(choice, group="trian"), make_group(choice, minMember=3))
    assert '"trian" in the files checked (did you mean "train"?)' in found["scheduler-group-missing"]
    other = make_pods(choice, group="trian")
    other["spec"]["template"]["spec"]["schedulerName"] = "default-scheduler"
    assert "scheduler-group-missing" not in find(other, make_group(choice, minMember=3))


@each
@pytest.mark.parametrize("swap", [(0, 1), (1, 2), (2, 3)])
def test_the_name_of_a_scheduler_with_two_letters_swapped(choice: str, swap: tuple[int, int]) -> None:
    """The other half of volcano#604: `vocalno`."""
    pods = make_pods(choice)
    letters = list(SCHEDULERS[choice].name)
    letters[swap[1]], letters[swap[0]] = letters[swap[0]], letters[swap[1]]
    pods["spec"]["template"]["spec"]["schedulerName"] = "".join(letters)
    told = find(pods, make_group(choice, minMember=3)).get("scheduler-mistyped", "")
    assert bool(told) == (swap[0] > 0), "names that begin otherwise may be anybody's"


def test_a_kueue_group_that_waits_for_a_pod_that_nobody_makes() -> None:
    """kueue#1451: three pods of four."""
    metadata = {
        "namespace": "ml",
        "labels": {"kueue.x-k8s.io/queue-name": "user-queue", "kueue.x-k8s.io/pod-group-name": "group"},
        "annotations": {"kueue.x-k8s.io/pod-group-total-count": "4"},
    }
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**metadata, "name": f"p{number}"},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        for number in range(4)
    ]
    assert "is 4, but only 3 pods can exist" in find(*pods[:3])["kueue-group-incomplete"]
    assert "kueue-group-incomplete" not in find(*pods)


@pytest.mark.parametrize(
    ("spec", "rule", "told"),
    [
        ({"minMember": 3}, "", ""),
        ({"minMember": 3, "minSubGroup": 1}, "kai-subgroups-refused", "cannot be combined"),
        ({"minSubGroup": 1}, "kai-minimum-above-groups", "minSubGroup is 1, but there are 0 sub-groups"),
        ({"subGroups": [{"name": "a", "minMember": 3}]}, "", ""),
        ({"subGroups": [{"name": "a", "minMember": 1}] * 2}, "kai-subgroups-refused", 'two sub-groups are called "a"'),
        ({"subGroups": [{"name": "a", "minMember": 3, "parent": "b"}]}, "kai-subgroups-refused", 'no sub-group "b"'),
        ({"subGroups": [{"name": "a", "minSubGroup": 1, "parent": "a"}]}, "kai-subgroups-refused", "below itself"),
        ({"subGroups": [{"name": "a"}]}, "kai-subgroups-refused", 'the sub-group "a" has no minMember'),
        (
            {"subGroups": [{"name": "a", "minSubGroup": 0}]},
            "kai-subgroups-refused",
            'the sub-group "a" has no sub-groups, so it cannot have minSubGroup',
        ),
        (
            {"subGroups": [{"name": "b", "minMember": 1}, {"name": "a", "minMember": 3, "parent": "b"}]},
            "kai-subgroups-refused",
            'the sub-group "b" has sub-groups, so it cannot have minMember',
        ),
        (
            {"subGroups": [{"name": "b", "minSubGroup": 2}, {"name": "a", "minMember": 3, "parent": "b"}]},
            "kai-minimum-above-groups",
            "minSubGroup is 2, but there is 1 sub-group",
        ),
        ({"subGroups": [{"name": "c", "minMember": 3}]}, "kai-subgroup-missing", 'no sub-group "a" for pods'),
        ({"subGroups": [{"name": "a", "minMember": 3}, {"name": {}}, {"name": ["a"]}, {"name": 1}]}, "", ""),
    ],
)
def test_sub_groups_of_kai(spec: dict[str, Any], rule: str, told: str) -> None:
    label: Any = {"kai.scheduler/subgroup-name": "a"}
    pods = make_pods("KAI", **label)
    pods["metadata"]["annotations"] = {"kai.scheduler/skip-podgrouper": "true"}
    found = {key: text for key, text in find(pods, make_group("KAI", **spec)).items() if "kai" in key}
    assert told in found.get(rule, "")
    assert bool(found) == bool(rule)


def test_pods_of_kai_that_do_not_say_where_they_are() -> None:
    parts = [{"name": "a", "minMember": 3}]
    found = find(make_pods("KAI"), make_group("KAI", minSubGroup=1, subGroups=parts))
    assert "has sub-groups, but the pods do not name one of them" in found["kai-subgroup-missing"]


def test_the_grouper_of_kai_leaves_only_pods_alone_that_say_so() -> None:
    pods, group = make_pods("KAI"), make_group("KAI", minMember=3)
    assert "puts the pods into it, instead of train" in find(pods, group)["kai-group-overwritten"]
    alone = {"apiVersion": "v1", "kind": "Pod", **pods["spec"]["template"]}
    alone["metadata"] = {**alone["metadata"], "name": "p", "namespace": "ml"}
    assert "kai-group-overwritten" not in find(alone, group)
    pods["spec"]["template"]["metadata"]["annotations"]["kai.scheduler/skip-podgrouper"] = "true"
    assert "kai-group-overwritten" not in find(pods, group)


def make_yunikorn(groups: Any, name: str = "workers", application: str = "train") -> dict[str, Any]:
    value = make_pods("Volcano")
    text = groups if isinstance(groups, str) else json.dumps(groups)
    annotations = {"yunikorn.apache.org/task-groups": text, "yunikorn.apache.org/task-group-name": name}
    value["spec"]["template"]["metadata"] = {"labels": {"applicationId": application}, "annotations": annotations}
    value["spec"]["template"]["spec"]["schedulerName"] = "yunikorn"
    return value


SIZE = {"cpu": "1"}


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([{"name": "workers", "minMember": 3, "minResource": SIZE}], ""),
        ([{"name": "workers", "minMember": 4, "minResource": SIZE}], "is 4, but only 3 pods can exist (Job train 3)"),
        (
            [{"name": n, "minMember": 1, "minResource": SIZE} for n in ("workers", "head")],
            "minMember of the task group head is 1, but only 0 pods can exist:",
        ),
        ([{"name": "worker", "minMember": 3, "minResource": SIZE}], 'no task group "workers" (did you mean "worker"?)'),
        ([{"name": "workers", "minMember": 3}], "a task group has no minResource"),
        ([{"name": "workers", "minMember": 0, "minResource": SIZE}], "minMember of a task group is wrong"),
        ([{"minMember": 3, "minResource": SIZE}], "a task group has no name"),
        ({"name": "workers"}, "this is not a list of task groups"),
        ("[{", "this is not JSON"),
    ],
)
def test_task_groups_of_yunikorn(groups: Any, told: str) -> None:
    found = [one for one in find_findings(make_yunikorn(groups)) if one.rule == "yunikorn-task-groups"]
    assert any(told in one.message for one in found) or not told
    assert bool(found) == bool(told)


def test_an_application_of_yunikorn_may_have_several_objects() -> None:
    groups = [{"name": name, "minMember": 3, "minResource": SIZE} for name in ("workers", "head")]
    second = make_yunikorn(groups, "head")
    second["metadata"]["name"] = "head"
    assert "yunikorn-task-groups" not in find(make_yunikorn(groups), second)
    second["spec"]["template"]["metadata"]["labels"]["applicationId"] = "other"
    assert "yunikorn-task-groups" in find(make_yunikorn(groups), second)


def put(value: Any, path: list[str], role: str, entry: Any) -> Any:
    """`value` with `entry` at a path in which `*` is the entry of a list, or of a mapping of roles."""
    if not path:
        return entry
    if path[0] == "*":
        inner = put(None, path[1:], role, entry)
        return {role: inner} if role else [{"name": "a", **inner}]
    return {**(value or {}), path[0]: put((value or {}).get(path[0]), path[1:], role, entry)}


@pytest.mark.parametrize(
    "row", [row for row in KINDS.values() if row.rival and row.templates], ids=lambda row: row.name
)
def test_a_kind_whose_operator_schedules_its_pods_as_a_gang_already(row: KindRow) -> None:
    """A link beside the field that switches on another gang scheduler: the pods would be in two groups."""
    template = row.templates[-1]
    pod: Any = {"spec": {"schedulingGroup": {"podGroupName": "train"}, "containers": [{"name": "c", "image": "i"}]}}
    if template.spec:
        pod = {"annotations": {"krmfn.dev/pod-group": "train"}}
    value = put({}, template.path.split("."), template.roles[0] if template.roles else "Worker", pod)
    if "*" in template.path and not (template.roles or "Specs" in template.path):
        value = put({}, template.path.split("."), "", pod)
    head = {"apiVersion": f"{row.group}/v1", "kind": row.name, "metadata": {"name": "train", "namespace": "ml"}}
    group = make_group("Volcano", schedulingPolicy={"gang": {"minCount": 1}})
    group["apiVersion"] = "scheduling.k8s.io/v1beta1"
    assert "second-gang-system" not in find({**head, **value}, group)
    rival = put(value, [*row.rival], "", "yunikorn" if row.rival[-1].endswith("Scheduler") else {"volcano": {}})
    assert row.rival_name in find({**head, **rival}, group)["second-gang-system"]
