"""Two states of a repository as text, and the plan between them."""

from __future__ import annotations

from typing import Any

from krmfn.config import read_settings
from krmfn.krm import Stream
from krmfn.plan.making import make_plan
from krmfn.plan.records import Entry, Plan
from krmfn.server import Mode

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  completionMode: Indexed
  template:
    spec:
      restartPolicy: Never
      schedulingGroup: {podGroupName: train}
      containers: [{name: main, image: train:1}]
"""
GROUP = """\
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: ml}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
"""
TREE = """\
---
apiVersion: scheduling.k8s.io/v1alpha3
kind: CompositePodGroup
metadata: {name: tree, namespace: ml}
spec:
  workloadRef: {workloadName: tree, templateName: tree}
  schedulingPolicy: {gang: {minGroupCount: 1}}
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: leaf, namespace: ml}
spec:
  parentCompositePodGroupName: tree
  workloadRef: {workloadName: tree, templateName: leaf}
  schedulingPolicy: {gang: {minCount: 4}}
"""


def plan(old: str, new: str, update: Mode = "apply", **spec: Any) -> Plan:
    """What applying `new` over `old` does; `spec` is the configuration's."""
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    states = [Stream.parse(text.encode(), f"{name}.yaml").items for name, text in (("old", old), ("new", new))]
    return make_plan(states[0], states[1], settings, update)


def entry(old: str, new: str, kind: str, **spec: Any) -> Entry:
    """The entry of the only object of `kind`."""
    (found,) = (one for one in plan(old, new, **spec).entries if one.ref.kind == kind)
    return found
