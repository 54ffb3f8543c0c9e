"""Objects that every recorded server holds before it is asked anything; records may refer to them."""

from __future__ import annotations

from typing import Any

from conformance.client import Client
from conformance.versions import Profile

PRIORITY_CLASSES: tuple[dict[str, Any], ...] = (
    {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "PreemptLowerPriority"},
    {"metadata": {"name": "normal"}, "value": 100},
    {"metadata": {"name": "low"}, "value": -10, "preemptionPolicy": "Never"},
)
NAMESPACES = ("default", "ml")


class FixtureRefused(RuntimeError):
    """The server did not take an object that all records rest on."""


def create_fixtures(client: Client, profile: Profile) -> None:
    """PriorityClasses everywhere; in 1.36 also what its admission looks up. Raises FixtureRefused."""
    for priority_class in PRIORITY_CLASSES:
        body = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **priority_class}
        post(client, "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    if profile.release.name == "1.36":
        for body in list_fixtures(profile):
            plural = f"{body['kind'].lower()}s"
            post(client, f"/apis/{body['apiVersion']}/namespaces/{body['metadata']['namespace']}/{plural}", body)


def list_fixtures(profile: Profile) -> list[dict[str, Any]]:
    """What the admission of 1.36 looks up."""
    version = f"scheduling.k8s.io/{profile.release.served['Workload'][0]}"
    templates = {"podGroupTemplates": [template("workers", gang(4)), template("driver", {"basic": {}})]}
    rows = [
        ("Workload", "train", templates),
        ("PodGroup", "gang-pg", {"schedulingPolicy": gang(2)}),
        ("PodGroup", "basic-pg", {"schedulingPolicy": {"basic": {}}}),
    ]
    return [
        {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": space}, "spec": spec}
        for space in NAMESPACES
        for kind, name, spec in rows
    ]


def gang(count: int) -> dict[str, Any]:
    return {"gang": {"minCount": count}}


def template(name: str, policy: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "schedulingPolicy": policy}


def post(client: Client, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, body, fieldValidation="Strict")
    if not answer.accepted:
        raise FixtureRefused(f"{path}: {answer.status} {answer.body}")
