"""Where a request goes: resource paths of the kinds that are asked about.

An address is taken from the body where the server could accept that, so that a mismatch shows as the server's own 400.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from conformance.versions import Profile
from krmfn.releases import schemastore

GROUP = "scheduling.k8s.io"
PLURALS = {
    "Workload": "workloads",
    "PodGroup": "podgroups",
    "CompositePodGroup": "compositepodgroups",
    "Job": "jobs",
    "CronJob": "cronjobs",
    "Pod": "pods",
    "PodTemplate": "podtemplates",
    "ReplicationController": "replicationcontrollers",
    "Deployment": "deployments",
    "ReplicaSet": "replicasets",
    "StatefulSet": "statefulsets",
    "DaemonSet": "daemonsets",
}
# The kinds outside the scheduling group that hold a link to one, with the only version that is asked about.
BUILT_IN = {
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Pod": "v1",
    "PodTemplate": "v1",
    "ReplicationController": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
}

# The kinds that make no pods, by name.
PLAIN = {}
for _name, _row in schemastore.load("kubernetes/plain.json").items():
    _group, _kind, *_older = _name.split("/")
    if _older:
        continue
    PLAIN[_kind] = _row
    BUILT_IN[_kind] = "/".join(part for part in (_group, *_row["versions"]) if part)
    PLURALS[_kind] = _row["resource"]


def collection(profile: Profile, kind: str, body: Any) -> str:
    """The path of the collection that an object of this body is created in."""
    if PLAIN.get(kind, {}).get("cluster"):
        return f"{root(profile, kind, body)}/{PLURALS[kind]}"
    return f"{root(profile, kind, body)}/namespaces/{quote(namespace_of(body), safe='')}/{PLURALS[kind]}"


def root(profile: Profile, kind: str, body: Any) -> str:
    """The group version of the body's apiVersion where this kind is served, else the first that the release has."""
    if kind in BUILT_IN:
        version = BUILT_IN[kind]
        return f"/apis/{version}" if "/" in version else f"/api/{version}"
    versions = profile.served.get(kind) or profile.release.served[kind]
    named = body.get("apiVersion") if isinstance(body, dict) else None
    chosen = next((version for version in versions if named == f"{GROUP}/{version}"), versions[0])
    return f"/apis/{GROUP}/{chosen}"


def namespace_of(body: Any) -> str:
    """metadata.namespace where it can stand in a path, else `default`."""
    metadata = body.get("metadata") if isinstance(body, dict) else None
    given = metadata.get("namespace") if isinstance(metadata, dict) else None
    if isinstance(given, str) and given and not any(c in "/%" or ord(c) < 32 or ord(c) == 127 for c in given):
        return given
    return "default"
