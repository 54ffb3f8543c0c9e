"""The rows of the Job rules; their functions are in `jobs`."""

from __future__ import annotations

from typing import Final

from krmfn.checks.operator.jobs import (
    find_class_never,
    find_controller_unlinked,
    find_gang_lost,
    find_name_too_long,
    find_scheduling_ignored,
    find_scheduling_unused,
)
from krmfn.checks.rule import Check
from krmfn.model.findings import Rule

_ONLY_WITH_GATE = "Reported when `featureGates` says that WorkloadWithJob is on."

CHECKS: Final = (
    Check(
        Rule(
            "job-scheduling-unused",
            "operator",
            "warning",
            "A Job has spec.scheduling and a link to a group.",
            "The link wins: the controller makes nothing, and what spec.scheduling says is not what happens. The 1.38 "
            "proposal refuses both together.",
            "Keep one of them.",
            ("1.37",),
            ("KEP-5547", "observed on Kubernetes 1.37.0"),
        ),
        find_scheduling_unused,
    ),
    Check(
        Rule(
            "job-scheduling-ignored",
            "operator",
            "warning",
            "scheduling in a Job template of a CronJob or JobSet is ignored.",
            "The 1.37 Job controller makes groups for Jobs that have no controller. Jobs of a CronJob or JobSet have "
            "one.",
            "Link the pod template to a group.",
            ("1.37",),
            ("KEP-5547",),
        ),
        find_scheduling_ignored,
    ),
    Check(
        Rule(
            "job-gang-lost",
            "operator",
            "warning",
            "A Job that was a gang on 1.36 starts pod by pod on 1.37.",
            "1.36 makes a gang of every Indexed Job with completions equal to parallelism above 1. 1.37 makes a group "
            "of policy basic unless spec.scheduling asks for a gang, and the field cannot be added later. "
            + _ONLY_WITH_GATE,
            "Ask for the gang in the manifest, or link the pod template to a group.",
            ("1.37",),
            ("KEP-5547",),
        ),
        find_gang_lost,
    ),
    Check(
        Rule(
            "job-name-too-long",
            "operator",
            "error",
            "The Job controller cannot build a Workload from this Job's name, and makes no pods.",
            "The template is called `<job>-pgt-0` and has to be a DNS label, so names of more than 57 bytes or with a "
            "dot fail: event FailedWorkloadCreate, no pods, for a plain Job, too. " + _ONLY_WITH_GATE,
            "Shorten the name, or link the pod template to a group: the controller then leaves the Job alone.",
            ("1.36", "1.37"),
            ("KEP-5547", "observed on Kubernetes 1.37.0"),
        ),
        find_name_too_long,
    ),
    Check(
        Rule(
            "job-class-never",
            "operator",
            "error",
            "The PodGroup that the Job controller makes is refused, because its priority class never preempts.",
            "With PodGroupPreemptionPolicy on, a group of such a class must say `preemptionPolicy: Never`. The "
            "controller does not copy that field. " + _ONLY_WITH_GATE,
            "Use a class that preempts, or bring your own group.",
            ("1.37",),
            ("kubernetes plugin/pkg/admission/priority",),
        ),
        find_class_never,
    ),
    Check(
        Rule(
            "controller-unlinked",
            "operator",
            "warning",
            "A Workload names a controller whose pods link to no group.",
            "controllerRef documents, it does not link: the scheduler reads the pod's schedulingGroup only. For Jobs "
            "it even switches the automatic gang of 1.36 off.",
            "Link the pod templates; `krmfn generate` does.",
            (),
            ("KEP-5547",),
        ),
        find_controller_unlinked,
    ),
)
