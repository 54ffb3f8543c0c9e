"""Real API servers accept everything that targets emit, with strict field validation. Needs built servers and etcd."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from conformance.address import collection
from conformance.build import find_server
from conformance.client import Client
from conformance.server import serve
from conformance.versions import Profile, read_profiles
from krmfn.model.tree import Composite, DisruptionMode, Gang
from krmfn.targets import emit
from tests.targets.trees import batch, cluster, gang, head, job, merged, ray, settings, workers

PROFILES = read_profiles()
CLASSES = {"high": "PreemptLowerPriority", "calm": "Never"}


@pytest.fixture(scope="module", params=[name for name in PROFILES if name in {"1.35-was"} or name.endswith("-all")])
def server(request: pytest.FixtureRequest) -> Iterator[tuple[Profile, Client]]:
    profile = PROFILES[request.param]
    if not find_server(profile.release):
        pytest.skip(f"no kube-apiserver: run `python -m conformance build {profile.release.name}`")
    if not shutil.which("etcd"):
        pytest.skip("no etcd: run `apt install etcd-server`")
    with serve(profile) as running:
        for value, (name, policy) in enumerate(CLASSES.items(), 1000):
            body = {"metadata": {"name": name}, "value": value, "preemptionPolicy": policy}
            path = "/apis/scheduling.k8s.io/v1/priorityclasses"
            assert running.client.post(
                path, body | {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            ).accepted
        yield profile, running.client


def shapes() -> dict[str, Gang]:
    """One gang per shape that there is, in namespaces of their own."""
    modes: list[DisruptionMode] = ["", "Single", "All"]
    names = ["cpu", "GPU_a", "x" * 80, "cluster", "head", "part-1", "ü"]
    made = {
        "job": gang(job(4), batch()),
        "basic": gang(job(4)._replace(min_count=None), batch()),
        "one-gang": gang(merged(workers(0, "cpu", 3))),
        "tree": gang(cluster(workers(0, "cpu", 3), workers(1, "gpu", 2, 1))),
        "odd-names": gang(cluster(*(workers(index, name, 2) for index, name in enumerate(names)))),
        "long-name": gang(cluster(workers(0, "g" * 63, 1)), ray("r" * 253)),
        "dotted-name": gang(job(2), batch("train.v1")),
        "priority": gang(cluster(workers(0, "cpu", 2, priority_class="high"), first=head(priority_class="high"))),
        "calm": gang(job(2, priority_class="calm", preemption_policy="Never"), batch()),
        "revisioned": gang(cluster(workers(0, "cpu", 2)), naming="Revisioned"),
        "across": gang(
            Composite(
                "pipeline", (cluster(workers(0, "cpu", 2))._replace(name="raycluster-demo"), job(2, 1, "job-feed")), 2
            ),
            ray(),
            batch("feed"),
            name="pipeline",
        ),
    }
    for mode in modes:
        group = workers(0, "cpu", 2)._replace(topology_key="example.com/rack", disruption_mode=mode)
        tree = cluster(group)._replace(topology_key="topology.kubernetes.io/zone", disruption_mode=mode)
        made[f"constrained-{mode.lower() or 'none'}"] = gang(tree)
        flat = merged(workers(0, "cpu", 2))._replace(topology_key="example.com/rack", disruption_mode=mode)
        made[f"constrained-flat-{mode.lower() or 'none'}"] = gang(flat)
    for count in (7, 8, 9, 71, 72, 150, 583):
        made[f"groups-{count}"] = gang(cluster(*(workers(index, f"g{index}", 1) for index in range(count))))
    return made


@pytest.mark.parametrize("shape", shapes())
def test_accepted(server: tuple[Profile, Client], shape: str) -> None:
    profile, client = server
    asked = shapes()[shape]._replace(namespace=shape.lower())
    emission = emit(asked, settings(profile.release.name))
    if not emission.objects:
        assert shape.startswith("groups-")
        assert {note.rule for note in emission.notes} == {"groups-do-not-fit"}
        assert profile.release.name != "1.37"
        return
    for value in emission.objects:
        answer = client.post(collection(profile, value["kind"], value), value, fieldValidation="Strict")
        assert answer.accepted, answer.body["message"]
        assert not answer.warnings
        assert find_dropped(value["spec"], answer.body["spec"]) == []


def find_dropped(sent: Any, stored: Any, path: str = "spec") -> list[str]:
    """The paths of what was sent and not stored: a gate that the emission needs is off."""
    if isinstance(sent, dict):
        return [
            entry
            for key, value in sent.items()
            for entry in (
                find_dropped(value, (stored or {}).get(key), f"{path}.{key}") if isinstance(stored, dict) else [path]
            )
        ]
    if isinstance(sent, list):
        return [
            entry
            for index, value in enumerate(sent)
            for entry in find_dropped(value, (stored or [None])[index], f"{path}[{index}]")
        ]
    return [] if sent == stored else [path]


def test_pods_join(server: tuple[Profile, Client]) -> None:
    """The links of an emission are fields that the server's Job knows and keeps."""
    profile, client = server
    emission = emit(gang(job(2), batch()), settings(profile.release.name))
    template: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    value: dict[str, Any] = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "ml"},
        "spec": {"parallelism": 2, "template": template},
    }
    for link in emission.links:
        place: Any = value
        for part in link.path[:-1]:
            place = place.setdefault(part, {})
        place[link.path[-1]] = link.value
    answer = client.post(collection(profile, "Job", value), value, fieldValidation="Strict")
    assert answer.accepted, answer.body["message"]
    assert find_dropped(template["spec"], answer.body["spec"]["template"]["spec"]) == []
