"""Makes the parts of a made-up object agree, so that the server takes it: names, priorities, counts.

The rules here are about several fields at once; each by itself is already valid.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from conformance.versions import has_trees

VALUES = {"high": 1000, "normal": 100, "low": -10, "": 0}
LISTS = ("podGroups", "podGroupTemplates", "compositePodGroupTemplates")


def settle(kind: str, release: str, body: Any, rng: Random) -> None:
    """In place. Expects an object that its shape made, unbroken."""
    spec = body.get("spec")
    if kind == "Workload":
        settle_templates(release, spec, rng)
    elif kind in ("PodGroup", "CompositePodGroup"):
        settle_priority(release, spec, rng)
        if "podGroupTemplateRef" in spec:
            # The Workload that admission looks up: see fixtures.
            spec["podGroupTemplateRef"]["workload"] = {
                "workloadName": "train",
                "podGroupTemplateName": rng.choice(("workers", "driver")),
            }
        if (
            kind == "PodGroup"
            and has_trees(release)
            and "parentCompositePodGroupName" in spec
            and "workloadRef" not in spec
        ):
            spec["workloadRef"] = {"workloadName": "w", "templateName": "t"}
    elif kind == "Job":
        settle_job(spec, rng)
    elif kind == "CronJob":
        settle_job(spec["jobTemplate"]["spec"], rng)


def templates(spec: Any) -> Iterator[dict[str, Any]]:
    """All templates of a Workload, parents first."""
    for name in LISTS:
        for template in spec.get(name) or ():
            yield template
            yield from templates(template)


def settle_templates(release: str, spec: Any, rng: Random) -> None:
    seen: set[str] = set()
    uniform = has_trees(release)
    shared: dict[str, Any] = {}
    if rng.random() < 0.4:
        shared["priorityClassName"] = rng.choice(("high", "normal", "gold"))
    if rng.random() < 0.2:
        shared["priority"] = rng.choice((0, 7, -3, 1_000_000_000, -2147483648))
    for template in templates(spec):
        while template["name"] in seen:
            template["name"] = f"{template['name'][:56]}{rng.randrange(1000)}"
        seen.add(template["name"])
        if uniform:
            template.pop("priorityClassName", None)
            template.pop("priority", None)
            template.update(shared)


def settle_priority(release: str, spec: Any, rng: Random) -> None:
    """Admission compares priority and preemptionPolicy with the class, where the gates are on."""
    if spec.get("priorityClassName", "") not in VALUES:
        spec["priorityClassName"] = "high"
    name = spec.get("priorityClassName", "")
    if "priority" in spec:
        spec["priority"] = VALUES[name]
    if has_trees(release) and name == "low":
        spec["preemptionPolicy"] = "Never"
    elif "preemptionPolicy" in spec:
        spec["preemptionPolicy"] = "PreemptLowerPriority"


def settle_job(spec: Any, rng: Random) -> None:
    if spec.get("completionMode") == "Indexed":
        spec.setdefault("completions", 5)
    scheduling = spec.get("scheduling")
    if not scheduling:
        return
    policy = scheduling.get("schedulingPolicy")
    gang = policy.get("gang") if policy else None
    if gang and gang.get("minCount"):
        gang["minCount"] = min(gang["minCount"], spec.get("parallelism", 1))
    if "all" in scheduling.get("disruptionMode", {}) and gang is None:
        scheduling["disruptionMode"] = {"single": {}}
