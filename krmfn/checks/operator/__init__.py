"""Stage operator: whether KubeRay, the Job controller, Volcano, Kueue and others act as the manifests mean.

What an operator refuses when it reads one resource is noted by that resource's source; here is what can be seen only
when resources, groups and links are looked at together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from krmfn.checks.rule import Check, run

if TYPE_CHECKING:
    from krmfn.config import Settings
    from krmfn.model.findings import Finding
    from krmfn.survey.census import Census


def list_checks() -> tuple[Check, ...]:
    """Every rule of this stage, topic by topic."""
    from krmfn.checks.operator import crds, delegation, job_rules, kuberay, kueue, ordering, ray, volcano

    topics = (crds, kuberay, ray, job_rules, delegation, ordering, kueue, volcano)
    return tuple(check for topic in topics for check in topic.CHECKS)


def find_all(census: Census, settings: Settings) -> Iterator[Finding]:
    """The findings of this stage. Operators act on what makes pods: groups alone give them nothing to do."""
    if all(group == "scheduling.k8s.io" for group, _ in census.by_kind):
        return
    yield from run(list_checks(), census, settings)
