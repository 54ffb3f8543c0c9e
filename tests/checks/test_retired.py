"""Ids of rules that went stay reserved, and whoever names one is told what became of it."""

from __future__ import annotations

import pytest

import krmfn
from krmfn.cli.about import print_rules as run
from krmfn.cli.options import UsageError
from krmfn.config import ConfigError
from krmfn.model.rules import RULES, tell_retired
from krmfn.releases import schemastore
from krmfn.reports.pages import read_page

RETIRED = sorted(schemastore.load("retired.json"))


@pytest.mark.parametrize("rule", RETIRED)
def test_an_id_is_not_used_again_and_says_what_became_of_it(rule: str) -> None:
    assert rule not in RULES
    with pytest.raises(UsageError, match="was retired in"):
        run([rule], {})
    with pytest.raises(ConfigError, match="was retired in"):
        krmfn.validate(
            b"",
            config={"metadata": {"name": "gangs"}, "spec": {"rules": {"ignore": [{"rules": [rule], "reason": "old"}]}}},
        )


def test_an_id_that_never_was_one_is_not_retired() -> None:
    assert tell_retired("no-such-rule") == ""


def test_an_index_that_fails_for_good_is_told_by_the_rule_about_retries() -> None:
    bad = read_page("retry-starves").examples["bad.yaml"]
    limited = bad.replace("completionMode: Indexed", "completionMode: Indexed\n  backoffLimitPerIndex: 1")
    (before,), found = (krmfn.validate(text.encode()).of("retry-starves") for text in (bad, limited))
    assert before.path == "spec.template.spec.restartPolicy"
    (added,) = (result for result in found if result.path != before.path)
    assert added.path == "spec.backoffLimitPerIndex"
    assert "failed 2 times" in added.message


def test_jobs_that_share_a_template_and_jobs_that_are_suspended_are_told_by_the_rule_about_templates() -> None:
    good = read_page("delegated-template-unknown").examples["good.yaml"]
    assert not krmfn.validate(good.encode()).of("delegated-template-unknown")
    shared, suspended = (
        good.replace("replicas: 1", "replicas: 2", 1),
        good.replace("spec:", "spec:\n  suspend: true", 1),
    )
    (found,) = krmfn.validate(shared.encode()).of("delegated-template-unknown")
    assert found.severity == "error"
    assert "AlreadyExists" in found.message
    (found,) = krmfn.validate(suspended.encode()).of("delegated-template-unknown")
    assert found.severity == "warning"
    assert "created suspended" in found.message


def test_jobs_of_1_38_name_their_workload() -> None:
    """Kubernetes 1.38.0-beta.0, job_scheduling_manager.go, getOrCreateDelegatedPodGroup: both annotations, a Workload
    of that name, and a template at its top; else no pods. Siblings no longer collide."""
    rule = "delegated-template-unknown"
    page = read_page(rule).examples["good.yaml"].replace("replicas: 1", "replicas: 2", 1)
    named = page.replace("name: first}}", "name: first, scheduling.k8s.io/workload-name: sim}}", 1)
    told = {}
    for text in (
        named,
        page,
        named.replace("name: sim}}", "name: sin}}"),
        named.replace("template-name: first", "template-name: frist"),
    ):
        found = krmfn.validate(text.encode(), kubernetes="1.38").of(rule)
        told[text] = [result.message for result in found]
    good, half, missing, unknown = told.values()
    assert not good
    assert half == ["the annotation scheduling.k8s.io/workload-name is missing: the API server refuses the Jobs"]
    assert missing == ["no Workload sin in the files checked: the Job controller creates no pods until it is there"]
    assert unknown[0].endswith('(did you mean "first"?): the Job controller creates no pods')
    job = named[named.index("---") :] + JOB_THAT_NAMES
    assert not krmfn.validate(job.encode(), kubernetes="1.38").of(rule)
    (lost,) = krmfn.validate(job.replace("name: sim, n", "name: other, n").encode(), kubernetes="1.38").of(rule)
    assert "no Workload sim" in lost.message
    assert not krmfn.validate(job.encode(), kubernetes="1.37").of(rule)  # there a Job without a parent names nothing


JOB_THAT_NAMES = """\
---
apiVersion: batch/v1
kind: Job
metadata:
  name: alone
  namespace: ml
  annotations: {scheduling.k8s.io/group-template-name: first, scheduling.k8s.io/workload-name: sim}
spec:
  parallelism: 2
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: sim}]}}
"""


def test_a_long_name_of_a_job_is_cut_from_1_38_on() -> None:
    """Kubernetes 1.38.0-beta.0, job_scheduling_manager.go, podGroupTemplateName."""
    bad = read_page("job-name-too-long").examples["bad.yaml"].encode()
    on = {"WorkloadWithJob": True, "GenericWorkload": True}
    assert krmfn.validate(bad, kubernetes="1.37", feature_gates=on).of("job-name-too-long")
    assert not krmfn.validate(bad, kubernetes="1.38", feature_gates=on).of("job-name-too-long")


def test_a_scheduler_that_the_operator_sets_is_told_by_the_rule_about_its_links() -> None:
    page = read_page("operator-replaces-link").examples["good.yaml"].replace("v1alpha2", "v1beta1")
    config = {"metadata": {"name": "gangs"}, "spec": {"kuberay": {"manages": "YuniKorn"}}}
    (found,) = krmfn.validate(page.encode(), config=config).of("operator-replaces-link")
    assert "assigns all Ray pods to yunikorn" in found.message
