"""The rules of Job, with its policies, and of CronJob: counts, `scheduling`, what cannot change, schedules.

Source: k8s.io/kubernetes/pkg/apis/batch/{v1/defaults.go,validation/validation.go}, pkg/registry/batch/job/strategy.go.
"""

from __future__ import annotations

import re

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote, read_digits
from krmfn.model.schedules import BadSchedule, check_schedule, check_zone
from krmfn.model.selectors import match_labels
from krmfn.model.values import Fields, Value
from krmfn.server.cases import check_part
from krmfn.server.formats import check_short_name, count_bytes
from krmfn.server.plain.values import check_kept, check_least
from krmfn.server.pods.changes import check_kept_template, with_containers, with_node_affinity
from krmfn.server.pods.spec import is_wrong_selector
from krmfn.server.replicated import check_selected, find_selector_faults
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import Key, read_written, write_json
from krmfn.server.strategy import STORED_UID, with_fields
from krmfn.server.verdict import Causes, duplicate, find_repeated, invalid, invalid_text, of_rule, required, too_long

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
#: Annotations that select a template of a Workload.
_DELEGATION = ("scheduling.k8s.io/workload-name", "scheduling.k8s.io/group-template-name")


def share_labels(kind: Kind, new: Fields) -> None:
    """The labels of the template are those of a Job without any."""
    labels = new["spec"]["template"].get("metadata", {}).get("labels")
    meta = new.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = labels  # the server shares the map, so the generated labels show up here as well


def select_own_pods(kind: Kind, new: Fields) -> None:
    """The selector and the labels of the template that a create generates."""
    spec = new["spec"]
    if spec.get("manualSelector"):
        return
    labels = spec.setdefault("template", {}).setdefault("metadata", {}).setdefault("labels", {})
    for label in _NAME_LABELS:
        labels.setdefault(label, new["metadata"].get("name", ""))
    for label in _UID_LABELS:
        labels.setdefault(label, STORED_UID)
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector.setdefault(_UID_LABELS[1], STORED_UID)


def check_job(kind: Kind, new: Value, old: Stored) -> Causes:
    """What holds on every write of a Job."""
    spec = new["spec"]
    yield from check_job_spec(kind, new, spec, (old or {}).get("spec"), ("spec",))
    if kind.is_on("newest-texts"):
        yield from check_delegation(new, old, ())
    if "selector" not in spec:
        yield required(("spec", "selector"), rule="job-selector")
    yield from check_selected(new, find_selector_faults(kind, new), "job-selector")
    yield from _check_hostname(new, spec)


def check_job_spec(kind: Kind, new: Value, spec: Value, before: Stored, path: Path) -> Causes:
    """The spec of a Job at `path` of a new object, also the one in a CronJob."""
    yield from check_part(kind, "job", spec, path)
    yield from of_rule("job-failure-policy", _check_failure_policy(kind, new, spec, path))
    yield from check_part(kind, "jobPolicies", spec, path)
    # 1.38: a Job has its group by `scheduling` or by the link of its pods, unless it had both before.
    if kind.is_on("newest-texts") and _has_two_groups(spec) and not _has_two_groups(before or {}):
        detail = "must not be set together with template.spec.schedulingGroup"
        yield invalid_text((*path, "scheduling"), detail, "", "job-scheduling-linked")
    yield from check_kept_template(kind, spec, before, path)
    yield from check_part(kind, "jobRestart", spec, path, "job-restart-policy")


def _has_two_groups(spec: Value) -> bool:
    return "scheduling" in spec and "schedulingGroup" in spec.get("template", {}).get("spec", {})


def check_delegation(new: Value, old: Stored, path: Path) -> Causes:
    """1.38: the annotations of a Job, or of the template of one at `path`, that name a template of a Workload: both or
    none, and not beside `scheduling`. What an update leaves as it was may stay."""
    notes, noted = (each.get("metadata", {}).get("annotations", {}) for each in (new, old or {}))
    kept = noted if "scheduling" in (old or {}).get("spec", {}) else {}
    found = [key for key in _DELEGATION if key in notes and key not in kept]
    if found and "scheduling" in new.get("spec", {}):
        detail = f"must not be set together with the {found[0]} annotation"
        yield invalid_text((*path, "spec", "scheduling"), detail, "", "job-scheduling-linked")
    changed = any(notes.get(key) != noted.get(key) for key in _DELEGATION)
    if changed and any(key in notes for key in _DELEGATION):
        detail = f"must be set to a non-empty value when {_DELEGATION[0]} or {_DELEGATION[1]} is set"
        for key in _DELEGATION:
            if not notes.get(key):
                yield required((*path, "metadata", "annotations", Key(key)), detail, "job-scheduling-linked")


