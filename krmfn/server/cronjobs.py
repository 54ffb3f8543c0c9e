"""The rules of CronJob around its job template.

Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.schedules import BadSchedule, check_zone, read_schedule
from krmfn.server.cases import check_part
from krmfn.server.formats import count_bytes
from krmfn.server.jobs import check_delegation, check_job_spec
from krmfn.server.pods.defaults import fill_template
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid


def fill_cron_job(kind: Kind, new: dict[str, Any]) -> None:
    """Defaults that depend on others: those of the pods."""
    fill_template(new["spec"].setdefault("jobTemplate", {}).setdefault("spec", {}).setdefault("template", {}))


def check_cron_job(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    """The name, the schedule with its time zone, and the job template."""
    spec = new.get("spec", {})
    before = None if old is None else old.get("spec", {})
    if spec.get("schedule"):
        yield from _check_schedule(spec, before)
    if "timeZone" in spec and (before is None or before.get("timeZone") != spec["timeZone"]):
        yield from _check_zone(spec["timeZone"])
    name = new.get("metadata", {}).get("name", "")
    if old is None and count_bytes(name) > 52:
        yield invalid(("metadata", "name"), name, "must be no more than 52 characters", "metadata-name")
    yield from check_part(kind, "cronJob", spec, ("spec",))
    template = spec.get("jobTemplate", {}).get("spec", {})
    stored = (before or {}).get("jobTemplate", {}).get("spec")
    path: Path = ("spec", "jobTemplate", "spec")
    yield from check_job_spec(kind, new, template, stored, path)
    if kind.is_on("newest-texts"):
        yield from check_delegation(spec.get("jobTemplate", {}), (before or {}).get("jobTemplate"), path[:-1])


def _check_schedule(spec: Object, old: Object | None) -> Iterator[Cause]:
    """A schedule may name a time zone only where the stored one already does."""
    path, schedule = ("spec", "schedule"), spec["schedule"]
    try:
        read_schedule(schedule)
    except BadSchedule as mistake:
        yield invalid(path, schedule, str(mistake), "cronjob-schedule")
    if "TZ" not in schedule:
        return
    if old is None or "TZ" not in old.get("schedule", ""):
        detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield invalid(path, schedule, detail, "cronjob-schedule")
    elif "timeZone" in spec:
        detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield invalid(path, schedule, detail, "cronjob-schedule")


def _check_zone(zone: str) -> Iterator[Cause]:
    path = ("spec", "timeZone")
    if not zone:
        yield invalid(path, zone, "timeZone must be nil or non-empty string", "cronjob-schedule")
        return
    for part in zone.split("/"):
        if part in (".", "..") or part.startswith("-") or not _is_zone_part(part):
            yield invalid(path, zone, f"unknown time zone {zone}", "cronjob-schedule")
            return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield invalid(path, zone, detail, "cronjob-schedule")
    if problem := check_zone(zone):
        yield invalid(path, zone, problem, "cronjob-schedule")


def _is_zone_part(part: str) -> bool:
    return 0 < len(part) < 15 and part.isascii() and all(letter.isalnum() or letter in ".-_+" for letter in part)
