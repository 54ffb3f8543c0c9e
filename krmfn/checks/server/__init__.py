"""What kube-apiserver would say, offline: same verdict, same fields, same types, same texts.

Covers Workload, PodGroup, CompositePodGroup completely and, in pods and the kinds that hold pod templates, the group
fields; in Job and CronJob also `spec.scheduling` and what it refers to. The rules are data in `schemas/kubernetes/`; the
modules here know keywords:

| module | holds |
|---|---|
| `requests` | the order of a request: decode, defaults, admission, strategy, validation |
| `decode`, `reader`, `gotime` | JSON to the object in memory, and the texts of HTTP 400 |
| `types`, `kinds` | schema files compiled: fields with their rules; a kind as a release serves it |
| `strategy`, `admission` | defaults, dropped fields, system fields; the plugins that answer 403 |
| `declarative`, `handwritten`, `objectmeta`, `jobs`, `pods` | the rules |
| `apply` | what `kubectl apply` and server-side apply send |
| `spell`, `formats`, `causes`, `verdict` | texts and records |
| `rules` | the rows of the catalogue |

A new Kubernetes release is a new folder of schemas (see `conformance/schemas`) and at most a new keyword here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from krmfn.checks.server.admission import Facts
from krmfn.checks.server.kinds import Kind, find_kind
from krmfn.checks.server.requests import create, mark_stored, update
from krmfn.checks.server.verdict import Verdict

Mode = Literal["apply", "server-side-apply", "replace"]


def kind_of(value: Any, release: str, gates: Mapping[str, bool]) -> Kind | None:
    """The kind that `apiVersion` and `kind` name, in that release with those gates on; None when it is not covered."""
    if not isinstance(value, Mapping):
        return None
    api_version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return None
    return find_kind(api_version.rpartition("/")[0], kind, release, gates)


def validate_create(value: Any, release: str, gates: Mapping[str, bool], facts: Facts = Facts()) -> Verdict | None:
    """The answer to a create with strict field validation. None when the kind is not covered.

    `value` is what `json.loads` gives. Gates that are not in `gates` have their default: all that matter here are off.
    """
    kind = kind_of(value, release, gates)
    return create(kind, value, facts) if kind else None


def validate_update(
    new: Any, old: Any, release: str, gates: Mapping[str, bool], mode: Mode = "apply", facts: Facts = Facts()
) -> Verdict | None:
    """The answer to changing `old`, as it lies in Git, to `new`. None when the kind is not covered.

    `old` is taken as created by a server of the same release and gates; when that server would have refused it, the answer
    is that refusal. Modes: "apply" keeps what the server filled in, as kubectl's three-way apply does; "server-side-apply"
    is one forced field manager; "replace" is a PUT of the manifest with the stored resourceVersion.
    """
    kind = kind_of(new, release, gates)
    if kind is None:
        return None
    created = create(kind, old, facts)
    if not created.accepted:
        return created
    return update(kind, new, mark_stored(kind, created.stored), facts)


__all__ = ["Facts", "Kind", "Mode", "Verdict", "kind_of", "validate_create", "validate_update"]
