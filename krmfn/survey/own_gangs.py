"""Gangs that the Job controller makes itself, of Jobs with `spec.scheduling`: read as if their groups were there.

Source: job_scheduling_manager.go of Kubernetes 1.37; a gang without minCount is as large as the parallelism.
"""

from __future__ import annotations

from krmfn.config.settings import Settings
from krmfn.model.kinds import KINDS
from krmfn.model.values import as_int, as_mapping, as_text, dig
from krmfn.survey.census import Census, LinkedGang
from krmfn.survey.groups import Group, read_policy


def list_own_gangs(census: Census, settings: Settings) -> list[LinkedGang]:
    """The gangs of Jobs that neither link to a group nor have another controller; none while the gate is said to be
    off."""
    gate = settings.release.features.get("job-scheduling")
    if gate is None or settings.feature_gates.get(gate) is False:
        return []
    found: list[LinkedGang] = []
    for job in census.kind("batch", "Job"):
        spec = as_mapping(dig(job.value, "spec", "scheduling"))
        if not spec:
            continue
        path = ("spec", "scheduling", "schedulingPolicy")
        policy, quorum, field = read_policy(spec.get("schedulingPolicy"), "PodGroup")
        templates = census.templates_of(job)
        manager = as_text(dig(job.value, "spec", "managedBy"))
        if policy != "gang" or not templates or templates[0].link or manager not in ("", KINDS["batch", "Job"].manager):
            continue
        parallelism = as_int(dig(job.value, "spec", "parallelism"))
        parallelism = 1 if parallelism is None else parallelism
        quorum = parallelism if quorum is None else quorum
        if quorum > parallelism:
            continue  # the API server refuses it
        place = (*path, "gang", field)
        group = Group(job, job.space, job.name, path[:2], policy, quorum, place, "", "", "", spec)
        found.append(LinkedGang(group, tuple(templates)))
    return found
