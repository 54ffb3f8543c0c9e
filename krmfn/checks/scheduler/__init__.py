"""Stage scheduler: what the API server stores and the scheduler never binds, or binds in parts.

Most of it is silent in the cluster: pods held back before the scheduling queue get no condition and no event.
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
    from krmfn.checks.scheduler import (
        agreement,
        atomicity,
        classes,
        gating,
        hindrances,
        links,
        quorum,
        reuse,
        room,
        sharing,
        topology_rules,
        trees,
    )

    first = (quorum, links, sharing, trees, atomicity)
    topics = (*first, agreement, classes, hindrances, reuse, topology_rules, room, gating)
    return tuple(check for topic in topics for check in topic.CHECKS)


def find_all(census: Census, settings: Settings) -> Iterator[Finding]:
    """The findings of this stage."""
    yield from run(list_checks(), census, settings)
