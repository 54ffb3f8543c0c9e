"""What the Job controller does with the gate WorkloadWithJob, and what it does not; groups that it makes from a
parent's Workload (annotation scheduling.k8s.io/group-template-name), and those that others make for their own kinds.
And gangs over pods that are created one after another: the later ones wait for the earlier, which wait for the gang."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, suggest, tell
from krmfn.checks.scheduler.trees import list_families
from krmfn.config import Settings
from krmfn.krm.item import Item, list_holding
from krmfn.model.exclusive import Exclusive, find_exclusive
from krmfn.model.kinds import KINDS, find_own_scheduling
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import Fields, as_int, as_list, as_mapping, as_text, dig
from krmfn.releases.release import first_release
from krmfn.survey.census import Census, LinkedGang, Template
from krmfn.survey.jobs import (
    TEMPLATE_ANNOTATION,
    WORKLOAD_ANNOTATION,
    Delegation,
    count_first,
    count_indexed,
    find_jobs,
    is_suspended,
    read_delegation,
)

#: `<job>-pgt-0` has to be a DNS label of 63 characters.
LONGEST_NAME = 57


@rule("job-scheduling-unused")
def find_scheduling_unused(census: Census) -> Matches:
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        if "scheduling" in as_mapping(job.value, "spec") and templates and templates[0].link:
            yield tell(job, ("spec", "scheduling"), name=templates[0].link.group)


@rule("job-scheduling-ignored")
def find_scheduling_ignored(census: Census, settings: Settings) -> Matches:
    for item in (*census.kind("batch", "CronJob"), *census.kind("jobset.x-k8s.io", "JobSet")):
        for template in census.templates_of(item):
            jobs = find_jobs(template)
            path = (*jobs.path, "scheduling") if jobs else ()
            if path and dig(item.value, *path) is not None and read_delegation(census, settings, template) is None:
                yield tell(item, path, runs=", with concurrencyPolicy: Forbid" if item.kind == "CronJob" else "")


@rule("job-gang-lost")
def find_gang_lost(census: Census, settings: Settings) -> Matches:
    """A Job that a release with job-groups made a gang of by itself; one with job-scheduling does not."""
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        spec = as_mapping(job.value, "spec")
        width = count_indexed(spec)
        if width > 1 and "scheduling" not in spec:
            yield tell(job, ("spec",), earlier=first_release("job-groups"), width=width)


@rule("job-name-too-long")
def find_name_too_long(census: Census, settings: Settings) -> Matches:
    if not settings.has("job-groups"):
        return
    for job in _root_jobs(census):
        concerned = settings.has("job-scheduling") or count_indexed(as_mapping(job.value, "spec")) > 1
        is_long = len(job.name.encode()) > LONGEST_NAME and not settings.release.has("cut-names")
        if concerned and (is_long or "." in job.name):
            wrong = "has a dot" if "." in job.name else f"has {len(job.name.encode())} bytes"
            yield tell(job, ("metadata", "name"), job.name, wrong=wrong)


@rule("controller-unlinked")
def find_controller_unlinked(census: Census, settings: Settings) -> Matches:
    workloads = {id(entry.item): entry for entry in census.workloads.values()}.values()
    kinds = {workload.controller[:2] for workload in workloads}
    items = {(item.space, *kind, item.name): item for kind in kinds for item in census.kind(*kind)}
    for workload in workloads:
        item = items.get((workload.namespace, *workload.controller))
        templates = census.templates_of(item) if item is not None else ()
        if item is None or not templates or any(template.link for template in templates):
            continue
        named = item.kind == "JobSet" or settings.release.has("named-delegation")
        delegated = named and TEMPLATE_ANNOTATION in str(item.value)
        if delegated:
            continue
        effect = "the reference has no effect, and the pods are scheduled one by one"
        if (item.ref.group, item.kind) == ("batch", "Job") and settings.has("job-groups"):
            effect = (
                f"the Job controller of {settings.release} then creates no gang, and the pods are scheduled one by one"
                if not settings.has("job-scheduling")
                else "the Job controller creates a second Workload and PodGroup"
            )
        yield tell(workload.item, ("spec", "controllerRef"), item.name, owner=item, effect=effect)


def _root_jobs(census: Census) -> Iterator[Item]:
    """Jobs that the controller makes groups for: no link, no other controller."""
    for job in census.kind("batch", "Job"):
        templates = census.templates_of(job)
        managed = as_text(job.value, "spec", "managedBy")
        if managed in ("", KINDS["batch", "Job"].manager) and templates and templates[0].link is None:
            yield job


@rule("delegated-template-unknown")
def find_template_unknown(census: Census, settings: Settings) -> Matches:
    """No such template, more Jobs than it can have groups, or Jobs that are suspended at first: then a warning."""
    naming = list_holding(census.objects, TEMPLATE_ANNOTATION.encode(), WORKLOAD_ANNOTATION.encode())
    for template in (each for item in naming for each in census.templates_of(item)):
        delegation = None if template.link else read_delegation(census, settings, template)
        if delegation is None:
            continue
        item, path = template.item, (*delegation.place, TEMPLATE_ANNOTATION)
        name = as_text(delegation.annotations.get(TEMPLATE_ANNOTATION))
        about: Fields = {"name": name, "near": suggest(name, delegation.templates), "delegation": delegation}
        for case, more in _list_reasons(settings, delegation, template, name):
            yield tell(item, path, name, case=case, **about, **more)
        if is_suspended(item) or KUEUE_QUEUE in item.labels:
            yield tell(item, path, name, severity="warning")


def _list_reasons(
    settings: Settings, delegation: Delegation, template: Template, name: str
) -> Iterator[tuple[str, Fields]]:
    """What is wrong with a template that Jobs name: cases of the rule, each with what else there is to say."""
    is_named = settings.release.has("named-delegation")
    workload, top = delegation.workload, delegation.templates
    wanted = as_text(delegation.annotations.get(WORKLOAD_ANNOTATION))
    if is_named and not (name and wanted):
        if template.item.kind == "JobSet":  # of others the API server says it
            yield "half", {"missing": WORKLOAD_ANNOTATION if name else TEMPLATE_ANNOTATION}
    elif workload is None:
        yield "no-workload" if is_named else "no-controller", {"wanted": wanted}
    elif name not in top:
        effect = "the Job controller creates no pods" if is_named else "the Jobs are created without groups"
        yield "no-template", {"effect": effect, "known": ", ".join(sorted(top)) or "none"}
    jobs = find_jobs(template)
    if jobs and jobs.number and jobs.number > 1 and not is_named:
        yield "several", {"jobs": jobs}


@rule("own-scheduling-and-link")
def find_own_scheduling_and_link(census: Census, settings: Settings) -> Matches:
    for owner in (owner for key in KINDS for owner in census.kind(*key)):
        if path := find_own_scheduling(owner.ref.group, owner.kind, settings.release):
            links = [template.link for template in census.templates_of(owner) if template.link]
            if links and dig(owner.value, *path) is not None:
                yield tell(owner, path, links=links)


@rule("statefulset-ordered")
def find_statefulset_ordered(census: Census) -> Matches:
    for gang, item, _templates in _owners(census, "apps", "StatefulSet"):
        if dig(item.value, "spec", "podManagementPolicy") != "Parallel" and (gang.group.quorum or 0) > 1:
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
        if (gang.group.quorum or 0) <= (templates[0].pods or 0):
            continue
        path = (
            ("spec", "startupPolicy", "startupPolicyOrder")
            if ordered
            else ("spec", "replicatedJobs", waiting[0], "dependsOn")
        )
        yield tell(item, path, gang=gang)


@rule("leader-ready-gang")
def find_leader_ready(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "leaderworkerset.x-k8s.io", "LeaderWorkerSet"):
        separate = dig(item.value, "spec", "leaderWorkerTemplate", "leaderTemplate") is not None
        if dig(item.value, "spec", "startupPolicy") != "LeaderReady":
            continue
        leader_in = not separate or any(template.path[-1] == "leaderTemplate" for template in templates)
        if leader_in and (gang.group.quorum or 0) > 1:
            yield tell(item, ("spec", "startupPolicy"), "LeaderReady", gang=gang)


@rule("exclusive-placement-gang")
def find_exclusive_placement(census: Census) -> Matches:
    """A JobSet or LeaderWorkerSet whose first pods wait in a gang for those that follow them."""
    for gang in census.gangs:
        quorum, there = gang.group.quorum or 0, 0
        waiting: tuple[Item, Exclusive] | None = None
        for template in gang.templates:
            exclusive = find_exclusive(template.item.value, template.path)
            first = count_first(template) if exclusive and exclusive.waits else template.pods
            if first is None:
                break
            there += first
            # Those that only follow are created when their first, which is in no gang or in another, has a node.
            if exclusive and first < (template.pods or 0) and _has_first(gang, template, census):
                waiting = waiting or (template.item, exclusive)
        else:
            if waiting is None or there >= quorum:
                continue
            pods = "one pod exists" if there == 1 else f"{there} pods exist"
            yield tell(waiting[0], waiting[1].path, waiting[1].key, pods=pods, gang=gang, quorum=quorum)


def _has_first(gang: LinkedGang, template: Template, census: Census) -> bool:
    """Whether the first pods of the jobs wait for a template's pods: in the same gang, or in a tree that needs all."""
    if count_first(template):
        return True
    above = [id(group.item) for group in census.chain(gang.group)[0] if group.policy == "gang"]
    whole = {id(group.item) for group, children in list_families(census) if (group.quorum or 0) >= len(children)}
    for other in census.gangs:
        if any(each.item is template.item and count_first(each) for each in other.templates):
            shared = [group for group in census.chain(other.group)[0] if id(group.item) in above]
            if other is gang or (shared and set(above[: above.index(id(shared[0].item)) + 1]) <= whole):
                return True
    return False


