"""What the webhooks of JobSet, LeaderWorkerSet, Volcano and KAI refuse, although the definition allows it.

Source: `pkg/webhooks` of JobSet v0.11.1 and LeaderWorkerSet v0.8.0, volcano v1.14.0
`pkg/webhooks/admission/jobs/validate`, KAI-Scheduler v0.17.0 `pkg/binder/plugins/gpusharing/gpu-request`. Other rules
say what else they refuse; a coordinator of a JobSet and its claims are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from krmfn.checks.rule import Matches, rule, suggest, tell, tell_mark
from krmfn.krm.item import Item
from krmfn.krm.paths import Path
from krmfn.model.gotext import read_digits
from krmfn.model.rollouts import share
from krmfn.model.schedulers import SCHEDULERS
from krmfn.model.values import Key, Value, as_count, as_int, as_list, as_mapping, as_text, dig
from krmfn.server.formats import check_dns_1035, check_short_name
from krmfn.survey.census import Census

#: Where something is wrong, in which case of the rule, and what there is to say.
_Faults = Iterator[tuple[Path, str, Value]]

#: Of the names of Jobs, pods and Services.
_LONGEST = 63
_KAI = SCHEDULERS["KAI"].name
_FRACTION, _MEMORY, _DEVICES, _SHARED = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices", "mps"
#: A number as strconv.ParseFloat and Kubernetes' quantities both read it.
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


@rule("webhook-refuses")
def find_refused(census: Census) -> Matches:
    for (group, kind), (name, find) in _WEBHOOKS.items():
        for item in census.kind(group, kind):
            for path, case, about in find(item, as_mapping(item.value, "spec")):
                yield tell(item, path, case=case, name=name, **about)
    marked = (census.marked("annotations", key) for key in (_FRACTION, _MEMORY, _DEVICES, _SHARED))
    for template in {id(each): each for found in marked for each in found}.values():
        if template.scheduler == _KAI:
            for key, why in _find_share_refused(template.metadata["annotations"], template.spec):
                yield tell_mark(template, "annotations", key, why=why)


def _find_job_set_refused(item: Item, spec: Value) -> _Faults:
    jobs = {as_text(job, "name"): as_mapping(job) for job in as_list(spec, "replicatedJobs")}
    before: list[str] = []
    for index, (name, job) in enumerate(jobs.items()):
        place: Path = ("spec", "replicatedJobs", index, "dependsOn")
        longest = f"{item.name}-{name}-{as_count(job, 'replicas') - 1}"
        completions = as_int(job, "template", "spec", "completions")
        if completions is not None and dig(job, "template", "spec", "completionMode") in (None, "Indexed"):
            longest += f"-{completions - 1}-xxxxx"
        if item.name and len(longest) > _LONGEST:
            yield ("metadata", "name"), "long", {"what": "Jobs or pods", "longest": longest}
        before.append(name)
        if index == 0 and job.get("dependsOn") is not None:
            yield place, "first", {"job": name}
        for number, other in enumerate(as_list(job, "dependsOn") if index else ()):
            wanted = as_text(other, "name")
            if wanted not in before:
                yield (*place, number, "name"), "order", {"job": name, "wanted": wanted}
    rules = range(len(as_list(spec, "failurePolicy", "rules")))
    places: list[Path] = [("successPolicy",), *(("failurePolicy", "rules", index) for index in rules)]
    for place in places:
        path = ("spec", *place, "targetReplicatedJobs")
        for index, wanted in enumerate(as_list(item.value, *path)):
            if as_text(wanted) not in jobs:
                yield (*path, index), "target", {"wanted": wanted, "near": suggest(as_text(wanted), jobs)}


def _find_worker_set_refused(item: Item, spec: Value) -> _Faults:
    if item.name and check_dns_1035(item.name):
        yield ("metadata", "name"), "service", {}
    size = as_int(spec, "leaderWorkerTemplate", "size")
    part = as_count(spec, "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize", default=0)
    alone = dig(spec, "leaderWorkerTemplate", "subGroupPolicy", "subGroupPolicyType") == "LeaderExcluded"
    if size is not None and part > 0 and (part > size or ((size - 1) % part and (alone or size % part))):
        divided = "size - 1" if alone else "size, or size - 1,"
        place = ("spec", "leaderWorkerTemplate", "subGroupPolicy", "subGroupSize")
        yield place, "parts", {"size": size, "part": part, "divided": divided}
    path = ("spec", "rolloutStrategy", "rollingUpdateConfiguration")
    rollout, replicas = as_mapping(item.value, *path), as_int(spec.get("replicas", 1))
    words = [rollout.get("maxUnavailable", 1), rollout.get("maxSurge", 0)]
    readable = all(str(word).removesuffix("%").isdecimal() for word in words)
    if replicas and readable and not share(words[0], replicas, up=False) and not share(words[1], replicas, up=True):
        yield (*path, "maxUnavailable"), "rollout", {"replicas": replicas}


def _find_volcano_job_refused(item: Item, spec: Value) -> _Faults:
    names = []
    if len(item.name) > _LONGEST:
        yield ("metadata", "name"), "name", {}
    for index, task in enumerate(as_list(spec, "tasks")):
        name, place = as_text(task, "name"), ("spec", "tasks", index, "name")
        pod = f"{item.name}-{name}-{index}"
        if name in names:
            yield place, "twice", {"task": name}
        elif name and check_short_name(name):
            yield place, "label", {"task": name}
        elif len(pod) > _LONGEST >= len(item.name):
            yield place, "long", {"what": "pods", "longest": pod}
        names.append(name)


def _find_share_refused(annotations: Value, spec: Value) -> Iterator[Key]:
    """A part of a GPU: the annotation, and what is wrong with it."""
    boxes = [*as_list(spec, "containers"), *as_list(spec, "initContainers")]
    whole = any("nvidia.com/gpu" in as_mapping(box, "resources", "limits") for box in boxes)
    fraction, memory, devices = (annotations.get(key) for key in (_FRACTION, _MEMORY, _DEVICES))
    if fraction is not None and whole:
        yield _FRACTION, "the pods request a part of a GPU and a whole one"
    elif memory is not None and (whole or fraction is not None):
        yield _MEMORY, "the pods request GPU memory and also a GPU, or a part of one"
    elif fraction is None and memory is None:
        if annotations.get(_SHARED) == "true":
            yield _SHARED, f"{_SHARED} needs {_FRACTION} or {_MEMORY}"
        elif devices is not None:
            yield _DEVICES, f"{_DEVICES} needs {_FRACTION} or {_MEMORY}"
    elif fraction is not None and not 0 < _read_number(fraction) < 1:
        yield _FRACTION, f'"{fraction}" is not a number between 0 and 1'
    for key, value in ((_MEMORY, memory), (_DEVICES, devices)):
        if value is not None and not read_digits(as_text(value)):
            yield key, f'"{value}" is not a whole number above 0'


def _read_number(text: object) -> float:
    return float(as_text(text)) if _NUMBER.fullmatch(as_text(text)) else 0.0


_WEBHOOKS = {
    ("jobset.x-k8s.io", "JobSet"): ("JobSet", _find_job_set_refused),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): ("LeaderWorkerSet", _find_worker_set_refused),
    ("batch.volcano.sh", "Job"): ("Volcano", _find_volcano_job_refused),
}
