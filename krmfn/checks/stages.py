"""Runs several stages over one census. The stage `server` counts nothing and is called by itself."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding, Member


def check_stages(
    stages: Collection[str],
    objects: Sequence[Item],
    members: Sequence[Member],
    old: Sequence[Item] | None,
    settings: Settings,
    asking: Sequence[Item] = (),
) -> Iterator[Finding]:
    """The findings of those of scheduler, operator and gitops that are in `stages`.

    `members` are the pod templates that sources counted (survey.counting), `old` the earlier state if there is one,
    `asking` the objects that a gang is to be generated for.
    """
    from krmfn.checks.rule import run
    from krmfn.survey.census import take_census

    census = take_census(objects, members, old, settings.cluster, asking)
    if "scheduler" in stages:
        yield from run("scheduler", census, settings)
    # Operators act on what makes pods: groups alone give them nothing to do.
    if "operator" in stages and any(group != "scheduling.k8s.io" for group, _ in census.by_kind):
        yield from run("operator", census, settings)
    if "gitops" in stages:
        from krmfn.checks.reading import find_problems

        yield from run("gitops", census, settings)
        yield from find_problems(census)
