"""The shapes of the kinds that are asked about, by release and profile.

Written from the API reference, not from the project's schemas: a mistake there must not hide here.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from conformance.generate.metadata import METADATA
from conformance.generate.shapes import Choice, Fixed, Flag, Many, Number, Struct, Text
from conformance.versions import has_trees

EMPTY = Struct({})
CLASSES = ("high", "normal", "low")

TOPOLOGY = Struct({"topology": Many(Struct({"key": Text("label-key")}, ("key",)), 1, 1)}, odds=0.9)
CLAIM = Struct(
    {"name": Text("short"), "resourceClaimName": Text("long"), "resourceClaimTemplateName": Text("long")},
    ("name",),
    (("resourceClaimName", "resourceClaimTemplateName"),),
)
CLAIMS = Many(CLAIM, 4, 4, "name")
MODE = Struct({"single": EMPTY, "all": EMPTY}, one_of=(("single", "all"),))
OLD_MODE = Choice(("Pod", "PodGroup"))
PREEMPTION = Choice(("PreemptLowerPriority", "Never"))
OWNER_REF = Struct(
    {
        "apiGroup": Text("long", ("", "batch", "ray.io", "jobset.x-k8s.io")),
        "kind": Text("segment"),
        "name": Text("segment"),
    },
    ("kind", "name"),
    odds=0.7,
)


def policy(count: str, optional: bool = False) -> Struct:
    """basic or gang; `optional` where the count may be left out."""
    gang = Struct({count: Number(1, 9)}, () if optional else (count,), odds=0.8)
    return Struct({"basic": EMPTY, "gang": gang}, one_of=(("gang", "basic"),))


def leaf(release: str) -> Struct:
    """A template of a PodGroup inside a Workload."""
    if release == "1.35":
        return Struct({"name": Text("short"), "policy": policy("minCount")}, ("name", "policy"))
    fields: dict[str, Any] = {
        "name": Text("short"),
        "schedulingPolicy": policy("minCount"),
        "schedulingConstraints": TOPOLOGY,
        "resourceClaims": CLAIMS,
        "disruptionMode": MODE if has_trees(release) else OLD_MODE,
        "priorityClassName": Text("long", CLASSES),
        "priority": Number(-5, 2000),
    }
    if has_trees(release):
        fields["preemptionPolicy"] = PREEMPTION
    return Struct(fields, ("name", "schedulingPolicy"), odds=0.2)


def composite(level: int) -> Struct:
    """A template of a CompositePodGroup, with children below it down to the level that the server still takes."""
    fields: dict[str, Any] = {
        "name": Text("short"),
        "schedulingPolicy": policy("minGroupCount"),
        "schedulingConstraints": TOPOLOGY,
        "disruptionMode": MODE,
        "priorityClassName": Text("long", CLASSES),
        "priority": Number(-5, 2000),
        "preemptionPolicy": PREEMPTION,
        "podGroupTemplates": Many(leaf("1.37"), 2, 8, "name"),
    }
    needs: tuple[str, ...] = ("name", "schedulingPolicy")
    if level < 3:
        fields["compositePodGroupTemplates"] = Many(composite(level + 1), 2, 8, "name")
        return Struct(fields, needs, (("podGroupTemplates", "compositePodGroupTemplates"),), odds=0.2)
    return Struct(fields, (*needs, "podGroupTemplates"), odds=0.2)


def workload(release: str) -> Struct:
    if release == "1.35":
        return Struct({"controllerRef": OWNER_REF, "podGroups": Many(leaf(release), 4, 8, "name")}, ("podGroups",))
    if release == "1.36":
        fields = {"controllerRef": OWNER_REF, "podGroupTemplates": Many(leaf(release), 4, 8, "name")}
        return Struct(fields, ("podGroupTemplates",))
    lists = ("podGroupTemplates", "compositePodGroupTemplates")
    return Struct(
        {
            "controllerRef": OWNER_REF,
            "podGroupTemplates": Many(leaf(release), 4, 8, "name"),
            "compositePodGroupTemplates": Many(composite(1), 2, 8, "name"),
        },
        one_of=(lists,),
    )


def pod_group(release: str) -> Struct:
    shape = leaf(release)
    fields = {name: field for name, field in shape.fields.items() if name != "name"}
    fields["priority"] = Number(0, 0)
    if release == "1.36":
        workload_part = {
            "workloadName": Text("long", ("train",)),
            "podGroupTemplateName": Text("short", ("workers", "driver")),
        }
        reference = Struct({"workload": Struct(workload_part, tuple(workload_part))}, ("workload",))
        return Struct({"podGroupTemplateRef": reference, **fields}, ("schedulingPolicy",), odds=0.3)
    fields |= {"workloadRef": template_ref(), "parentCompositePodGroupName": Text("long")}
    return Struct(fields, ("schedulingPolicy",), odds=0.3)


def template_ref() -> Struct:
    fields = {"workloadName": Text("long"), "templateName": Text("short")}
    return Struct(fields, tuple(fields))


def composite_pod_group() -> Struct:
    fields = {name: field for name, field in composite(3).fields.items() if name not in ("name", "podGroupTemplates")}
    fields["priority"] = Number(0, 0)
    fields |= {"workloadRef": template_ref(), "parentCompositePodGroupName": Text("long")}
    return Struct(fields, ("schedulingPolicy", "workloadRef"), odds=0.3)


def pod_spec(release: str, restart: str = "") -> Struct:
    fields: dict[str, Any] = {"containers": Fixed([{"name": "c", "image": "busybox:1"}])}
    if restart:
        fields["restartPolicy"] = Fixed(restart)
    if release == "1.35":
        reference = {"name": Text("long"), "podGroup": Text("short"), "podGroupReplicaKey": Text("short")}
        fields["workloadRef"] = Struct(reference, ("name", "podGroup"))
    else:
        names = ("gang-pg", "basic-pg")
        fields["schedulingGroup"] = Struct({"podGroupName": Text("long", names)}, ("podGroupName",))
    if not restart:
        fields["priorityClassName"] = Choice(CLASSES)
        fields["schedulingGates"] = Fixed([{"name": "example.com/wait"}])
    return Struct(fields, tuple(name for name in ("containers", "restartPolicy") if name in fields), odds=0.4)


def job_scheduling() -> Struct:
    return Struct(
        {
            "schedulingPolicy": policy("minCount", optional=True),
            "schedulingConstraints": TOPOLOGY,
            "disruptionMode": MODE,
            "resourceClaims": CLAIMS,
        },
        odds=0.5,
    )


def job_spec(release: str) -> Struct:
    template = Struct(
        {"metadata": Fixed({"labels": {"app": "x"}}), "spec": pod_spec(release, "Never")}, ("spec",), odds=0.1
    )
    fields: dict[str, Any] = {
        "template": template,
        "parallelism": Number(1, 9),
        "completions": Number(1, 9),
        "completionMode": Choice(("Indexed", "NonIndexed")),
        "suspend": Flag(),
    }
    if has_trees(release):
        fields["scheduling"] = job_scheduling()
    return Struct(fields, ("template", *(("scheduling",) if has_trees(release) else ())), odds=0.6)


CONDITION = Struct(
    {
        "type": Choice(("PodGroupInitiallyScheduled", "PodGroupScheduled", "DisruptionTarget", "x/y")),
        "status": Choice(("True", "False", "Unknown")),
        "observedGeneration": Number(0, 4),
        "lastTransitionTime": Choice(("2026-01-01T00:00:00Z", "2025-12-31T23:59:59.5+01:00")),
        "reason": Choice(("Unschedulable", "Scheduled", "A:b,C_9")),
        "message": Text("any"),
    },
    ("type", "status", "lastTransitionTime", "reason", "message"),
)
CLAIM_STATUS = Struct({"name": Text("short"), "resourceClaimName": Text("long")}, ("name",), odds=0.8)
STATUS = Struct(
    {"conditions": Many(CONDITION, 2, 8, "type"), "resourceClaimStatuses": Many(CLAIM_STATUS, 3, 4, "name")}, odds=0.7
)


def labelled(release: str) -> Struct:
    return Struct(
        {"metadata": Fixed({"labels": {"app": "x"}}), "spec": pod_spec(release, "Always")}, ("metadata", "spec")
    )


def replicated(kind: str, release: str) -> Struct:
    """The spec of a kind that keeps pods running."""
    selector = {"app": "x"} if kind == "ReplicationController" else {"matchLabels": {"app": "x"}}
    fields: dict[str, Any] = {"selector": Fixed(selector), "template": labelled(release)}
    if kind == "StatefulSet":
        fields["serviceName"] = Fixed("s")
    if kind != "DaemonSet":
        fields["replicas"] = Fixed(2)
    return Struct(fields, tuple(fields))


@lru_cache
def shape_of(kind: str, release: str) -> Struct:
    """The shape of a whole object but for apiVersion and kind."""
    match kind:
        case "Workload":
            spec = workload(release)
        case "PodGroup":
            spec = pod_group(release)
        case "CompositePodGroup":
            spec = composite_pod_group()
        case "Job":
            spec = job_spec(release)
        case "CronJob":
            job = Struct({"metadata": Fixed({"labels": {"a": "b"}}), "spec": job_spec(release)}, ("spec",), odds=0.1)
            spec = Struct(
                {"schedule": Fixed("*/5 * * * *"), "jobTemplate": job, "suspend": Flag()}, ("schedule", "jobTemplate")
            )
        case "Pod":
            spec = pod_spec(release)
        case "PodTemplate":
            return Struct({"metadata": METADATA, "template": labelled(release)}, ("metadata", "template"))
        case _:
            spec = replicated(kind, release)
    return Struct({"metadata": METADATA, "spec": spec}, ("metadata", "spec"))
