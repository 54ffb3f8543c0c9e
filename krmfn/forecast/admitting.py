"""What Kueue makes of the jobs that wait in its queues: the question to its simulator, and what is read of the answer.

What the facts do not tell is taken for granted: that AdmissionChecks are active, namespaces selected, and pods ready.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from krmfn.capacity.pods import count_requests
from krmfn.forecast.question import Ask, list_stored
from krmfn.forecast.queued import explain_workload
from krmfn.forecast.roster import Roster, find_role, list_parts
from krmfn.krm.item import Item
from krmfn.model.marks import KUEUE_QUEUE
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text, dig
from krmfn.model.wording import count, join
from krmfn.survey.census import Census, LinkedGang, count_pods
from krmfn.survey.condensing import Cutter
from krmfn.survey.control_plane import KUEUE, find_time, read_configuration, shrink
from krmfn.survey.facts import Facts
from krmfn.survey.groups import Group

#: In this order: what has quota already comes before the queues, so that nothing else gets it.
_KINDS = (
    *("Topology", "ResourceFlavor", "WorkloadPriorityClass", "ProvisioningRequestConfig", "AdmissionCheck", "Cohort"),
    *("Workload", "ClusterQueue", "LocalQueue"),
)


class Admission(NamedTuple):
    """What Kueue decides about a job. `told` is the decision as plain data: its `state` (admitted, waits for quota that
    others use, held by an AdmissionCheck, never, or open where Kueue makes no Workload), `otherwise` whether this
    depends on the order, `why` and what to `change`, and what each pod set gets. `requests` are those for nodes, if it
    is held by nothing else."""

    job: Item
    told: Fields

    def spell(self) -> str:
        """The decision in a sentence; empty of what is not admitted."""
        sets, order = self.told["podSets"], self.told.get("order")
        domains = [(each["labels"], each["pods"]) for pods in sets for each in pods["domains"]]
        named = [f"{'/'.join(labels.values())} ({count(pods, 'pod')})" for labels, pods in domains[:3]]
        requests = [f"{each['class']} for {count(each['pods'], 'pod')}" for each in self.told.get("requests", ())]
        does = f"requests nodes (ProvisioningRequest {join(requests)}) to admit" if requests else "admits"
        said = f"Kueue {does} {self.job.kind} {self.job.name}{f' as number {order}' if order else ''}: flavor "
        said += join(list(dict.fromkeys(name for each in sets for name in each["flavors"])))
        said += f", in {join([*named, *(['others'] if len(domains) > 3 else [])])}" if domains else ""
        gone = [" ".join(name.split("/")[1:]) for name in self.told["preempts"]]
        return f"{said}; it preempts {join(gone)}" if gone else said if sets else ""


def asks_only(admission: Admission) -> bool:
    """Whether an autoscaler is asked about nodes, and not for more of them."""
    return any(each["class"].startswith("check-capacity.") for each in admission.told.get("requests", ()))


def grow(census: Census, admissions: Mapping[int, Admission]) -> Iterator[LinkedGang]:
    """The jobs in queues whose pods are in no group, as gangs of all their pods, or of those that Kueue admits."""
    linked = {id(template.item) for _, template in census.linked()}
    for job in list_queued(census):
        templates = census.templates_of(job)
        if id(job) not in linked and not any(template.link for template in templates):
            sets = admissions[id(job)].told["podSets"] if admissions else ()
            quorum = sum(each["count"] for each in sets) or count_pods(templates)
            yield LinkedGang(Group(job, *job.key, (), "gang", quorum, (), "", "", "", {}), templates)


def list_queued(census: Census) -> list[Item]:
    """What makes pods and names a queue, if the facts tell of queues."""
    known = all(census.facts.objects(KUEUE, kind) for kind in ("ClusterQueue", "LocalQueue"))
    return [item for item in census.objects if known and item.labels.get(KUEUE_QUEUE) and census.templates_of(item)]


def admit(census: Census, roster: Roster, simulator: Ask) -> dict[int, Admission]:
    """What Kueue decides about the jobs in its queues, by their identity."""
    jobs = list_queued(census)
    if not jobs:
        return {}
    there = {id(job): each for job in jobs for each in _list_workloads(job, census) if _is_same(job, each, census)}
    coming = [_spell_job(job) for job in jobs if id(job) not in there]
    (result,) = simulator(_make_question(census, roster, coming))
    objects = [Item.hold(each) for key in ("workloads", "queues") for each in result[key]]
    decided = {each["job"]: each for each in result["jobs"]}
    found = {}
    for job in jobs:
        told = {"podSets": [], "preempts": [], "state": "open", **decided.get(f"{job.space}/{job.kind}/{job.name}", {})}
        made = told.pop("workload", None)
        if made and id(job) in there:  # the simulator has taken it from its job, which does not come
            made["metadata"]["ownerReferences"] = dig(there[id(job)], "metadata", "ownerReferences")
        workload = Item.hold(made) if made else None
        if told["state"] != "admitted" and workload is not None:
            alone = [each for each in objects if each.kind != "Workload" or told["state"] != "never"]
            cause = explain_workload(workload, alone)
            told.update({"why": cause.text, "change": cause.way_out} if cause else {})
        found[id(job)] = Admission(job, told)
    return found


def _list_workloads(job: Item, census: Census) -> Iterator[Value]:
    """The Workloads of a job that have quota."""
    for each in census.facts.objects(KUEUE, "Workload"):
        owners = as_list(each, "metadata", "ownerReferences")
        mine = any((dig(owner, "kind"), dig(owner, "name")) == (job.kind, job.name) for owner in owners)
        if mine and dig(each, "metadata", "namespace") == job.space and dig(each, "status", "admission"):
            yield each


def _is_same(job: Item, workload: Value, census: Census) -> bool:
    """Whether a job is still the one that a Workload was made of: the Workload then stands for it."""
    sets = {as_text(each, "name"): each for each in as_list(workload, "spec", "podSets")}
    for template in census.templates_of(job):
        pods = sets.get(find_role(template) or "main")
        asked = as_mapping(pods, "template", "spec")
        if dig(pods, "count") != template.pods or count_requests(asked) != count_requests(template.spec):
            return False
    return bool(dig(workload, "spec", "queueName") == job.labels[KUEUE_QUEUE])


def _spell_job(job: Item) -> Value:
    """A job as it is created."""
    metadata = {"name": job.name, "namespace": job.space, "labels": job.labels, "annotations": job.annotations}
    return {"apiVersion": job.api_version, "kind": job.kind, "metadata": metadata, "spec": job.value.get("spec")}


def _make_question(census: Census, roster: Roster, jobs: list[Value]) -> Fields:
    facts = census.facts
    by_topology, complete = bool(facts.objects(KUEUE, "Topology")), facts.lists_all("Namespace")
    values = [value for value in list_stored(facts, set()) if by_topology or value["kind"] != "Node"]
    values += [pod.value for pod in roster.bound if by_topology and pod.template is None]
    stored = {kind: facts.objects(KUEUE, kind) for kind in _KINDS}
    stored["Workload"] = tuple(shrink(stored["Workload"], Cutter().cut_pod))  # what facts keep: both say the same
    for value in (dict(each) for kind in _KINDS for each in stored[kind]):
        if value["kind"] == "ClusterQueue" and not complete and dig(value, "spec", "namespaceSelector"):
            value["spec"] = {**value["spec"], "namespaceSelector": {}}
        if value["kind"] == "AdmissionCheck":
            _complete_check(value, facts)
        values.append(value)
    settings = next(filter(None, map(read_configuration, facts.objects("", "ConfigMap"))), {})
    time = find_time(stored["Workload"])
    asked = {"configuration": settings or None, "steps": [values], "trials": [{"name": "jobs", "jobs": jobs}]}
    return {**asked, "now": time} if time else asked


def _complete_check(check: Fields, facts: Facts) -> None:
    """Whether a check is active, where the facts do not say it; who asks for nodes is left out if they do not say
    how."""
    if dig(check, "spec", "parameters", "name") not in facts.by_name(KUEUE, "ProvisioningRequestConfig"):
        check["spec"] = {**as_mapping(check, "spec"), "controllerName": "not-simulated"}
    check.setdefault("status", {"conditions": [{"type": "Active", "status": "True", "reason": "Active"}]})


def obey(roster: Roster, admissions: Mapping[int, Admission], census: Census) -> tuple[Roster, dict[str, str]]:
    """The pods as they are when Kueue has decided, and why some are not made."""
    assigned, waits = dict[str, tuple[Value, list[Any]]](), dict[str, str]()
    for template in list_parts(census):
        admission = admissions.get(id(template.item))
        if admission is None or admission.told["state"] == "open":
            continue
        sets = {each["name"]: each for each in admission.told["podSets"]}
        given: Value = sets.get(find_role(template) or "main", {})
        there, pods = (roster.pods_of([template], bound) for bound in (True, False))
        most = max(0, given.get("count", 0) - len(there))
        why = f"Kueue admits {most} of these pods" if most else "Kueue does not admit it"
        waits |= dict.fromkeys((pod.name for pod in pods[most:]), why)
        places = [each["labels"] for each in given.get("domains", ()) for _ in range(each["pods"])]
        for pod, place in zip(pods[:most], places if places and not there else [{}] * most, strict=False):
            assigned[pod.name] = {**given["labels"], **place}, given["tolerations"]
    gone = {tuple(each.split("/")[::2]) for admission in admissions.values() for each in admission.told["preempts"]}
    labels = ((pod, as_mapping(pod.value, "metadata", "labels").values()) for pod in roster.bound)
    out = {pod.name for pod, values in labels if any((pod.name.split("/")[0], each) in gone for each in values)}
    bound = tuple(pod for pod in roster.bound if pod.name not in out)
    return roster._replace(bound=bound, assigned=assigned, evicted=tuple(sorted(out))), waits