def _check_hostname(new: Value, spec: Value) -> Causes:
    completions = spec.get("completions", 0)
    if spec.get("completionMode") != "Indexed" or completions <= 0:
        return
    name = new.get("metadata", {}).get("name", "")
    host = f"{name}-{completions - 1}"
    if check_short_name(host):
        detail = f"will not able to create pod with invalid DNS label: {host}"
        yield invalid(("metadata", "name"), name, detail, "job-hostname")


def check_generated(kind: Kind, new: Value, old: Stored) -> Causes:
    """Labels that the user wrote in place of the generated ones."""
    spec, meta = new["spec"], new["metadata"]
    if spec.get("manualSelector") or "selector" not in spec:
        return
    labels = spec["template"].get("metadata", {}).get("labels", {})
    name, uid = meta.get("name", ""), meta.get("uid", STORED_UID)
    expected = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name, _UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for label, value in expected.items():
        path = ("spec", "template", "metadata", f"labels[{label}]")
        if label not in labels:
            yield required(path, f"must be '{value}'", "job-selector")
        elif labels[label] != value:
            yield invalid_text(path, write_json(dict(sorted(labels.items()))), f"must be '{value}'", "job-selector")
    selector = spec["selector"]
    if not match_labels(selector, expected) and not is_wrong_selector(selector):
        yield invalid_text(("spec", "selector"), write_json(selector), "`selector` not auto-generated", "job-selector")


def check_job_change(kind: Kind, new: Value, old: Stored) -> Causes:
    """What cannot change. A suspended Job may change a little more of its template."""
    assert old is not None
    spec, before = new["spec"], old["spec"]
    yield from check_part(kind, "changedCompletions", spec, ("spec",), old=before)
    kept = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
    yield from check_kept(kind, spec, before, *kept, rule="job-immutable")
    yield from _check_template_change(kind, spec, old)
    yield from check_part(kind, "changedJob", spec, ("spec",), old=before)


def _check_template_change(kind: Kind, spec: Value, old: Value) -> Causes:
    """The template cannot change, but for what a suspended Job may. Its value is long and is not shown: `{…}`."""
    template, was = spec["template"], old["spec"]["template"]
    if template == was:
        return
    suspended, status = old["spec"].get("suspend", False), old.get("status", {})
    idle = suspended and "startTime" not in status
    is_told = any(
        condition.get("type") == "Suspended" and condition.get("status") == "True"
        for condition in status.get("conditions", ())
    )
    held = suspended and (idle or is_told) and not status.get("active")
    meta, pods = template.get("metadata", {}), template.get("spec", {})
    meta_was, pods_were = was.get("metadata", {}), was.get("spec", {})
    if held if kind.is_on("MutableSchedulingDirectivesForSuspendedJobs") else idle:
        meta_was = with_fields(meta_was, meta, "labels", "annotations")
        pods_were = _with_directives(pods, pods_were)
    if held and kind.is_on("MutablePodResourcesForSuspendedJobs"):
        if pods != with_containers(pods_were, pods, "resources"):
            yield invalid_text(("spec", "template.spec"), "{…}", "field is immutable", "job-immutable")
    elif meta != meta_was or pods != pods_were:
        yield invalid_text(("spec", "template"), "{…}", "field is immutable", "job-immutable")


def _with_directives(new: Value, old: Value) -> Fields:
    """The old spec with the scheduling directives of the new one, which a suspended Job may change."""
    out = with_fields(old, new, "nodeSelector", "tolerations", "schedulingGates")
    return with_node_affinity(out, new)


def _check_failure_policy(kind: Kind, new: Value, spec: Value, path: Path) -> Causes:
    """Of the spec of a Job at a path of a new object."""
    rules = spec.get("podFailurePolicy", {}).get("rules", ())
    pods = spec.get("template", {}).get("spec", {})
    names = {one.get("name", "") for field in ("containers", "initContainers") for one in pods.get(field, ())}
    path = (*path, "podFailurePolicy", "rules")
    for index, rule in enumerate(rules):
        at = (*path, index)
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            detail = "requires the backoffLimitPerIndex to be set"
            yield invalid((*at, "action"), rule["action"], detail)
        yield from check_part(kind, "failureRule", rule, at)
        if "onExitCodes" in rule:
            yield from _check_codes(rule["onExitCodes"], names, new, (*at, "onExitCodes"))


