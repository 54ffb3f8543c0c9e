"""Rules that count: at the threshold they speak, one below or above it they are silent."""

from __future__ import annotations

import pytest

from krmfn.krm import Result
from tests.checks.cases import read_case, run

GPU = 'resources: {limits: {example.com/gpu: "1"}}'


def find(rule: str, *edits: tuple[str, str]) -> list[Result]:
    """The findings of a rule in the bad example of its page with other words in it."""
    return [result for result in run(read_case(rule, "bad", edits)) if result.tags["rule"] == rule]


def fours_to(number: int) -> tuple[str, str]:
    """A Job of 4 indexed pods becomes one of another number."""
    text = "parallelism: 4\n  completions: 4"
    return text, text.replace("4", str(number))


@pytest.mark.parametrize(
    ("rule", "old", "new", "found"),
    [
        ("deadline-counts-waiting", "Seconds: 300", "Seconds: 600", True),
        ("deadline-counts-waiting", "Seconds: 300", "Seconds: 601", False),
        ("volume-shared", "parallelism: 4", "parallelism: 2", True),
        ("volume-shared", "parallelism: 4", "parallelism: 1", False),
        ("requests-missing", 'resources: {requests: {cpu: "1"}}', "resources: {}", True),
        ("requests-missing", 'resources: {requests: {cpu: "1"}}', GPU, False),
        ("job-name-too-long", "a" * 58, "a" * 57, False),
        ("job-name-too-long", "a" * 58, "a.b", True),
        ("job-gang-lost", *fours_to(2), True),
        ("job-gang-lost", *fours_to(1), False),
    ],
)
def test_the_threshold(rule: str, old: str, new: str, found: bool) -> None:
    assert bool(find(rule, (old, new))) == found


def test_a_quorum_of_zero_is_none_that_objects_could_share() -> None:
    """The server calls it a required value, as it does one that is not written: nothing else is said of it."""
    edit = ("minCount: 4", "minCount: 0")
    assert not find("group-shared", edit)
    (refused,) = (result for result in run(read_case("group-shared", "bad", [edit])) if result.severity == "error")
    assert refused.message == "Required value"


def test_a_claim_is_told_by_its_name_or_by_its_number() -> None:
    claim = "resourceClaims: [{name: gpus, resourceClaimName: shared}]"
    for edits, told in (((), "gpus"), (((claim, claim.replace("name: gpus, ", "")),), "number 0")):
        (found,) = find("claim-not-in-pods", *edits)
        assert found.message.startswith(f'the claim "{told}" of the group')


def test_workers_without_a_least_number_may_be_none() -> None:
    """The operator's definition fills in 0."""
    edit = ("minReplicas: 1\n    maxReplicas: 8", "maxReplicas: 1")
    (found,) = find("ray-autoscaler-beyond-gang", edit)
    assert found.message.startswith("workers between minReplicas 0 and maxReplicas 1 ")


def test_groups_without_pods_are_one_or_several() -> None:
    head = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: NAME, namespace: ml}\n"
    spec = "spec: {schedulingPolicy: {gang: {minCount: 1}}, parentCompositePodGroupName: tree}\n---\n"
    idle = head.replace("NAME", "idle")
    (one,) = find("min-group-count-above-ready")
    (two,) = find("min-group-count-above-ready", (idle, head.replace("NAME", "bare") + spec + idle))
    assert "but idle has no pods: " in one.message
    assert "but bare and idle have no pods: " in two.message


@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_wrapped_cluster_gives_its_head_is_needed_too(wrapped: bool) -> None:
    ray = """
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ml}
spec:
  gcsFaultToleranceOptions: {redisPassword: {valueFrom: {secretKeyRef: {name: tokne, key: token}}}}
  headGroupSpec: {template: {spec: {schedulingGroup: {podGroupName: train}, containers: [{name: head, image: ray}]}}}
---
"""
    if wrapped:
        inner = ray.removesuffix("---\n").strip().replace("\n", "\n      ")
        ray = f"""
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {{name: demo, namespace: ml}}
spec:
  components:
  - template:
      {inner}
---
"""
    group = "apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\n"
    (found,) = find("configuration-missing", ("name: tokne", "name: token"), (group, ray.lstrip() + group))
    assert found.path.endswith("spec.gcsFaultToleranceOptions.redisPassword.valueFrom.secretKeyRef.name")


def test_a_template_whose_name_is_a_number_has_it_as_a_text() -> None:
    edits = ("podGroupTemplateName: worker", "podGroupTemplateName: '5'"), ("name: workers", "name: 5")
    assert find("workload-exists", edits[0])
    assert not find("workload-exists", *edits)


def test_pods_that_are_bound_by_hand_are_refused_like_others() -> None:
    (found,) = find("pod-refused", ("      containers:", "      nodeName: n1\n      containers:"))
    assert found.severity == "error"


@pytest.mark.parametrize(("minimum", "severity"), [("3", "warning"), ("4", "warning"), ("5", "error")])
def test_pods_that_are_bound_by_hand_run_where_they_are_enough(minimum: str, severity: str) -> None:
    """`nodeName` passes the scheduler by: with 4 such pods, a gang of 4 runs whatever is wrong with it."""
    bound = ("volumes:", "nodeName: n1\n      volumes:")
    (found,) = find("volume-shared", bound, ("minCount: 4", f"minCount: {minimum}"))
    assert found.severity == severity
