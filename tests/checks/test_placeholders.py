"""Objects with values that somebody fills in later: nothing is said about those, and the rest is judged."""

from __future__ import annotations

import pytest

from krmfn import validate

MANIFESTS = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: ml}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: PLACE
---
apiVersion: batch/v1
kind: Job
metadata: {name: PLACE, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  backoffLimit: 0
  template:
    metadata: {labels: {a: PLACE}}
    spec:
      priorityClassName: PLACE
      schedulingGroup: {podGroupName: PLACE}
      restartPolicy: Never
      containers: [{name: PLACE, image: PLACE, resources: {limits: {cpu: PLACE}}}]
"""


@pytest.mark.parametrize("text", ["${NAME}", "$(NAME)", "{{ .Name }}", "<your-name>", "@NAME@", "__NAME__"])
def test_nothing_is_said_about_a_placeholder(text: str) -> None:
    found = validate(MANIFESTS.replace("PLACE", f'"{text}"').encode())
    assert [str(result) for result in found.errors] == []
    assert found.of("value-unknown")
    assert not found.of("format-long-name", "format-label-key", "metadata-label")


def test_the_rest_is_judged() -> None:
    text = MANIFESTS.replace("PLACE", '"${NAME}"').replace("restartPolicy: Never", "restartPolicy: Sometimes")
    assert {result.path for result in validate(text.encode()).errors} == {"spec.template.spec.restartPolicy"}
