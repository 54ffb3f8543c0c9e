"""Gangs over pods that are created one after another: the later ones wait for the earlier, which wait for the gang."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, tell
from krmfn.checks.scheduler.trees import list_whole
from krmfn.krm.item import Item
from krmfn.model.exclusive import Exclusive, find_exclusive
from krmfn.model.values import as_int, as_list, as_mapping, as_text, dig
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.jobs import count_first


@rule("statefulset-ordered")
def find_statefulset_ordered(census: Census) -> Matches:
    for gang, item, _templates in _owners(census, "apps", "StatefulSet"):
        if dig(item.value, "spec", "podManagementPolicy") != "Parallel" and gang.quorum > 1:
            yield tell(item, ("spec", "podManagementPolicy"), "OrderedReady", gang=gang)


@rule("jobset-ordered")
def find_jobset_ordered(census: Census) -> Matches:
    """One group over replicated jobs that start one after another; also one that was generated before they did."""
    for gang, item, templates in _owners(census, "jobset.x-k8s.io", "JobSet"):
        jobs = as_list(item.value, "spec", "replicatedJobs")
        ordered = dig(item.value, "spec", "startupPolicy", "startupPolicyOrder") == "InOrder"
        waiting = [index for index, job in enumerate(jobs) if as_list(job, "dependsOn")]
        inside = {template.path[2] for template in templates}
        if len(inside) < 2 or not (ordered or inside & set(waiting)) or gang.group.policy != "gang":
            continue
        if gang.quorum <= (templates[0].pods or 0):
            continue
        path = ("startupPolicy", "startupPolicyOrder") if ordered else ("replicatedJobs", waiting[0], "dependsOn")
        yield tell(item, ("spec", *path), gang=gang)


@rule("leader-ready-gang")
def find_leader_ready(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "leaderworkerset.x-k8s.io", "LeaderWorkerSet"):
        separate = dig(item.value, "spec", "leaderWorkerTemplate", "leaderTemplate") is not None
        leader_in = not separate or any(template.path[-1] == "leaderTemplate" for template in templates)
        late = dig(item.value, "spec", "startupPolicy") == "LeaderReady"
        if late and leader_in and gang.quorum > 1:
            yield tell(item, ("spec", "startupPolicy"), "LeaderReady", gang=gang)


@rule("exclusive-placement-gang")
def find_exclusive_placement(census: Census) -> Matches:
    """A JobSet or LeaderWorkerSet whose first pods wait in a gang for those that follow them."""
    for gang in census.gangs:
        there = 0
        waiting: list[tuple[Item, Exclusive]] = []
        for template in gang.templates:
            exclusive = find_exclusive(template.item.value, template.path)
            first = count_first(template) if exclusive and exclusive.waits else template.pods
            if first is None:
                break
            there += first
            # Those that only follow are created when their first, which is in no gang or in another, has a node.
            if exclusive and first < (template.pods or 0) and _has_first(gang, template, census):
                waiting.append((template.item, exclusive))
        else:
            pods = "one pod exists" if there == 1 else f"{there} pods exist"
            for item, exclusive in waiting[:1] if there < gang.quorum else ():
                yield tell(item, exclusive.path, exclusive.key, pods=pods, gang=gang, quorum=gang.quorum)


def _has_first(gang: LinkedGang, template: Template, census: Census) -> bool:
    """Whether the first pods of the jobs wait for a template's pods: in the same gang, or in a tree that needs all."""
    if count_first(template):
        return True
    above = [id(group.item) for group in census.ancestors(gang.group) if group.policy == "gang"]
    for other in census.gangs:
        if any(each.item is template.item and count_first(each) for each in other.templates):
            shared = [group for group in census.ancestors(other.group) if id(group.item) in above]
            if other is gang or (shared and set(above[: above.index(id(shared[0].item)) + 1]) <= list_whole(census)):
                return True
    return False


@rule("mpi-launcher-waits")
def find_launcher_waits(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "kubeflow.org", "MPIJob"):
        roles = {template.path[2] for template in templates}
        if roles >= {"Launcher", "Worker"} and _waits(item):
            yield tell(item, ("spec", "launcherCreationPolicy"), "WaitForWorkersReady", gang=gang)
    for item in census.kind("kubeflow.org", "MPIJob"):
        policy = dig(item.value, "spec", "runPolicy", "schedulingPolicy")
        workers = as_int(item.value, "spec", "mpiReplicaSpecs", "Worker", "replicas")
        if policy is None or workers is None or not _waits(item):
            continue
        given, path = as_int(policy, "minAvailable"), ("spec", "runPolicy", "schedulingPolicy")
        need = workers + 1 if given is None else given  # as the operator counts where nobody says
        if need > workers:
            yield tell(item, path, given, case="policy", workers=workers, need=need)


def _waits(item: Item) -> bool:
    return bool(dig(item.value, "spec", "launcherCreationPolicy") == "WaitForWorkersReady")


@rule("driver-in-gang")
def find_driver_in_gang(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "sparkoperator.k8s.io", "SparkApplication"):
        for template in templates if gang.quorum > 1 else ():
            if template.link and template.path[1] == "driver":
                yield tell(item, template.link.path, template.link.group, gang=gang)


@rule("initializers-in-gang")
def find_initializers_in_gang(census: Census) -> Matches:
    for item in _list_runtimes(census):
        jobs = as_list(item.value, "spec", "template", "spec", "replicatedJobs")
        awaited = {as_text(entry, "name") for job in jobs for entry in as_list(job, "dependsOn")}
        links = defaultdict(list)
        for template in census.templates_of(item):
            if template.link:
                job = next(jobs[part] for part in template.path if isinstance(part, int))
                links[template.link.group].append(as_text(job, "name"))
        shared = any(len(names) > 1 and awaited & set(names) for names in links.values())
        if awaited - {""} and (shared or _POLICIES & as_mapping(item.value, "spec", "podGroupPolicy").keys()):
            where = "the shared group" if shared else "podGroupPolicy"
            path = ("template", "spec", "replicatedJobs") if shared else ("podGroupPolicy",)
            yield tell(item, ("spec", *path), names=sorted(awaited - {""}), where=where)


@rule("pod-group-policies")
def find_two_policies(census: Census) -> Matches:
    """Trainer makes a PodGroup for each of them, and gives the pods to one scheduler."""
    for item in _list_runtimes(census):
        if as_mapping(item.value, "spec", "podGroupPolicy").keys() >= _POLICIES:
            yield tell(item, ("spec", "podGroupPolicy"))


_POLICIES = {"coscheduling", "volcano"}


def _list_runtimes(census: Census) -> Iterator[Item]:
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        yield from census.kind("trainer.kubeflow.org", kind)


def _owners(census: Census, group: str, kind: str) -> Iterator[tuple[LinkedGang, Item, list[Template]]]:
    for gang, owner in census.gangs_of(group, kind):
        yield gang, owner, [template for template in gang.templates if template.item is owner]
