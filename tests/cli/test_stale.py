"""A manifest that was changed after its groups were generated, through the process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call

POD = "spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '2', memory: 1Gi}}}]}"
_GANG = "metadata: {name: later, namespace: ml, annotations: {krmfn.dev/gang: 'true'}}"
_JOB = f"parallelism: 2, completions: 2, template: {{{POD.replace('{c', '{restartPolicy: Never, c', 1)}}}"
_SET = f"""apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
{_GANG}
spec:
  startupPolicy: {{startupPolicyOrder: AnyOrder}}
  replicatedJobs:
  - {{name: a, template: {{spec: {{{_JOB}}}}}}}
  - {{name: b, template: {{spec: {{{_JOB}}}}}}}
"""
_LEADER = f"""apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
{_GANG}
spec:
  startupPolicy: LeaderCreated
  leaderWorkerTemplate:
    size: 3
    leaderTemplate: {{{POD}}}
    workerTemplate: {{{POD}}}
"""
_STATEFUL = f"""apiVersion: apps/v1
kind: StatefulSet
{_GANG}
spec:
  replicas: 3
  serviceName: a
  podManagementPolicy: Parallel
  selector: {{matchLabels: {{app: a}}}}
  template: {{metadata: {{labels: {{app: a}}}}, {POD}}}
"""


@pytest.mark.parametrize(
    ("text", "change", "rule"),
    [
        (_SET, ("AnyOrder", "InOrder"), "jobset-ordered"),
        (_LEADER, ("LeaderCreated", "LeaderReady"), "leader-ready-gang"),
        (_STATEFUL, ("Parallel", "OrderedReady"), "ordered-start-deadlock"),
    ],
)
def test_an_order_that_was_set_after_the_groups_were_generated(
    text: str, change: tuple[str, str], rule: str, tmp_path: Path, krmfn: Call
) -> None:
    """The groups in the files are still those of before: one mistake, said once."""
    path = tmp_path / "gang.yaml"
    path.write_text(text)
    generated = krmfn("generate", "-q", "gang.yaml").out
    for order, expected in ((change[0], []), (change[1], [rule])):
        path.write_text(generated.replace(change[0], order))
        found = json.loads(krmfn("validate", "gang.yaml", "-o", "json").out)["results"]
        assert [each["tags"]["rule"] for each in found if each["severity"] == "error"] == expected
