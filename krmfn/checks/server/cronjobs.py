"""The rules of CronJob around its job template.

Source: k8s.io/kubernetes/pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krmfn.checks.server.formats import count_bytes
from krmfn.checks.server.jobs import check_job_spec
from krmfn.checks.server.schema import Type
from krmfn.checks.server.spell import to_api, write_json
from krmfn.checks.server.verdict import Cause, invalid, invalid_text, not_supported, required
from krmfn.krm.paths import Path

Object = Mapping[str, Any]


def check_cron_job(root: Type, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    """The name, the schedule's presence and the job template."""
    spec = new.get("spec", {})
    if not spec.get("schedule"):
        yield required(("spec", "schedule"), "cronjob-schedule")
    name = new.get("metadata", {}).get("name", "")
    if old is None and count_bytes(name) > 52:
        yield invalid(("metadata", "name"), "metadata-name", name, "must be no more than 52 characters")
    for count in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        if spec.get(count, 0) < 0:
            yield invalid(("spec", count), "job-counts", spec[count], "must be greater than or equal to 0")
    policy = spec.get("concurrencyPolicy", "Allow")
    if policy not in ("Allow", "Forbid", "Replace"):
        values = ("Allow", "Forbid", "Replace")
        yield not_supported(("spec", "concurrencyPolicy"), "cronjob-schedule", write_json(policy), values)
    template = spec.get("jobTemplate", {}).get("spec", {})
    path: Path = ("spec", "jobTemplate", "spec")
    yield from check_job_spec(template, path)
    if "selector" in template:
        of = root.fields["spec"].type.fields["jobTemplate"].type.fields["spec"].type.fields["selector"].type
        text = write_json(to_api(of, template["selector"]))
        yield invalid_text((*path, "selector"), "job-selector", text, "`selector` will be auto-generated")
    if template.get("manualSelector"):
        yield not_supported((*path, "manualSelector"), "job-selector", "true", ("nil", "false"))
