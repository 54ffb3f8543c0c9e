"""Quotas on the number of objects: those of the input, and those that controllers make for them before any pod.

Source: KubeRay 1.6.2 raycluster_controller.go and rayjob_controller.go (Services, then pods), JobSet 0.11.1
jobset_controller.go (the Service, then Jobs), LeaderWorkerSet 0.8.0 and Trainer's jobset plugin.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krmfn.checks.rule import Matches, tell
from krmfn.krm.item import Item
from krmfn.model.kinds import find_ray_cluster
from krmfn.model.values import Value, as_int, as_list, as_text, dig, group_by
from krmfn.survey.census import Census, count_pods, once
from krmfn.survey.facts import Quota


def find_too_many_objects(census: Census) -> Matches:
    """Objects of the input beyond a quota are refused, whichever come last; without what controllers make for it, an
    object never has pods."""
    for quota in census.facts.quotas:
        for name, hard in quota.hard.items():
            resource = name.removeprefix("count/")
            most = hard // 10**9
            if "/" not in name and resource not in ("services", "pods"):
                continue
            if resource == "pods":
                yield from _find_no_submitter(census, quota, name, most)
                continue
            mine: list[Item] = []
            total = 0
            for item in _list_gangs(census, quota):
                if _spell(item) == resource:
                    mine.append(item)
                    total += 1
                made = _list_made(item).get(resource, 0)
                total += made
                if made and total > most:
                    yield tell(
                        item,
                        (),
                        case="made",
                        quota=quota,
                        most=most,
                        resource=resource,
                        total=total,
                        made=made,
                        name=name,
                    )
                    break
            beyond = mine[most:]
            for item in beyond if most == 0 else beyond[:1]:
                yield tell(
                    item,
                    (),
                    quota=quota,
                    most=most,
                    resource=resource,
                    mine=mine,
                    refused=len(mine) - most,
                    name=name,
                )


def _list_gangs(census: Census, quota: Quota) -> Iterator[Item]:
    """The groups of the input and what makes their pods, in the namespace of a quota."""
    yield from _list_linked(census).get(quota.namespace, ())


@once
def _list_linked(census: Census) -> Mapping[str, Sequence[Item]]:
    """The groups of the input and what makes their pods, by namespace, and all of them for a quota without one."""
    linked = [
        item
        for item in census.objects
        if item.ref.group == "scheduling.k8s.io" or any(each.link for each in census.templates_of(item))
    ]
    return {**group_by(lambda item: item.space, linked), "": linked}


def _spell(item: Item) -> str:
    """The name of a kind in quotas."""
    return f"{item.kind.lower()}s.{item.ref.group}" if item.ref.group else f"{item.kind.lower()}s"


def _list_made(item: Item) -> Mapping[str, int]:
    """How many objects of other kinds a controller makes for an object before its pods."""
    value = item.value
    match item.ref.group, item.kind:
        case "ray.io", "RayCluster" | "RayJob" | "RayService":
            if dig(value, "spec", "clusterSelector"):
                return {}
            groups = as_list(value, *find_ray_cluster(item.kind), "workerGroupSpecs")
            several = any((as_int(group, "numOfHosts") or 1) > 1 for group in groups)
            own = {} if item.kind == "RayCluster" else {"rayclusters.ray.io": 1}
            return {"services": 2 if several else 1, **own, **({"jobs.batch": 1} if _has_submitter(value) else {})}
        case "jobset.x-k8s.io", "JobSet":
            jobs = (dig(job, "replicas") for job in as_list(value, "spec", "replicatedJobs"))
            named = dig(value, "spec", "network", "enableDNSHostnames") is not False
            return {
                "jobs.batch": sum(1 if number is None else as_int(number) or 0 for number in jobs),
                **({"services": 1} if named else {}),
            }
        case "leaderworkerset.x-k8s.io", "LeaderWorkerSet":
            size = as_int(value, "spec", "leaderWorkerTemplate", "size") or 1
            replicas = dig(value, "spec", "replicas")
            number: int = 1 if replicas is None else as_int(replicas) or 0
            return {"statefulsets.apps": 1 + number * (size > 1)}
        case "trainer.kubeflow.org", "TrainJob":
            return {"jobsets.jobset.x-k8s.io": 1}
    return {}


def _has_submitter(value: Value) -> bool:
    """Whether KubeRay makes a Job that submits the entrypoint of a RayJob."""
    mode = as_text(value, "spec", "submissionMode")
    return as_text(value, "kind") == "RayJob" and mode in ("", "K8sJobMode")


def _find_no_submitter(census: Census, quota: Quota, name: str, most: int) -> Matches:
    """A quota that lets the cluster of a RayJob start, and not the pod that gives it something to do."""
    for item in _list_gangs(census, quota) if not quota.scope else ():
        pods = count_pods(each for each in census.templates_of(item) if each.link)
        if pods == most and item.kind == "RayJob" and _has_submitter(item.value):
            yield tell(item, (), case="submitter", quota=quota, most=most, name=name, needed=most + 1)
