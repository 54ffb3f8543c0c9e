"""What kube-apiserver would say, offline: same verdict, same fields, same types, same texts.

Covers Workload, PodGroup, CompositePodGroup completely and, in pods and the kinds that hold pod templates, the group
fields; in Job and CronJob also `spec.scheduling` and what it refers to. The rules are data in `schemas/kubernetes/`;
the modules here know keywords:

| module | holds |
|---|---|
| `answers`, `requests`, `body`, `apply` | the order of a request, its envelope, what a patch makes of a manifest |
| `decode`, `explain` | JSON to the object in memory, and the texts of HTTP 400 |
| `schema` | schema files compiled: fields with their rules; a kind as a release serves it |
| `strategy`, `admission` | defaults, dropped fields, system fields; the plugins that answer 403 |
| `declarative`, `metadata`, `groups`, `jobs`, `cronjobs`, `pods`, `podchanges`, `podspecs` | the rules |
| `fields`, `plain` | built-in kinds without pods: one field by itself, and several together |
| `others` | other built-in kinds by their shapes |
| `shipped`, `custom`, `structure`, `patterns` | custom resources by their definitions; those that come with krmfn |
| `customrules`, `cel`, `correlation` | the CEL rules of definitions; what stays as it was in an update |
| `typed` | what a change of a live custom resource leads to |
| `spell`, `formats`, `verdict` | texts and answers |
| `stage`, `scope`, `hints` | items to findings; what was judged; what to do |

A new Kubernetes release is a new folder of schemas (see `conformance/schemas`) and at most a new keyword here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from krmfn.checks.server.admission import AdmissionFacts
from krmfn.checks.server.answers import (
    Mode,
    as_sent,
    change,
    kind_of,
    misreads_numbers,
    validate_create,
    validate_update,
)
from krmfn.checks.server.requests import create, hold
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import Verdict
from krmfn.config import Settings
from krmfn.krm.item import Item
from krmfn.model.findings import Finding


def check(
    items: Sequence[Item],
    old: Sequence[Item] | None,
    settings: Settings,
    update: str = "apply",
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Finding]:
    """Stage `server`: what the API server would refuse or drop, for every item that it judges.

    With `old`, objects of one group, kind, namespace and name pair up, whatever their API versions.
    `meanwhile` is called once, before the first finding; where several processes check the items, this one does that
    while others have begun.
    """
    from krmfn.checks.server.stage import check_items

    return check_items(items, old, settings, update, meanwhile)


__all__ = [
    "AdmissionFacts",
    "Kind",
    "Mode",
    "Verdict",
    "as_sent",
    "change",
    "check",
    "create",
    "hold",
    "kind_of",
    "misreads_numbers",
    "validate_create",
    "validate_update",
]
