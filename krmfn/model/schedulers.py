"""Schedulers with PodGroups of their own: how they are called, how a pod says which group it is in, and what is
written into one. One row each.

Source: volcano v1.15.1, scheduler-plugins v0.34.7 (`apis/scheduling/v1alpha1`), KAI-Scheduler v0.17.0
(`pkg/common/constants`). Reads no object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from krmfn.model.marks import POD_GROUP_LABEL
from krmfn.model.values import Key, Names, Versions

#: The scheduler of pods that name none.
DEFAULT_SCHEDULER = "default-scheduler"
#: The label of queues, groups and nodes that are of one scheduler of KAI; a group without it is of the default one.
NODE_POOL = "kai.scheduler/node-pool"


class Scheduler(NamedTuple):
    """A scheduler that `spec.scheduler` can name.

    `name` is the schedulerName under which it is installed, `api_version` that of its PodGroup. `link` is where pods
    name their group: the field of their metadata and the key in it; `beside` are other such places that are set with
    it. `queue` is the label by which owners name a queue, "" where there are none. `writes` are the fields of its
    PodGroup's spec that krmfn writes.
    """

    name: str
    api_version: str
    link: Key
    writes: Names
    beside: tuple[Key, ...] = ()
    queue: str = ""

    @property
    def group(self) -> str:
        """The API group of its PodGroup."""
        return self.api_version.partition("/")[0]


#: By the name that the configuration has for them.
SCHEDULERS: Mapping[str, Scheduler] = {
    "Volcano": Scheduler(
        "volcano",
        "scheduling.volcano.sh/v1beta1",
        ("annotations", "scheduling.k8s.io/group-name"),
        ("minMember", "minResources", "queue", "priorityClassName", "networkTopology", "subGroupPolicy"),
        (("labels", POD_GROUP_LABEL),),
        "volcano.sh/queue-name",
    ),
    "SchedulerPlugins": Scheduler(
        "scheduler-plugins-scheduler",
        "scheduling.x-k8s.io/v1alpha1",
        ("labels", "scheduling.x-k8s.io/pod-group"),
        ("minMember", "minResources"),
    ),
    "KAI": Scheduler(
        "kai-scheduler",
        "scheduling.run.ai/v2alpha2",
        ("annotations", "pod-group-name"),
        ("minMember", "minSubGroup", "queue", "priorityClassName", "topologyConstraint", "subGroups"),
        (("labels", "kai.scheduler/subgroup-name"), ("annotations", "kai.scheduler/skip-podgrouper")),
        "kai.scheduler/queue",
    ),
}

#: Where pods name a group of another scheduler: field of their metadata, key, and the scheduler.
RIVALS = (
    *((*row.link, choice) for choice, row in SCHEDULERS.items()),
    ("labels", "pod-group.scheduling.sigs.k8s.io", "SchedulerPlugins"),
    ("labels", "pod-group-name", "KAI"),
    ("annotations", "yunikorn.apache.org/task-group-name", "YuniKorn"),
)


def counts_sub_groups(operators: Versions) -> bool:
    """Whether a group of KAI has a minimum of sub-groups (since 0.15); before, it waits for all of them."""
    return "kai" not in operators or operators["kai"] >= (0, 15)
