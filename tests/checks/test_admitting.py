"""What Kueue never admits: each mistake in an otherwise right set of queues is told by its rule, and by no other."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.pipeline import find_all, to_results

RIGHT = """
apiVersion: v1
kind: Namespace
metadata: {name: ml, labels: {team: a}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: gpu}
spec:
  nodeLabels: {pool: gpu}
  nodeTaints: [{key: gpu, value: "yes", effect: NoSchedule}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: cpu}
spec: {}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: all}
spec:
  namespaceSelector: {matchLabels: {team: a}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: gpu, resources: [{name: nvidia.com/gpu, nominalQuota: 8}]}]
  - coveredResources: [cpu, pods]
    flavors: [{name: cpu, resources: [{name: cpu, nominalQuota: 8}, {name: pods, nominalQuota: 4}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: ml}
spec: {clusterQueue: all}
---
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml, labels: {kueue.x-k8s.io/queue-name: main}}
spec:
  parallelism: 4
  completions: 4
  suspend: true
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {pool: gpu, zone: b}
      tolerations: [{key: gpu, operator: Exists}]
      containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 2}, requests: {cpu: 500m}}}]
"""


@pytest.mark.parametrize(
    ("rule", "old", "new"),
    [
        ("", "pool: gpu, zone: b", "zone: b"),
        ("", "nodeSelector: {pool: gpu, zone: b}", "affinity: {}"),
        ("", "limits: {nvidia.com/gpu: 2}, ", ""),
        ("", "requests: {cpu: 500m}", "requests: {cpu: 500m, memory: 0}"),
        ("", "[{key: gpu, operator: Exists}]", "[]|nodeTaints: |tolerations: [{operator: Exists}]\n  nodeTaints: "),
        ("kueue-flavor-unsuitable", "[{key: gpu, operator: Exists}]", "[{key: gpu, value: 'no'}]"),
        ("kueue-flavor-unsuitable", "pool: gpu, zone", "pool: cpu, zone"),
        ("kueue-reference-missing", "flavors: [{name: cpu,", "flavors: [{name: cpus,"),
        ("kueue-namespace-not-selected", "  namespaceSelector: {matchLabels: {team: a}}\n", ""),
        ("kueue-namespace-not-selected", "{matchLabels: {team: a}}", "{matchLabels: {team: b}}"),
        ("kueue-queue-missing", "{clusterQueue: all}", "{clusterQueue: al}"),
        ("kueue-queue-missing", "queue-name: main", "queue-name: mian"),
        ("kueue-queue-stopped", "spec: {clusterQueue: all}", "spec: {clusterQueue: all, stopPolicy: Hold}"),
        ("kueue-queue-too-small", "parallelism: 4", "parallelism: 5|completions: 4|completions: 5"),
        ("kueue-resource-not-covered", "requests: {cpu: 500m}", "requests: {cpu: 500m, memory: 1Gi}"),
        ("kueue-resource-not-covered", "limits: {", "limits: {memory: 1Gi, "),
    ],
)
@pytest.mark.parametrize("facts", [False, True], ids=["files", "facts"])
def test_each_mistake_has_its_rule(rule: str, old: str, new: str, facts: bool) -> None:
    new, *more = new.split("|")
    assert old in RIGHT
    text = RIGHT.replace(old, new)
    for before, after in zip(more[::2], more[1::2], strict=True):
        assert before in text
        text = text.replace(before, after)
    assert find(text, facts) == ({rule} if rule else set())


@pytest.mark.parametrize(
    ("covered", "device", "severity"),
    [
        ("cpu, memory", "", "warning"),
        ("cpu, memory, example.com/gpu", "", None),
        ("cpu, memory, example.com/gpus", "", "warning"),  # misspelled
        ("cpu, memory, gpu.memory", "", "info"),  # Kueue's configuration may turn one into the other
        ("cpu, gpu.memory", "", "warning"),
        ("cpu, memory", "example.com/gpu", None),
        ("cpu, memory", "example.com/tpu", "warning"),
    ],
)
def test_resources_that_the_configuration_of_kueue_may_turn_into_others(
    covered: str, device: str, severity: str | None
) -> None:
    text = RIGHT.replace("[nvidia.com/gpu]", f"[{covered}]").replace("- coveredResources: [cpu, pods]", "- others: []")
    text = text.replace("nvidia.com/gpu: 2}", "example.com/gpu: 2, memory: 1Gi}")
    text += "---\napiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: d}\n"
    text += f"spec: {{extendedResourceName: {device}}}\n"
    items = list(Stream.parse(text.encode(), "a.yaml").items)
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": {}})
    found = to_results(find_all(items, settings, None, ("operator",), "apply"))
    told = [result.severity for result in found if result.tags["rule"] == "kueue-resource-not-covered"]
    assert told == ([severity] if severity else [])


def find(text: str, facts: bool) -> set[str]:
    """The rules about Kueue, with the queues in the files, or as facts."""
    spec: dict[str, Any] = {}
    if facts:
        *queues, text = text.split("---\n")
        spec["cluster"] = {"items": [yaml.safe_load(each) for each in queues]}
    items = list(Stream.parse(text.encode(), "a.yaml").items)
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    found = list(find_all(items, settings, None, ("operator",), "apply"))
    certain = ("kueue-queue-missing", "kueue-reference-missing")
    assert not facts or all(each.severity == "error" for each in found if each.rule in certain)
    return {finding.rule for finding in found if finding.rule.startswith("kueue")}
