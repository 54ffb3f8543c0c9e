"""The function over its own output ends as the first run did: what a run does not need to read it leaves alone, whether
groups are there already or not."""

from __future__ import annotations

import itertools
import textwrap

import pytest

from tests.front_door import call

HEAD = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
functionConfig: {apiVersion: krmfn.dev/v1alpha1, kind: GangScheduling, metadata: {name: a}, spec: {mode: @}}
items:
"""
JOB = """\
- apiVersion: batch/v1
  kind: Job
  metadata: {name: train, annotations: {krmfn.dev/gang: "true"}}
  spec:
    parallelism: 2
    completions: 2
    template: {spec: {restartPolicy: Never, containers: [{name: main, image: a}]}}
"""
#: What YAML or the API server would refuse.
WRONG = ("? ~\n: x", "{a: b}: c", "a: 1\na: 2", "a: !!binary x", "a: *nope", "<<: 5", "a: !x y", "a: 'b")
KINDS = (
    ("v1", "ConfigMap"),
    ("batch/v1", "Job"),
    ("ray.io/v1", "RayCluster"),
    ("scheduling.k8s.io/v1beta1", "PodGroup"),
)
#: Where it stands, with the lines above it.
PLACES = {
    "object": (2, ""),
    "metadata": (4, ""),
    "labels": (6, "    labels:\n"),
    "annotations": (6, "    annotations:\n"),
    "spec": (4, "  spec:\n"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_second_run_ends_as_the_first(wrong: str, place: str) -> None:
    depth, above = PLACES[place]
    for (version, kind), mode in itertools.product(KINDS, ("Generate", "Validate")):
        item = f"- apiVersion: {version}\n  kind: {kind}\n  metadata:\n    name: b\n"
        item += above + textwrap.indent(wrong, " " * depth) + "\n"
        for items in (item, JOB + item, item + JOB):
            first = call(f"{HEAD.replace('@', mode)}{items}".encode())
            assert first.code in (0, 1, 2), first.err.decode()
            if first.code < 2:
                second = call(first.out)
                assert (second.code, second.out) == (first.code, first.out), second.err.decode()