@rule("mpi-launcher-waits")
def find_launcher_waits(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "kubeflow.org", "MPIJob"):
        roles = {template.path[2] for template in templates}
        if (
            dig(item.value, "spec", "launcherCreationPolicy") == "WaitForWorkersReady"
            and {"Launcher", "Worker"} <= roles
        ):
            yield tell(item, ("spec", "launcherCreationPolicy"), "WaitForWorkersReady", gang=gang)
    for item in census.kind("kubeflow.org", "MPIJob"):
        policy = dig(item.value, "spec", "runPolicy", "schedulingPolicy")
        workers = as_int(item.value, "spec", "mpiReplicaSpecs", "Worker", "replicas")
        if (
            policy is None
            or workers is None
            or (dig(item.value, "spec", "launcherCreationPolicy") != "WaitForWorkersReady")
        ):
            continue
        given = as_int(policy, "minAvailable")
        need = workers + 1 if given is None else given  # as the operator counts where nobody says
        if need > workers:
            yield tell(
                item, ("spec", "runPolicy", "schedulingPolicy"), given, case="policy", workers=workers, need=need
            )


@rule("driver-in-gang")
def find_driver_in_gang(census: Census) -> Matches:
    for gang, item, templates in _owners(census, "sparkoperator.k8s.io", "SparkApplication"):
        driver = next((template for template in templates if template.path[1] == "driver"), None)
        if driver is not None and driver.link is not None and (gang.group.quorum or 0) > 1:
            yield tell(item, driver.link.path, driver.link.group, gang=gang)