def _check_codes(codes: Value, names: set[str], new: Value, path: Path) -> Causes:
    name, values, where = codes.get("containerName"), codes.get("values", []), (*path, "values")
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid((*path, "containerName"), name, detail)
    if not values:
        yield invalid_text(where, write_json(read_written(new, *where)), "at least one value is required")
    again = find_repeated(values)
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield invalid((*where, index), value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate((*where, index), str(value))
    if values != sorted(values):
        yield invalid_text(where, write_json(values), "must be ordered")


def check_success_policy(kind: Kind, spec: Value, path: Path) -> Causes:
    completions = spec["completions"]
    for index, rule in enumerate(spec["successPolicy"].get("rules", ())):
        at = (*path, "successPolicy", "rules", index)
        indexes, total = rule.get("succeededIndexes"), None
        if indexes is not None:
            where = (*at, "succeededIndexes")
            if count_bytes(indexes) > 65536:
                yield too_long(where, 65536)
            try:
                total = _count_indexes(indexes, completions)
            except ValueError as mistake:
                total = 0
                yield invalid(where, indexes, f"error parsing succeededIndexes: {mistake}")
        if "succeededCount" in rule:
            yield from _check_count(rule["succeededCount"], completions, total, (*at, "succeededCount"))


def _check_count(count: int, completions: int, total: int | None, path: Path) -> Causes:
    yield from check_least(count, 0, path)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(path, count, detail)
    if total is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        yield invalid(path, count, detail)


def _count_indexes(text: str, completions: int) -> int:
    """How many indexes `0,2-4` names. Raises ValueError with what the server says of others."""
    total, last = 0, -1
    for part in text.split(",") if text else ():
        limits = part.split("-")
        if len(limits) > 2:
            what = "violates the requirement that an index interval can have at most two parts separated by '-'"
            raise ValueError(f"the fragment {quote(part)} {what}")
        first, *ends = (_read_index(limit, completions) for limit in limits)
        for previous, current in (*((first, end) for end in ends), (last, first)):
            if previous >= current:
                raise ValueError(f"non-increasing order, previous: {previous}, current: {current}")
        last = ends[0] if ends else first
        total += last - first + 1
    return total


def _read_index(text: str, completions: int) -> int:
    number = read_digits(text.removeprefix("+"))
    if number is None:
        raise ValueError(f"cannot convert string to integer for index: {quote(text)}")
    if number >= completions:
        raise ValueError(f"too large index: {quote(text)}")
    return number


def check_cron_job(kind: Kind, new: Value, old: Stored) -> Causes:
    """The name, the schedule with its time zone, and the job template."""
    spec, before = new["spec"], (old or {}).get("spec", {})
    if spec.get("schedule"):
        yield from _check_schedule(spec, before)
    if "timeZone" in spec and before.get("timeZone") != spec["timeZone"]:
        yield from _check_zone(spec["timeZone"])
    name = new["metadata"].get("name", "")
    if old is None and count_bytes(name) > 52:
        yield invalid(("metadata", "name"), name, "must be no more than 52 characters", "metadata-name")
    yield from check_part(kind, "cronJob", spec, ("spec",))
    template, stored = spec["jobTemplate"], before.get("jobTemplate", {})
    path: Path = ("spec", "jobTemplate")
    yield from check_job_spec(kind, new, template["spec"], stored.get("spec"), (*path, "spec"))
    if kind.is_on("newest-texts"):
        yield from check_delegation(template, stored, path)


def _check_schedule(spec: Value, old: Value) -> Causes:
    """A schedule may name a time zone only where the stored one already does."""
    path, schedule = ("spec", "schedule"), spec["schedule"]
    try:
        check_schedule(schedule)
    except BadSchedule as mistake:
        yield invalid(path, schedule, str(mistake), "cronjob-schedule")
    if "TZ" not in schedule:
        return
    if "TZ" not in old.get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid(path, schedule, detail, "cronjob-schedule")
    elif "timeZone" in spec:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid(path, schedule, detail, "cronjob-schedule")


def _check_zone(zone: str) -> Causes:
    path = ("spec", "timeZone")
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string", "cronjob-schedule")
        return
    if not all(re.fullmatch(r"(?!-|\.\.?\Z)[A-Za-z0-9._+-]{1,14}", part) for part in zone.split("/")):
        yield invalid(path, zone, f"unknown time zone {zone}", "cronjob-schedule")
        return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, detail, "cronjob-schedule")
    if problem := check_zone(zone):
        yield invalid(path, zone, problem, "cronjob-schedule")