@rule("initializers-in-gang")
def find_initializers_in_gang(census: Census) -> Matches:
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        for item in census.kind("trainer.kubeflow.org", kind):
            jobs = as_list(item.value, "spec", "template", "spec", "replicatedJobs")
            awaited = {as_text(entry, "name") for job in jobs for entry in as_list(job, "dependsOn")}
            policy = as_mapping(item.value, "spec", "podGroupPolicy")
            links = defaultdict(list)
            for template in census.templates_of(item):
                if template.link is not None:
                    place = next(part for part in template.path if isinstance(part, int))
                    links[template.link.group].append(as_text(jobs[place], "name"))
            shared = any(len(names) > 1 and awaited & set(names) for names in links.values())
            if awaited - {""} and (shared or {"coscheduling", "volcano"} & set(policy)):
                where = "podGroupPolicy" if not shared else "the shared group"
                path = ("spec", "podGroupPolicy") if not shared else ("spec", "template", "spec", "replicatedJobs")
                yield tell(item, path, names=sorted(awaited - {""}), where=where)


@rule("pod-group-policies")
def find_two_policies(census: Census) -> Matches:
    """Trainer makes a PodGroup for each of them, and gives the pods to one scheduler."""
    for kind in ("TrainingRuntime", "ClusterTrainingRuntime"):
        for item in census.kind("trainer.kubeflow.org", kind):
            if {"coscheduling", "volcano"} <= as_mapping(item.value, "spec", "podGroupPolicy").keys():
                yield tell(item, ("spec", "podGroupPolicy"))


def _owners(census: Census, group: str, kind: str) -> Iterator[tuple[LinkedGang, Item, list[Template]]]:
    for gang, owner in census.gangs_of(group, kind):
        yield gang, owner, [template for template in gang.templates if template.item is owner]
