"""Ids of rules that went stay reserved, and whoever names one is told what became of it."""

from __future__ import annotations

import pytest

import krmfn
from krmfn.catalogue import RULES
from krmfn.cli.options import UsageError
from krmfn.cli.rules import run
from krmfn.config import ConfigError
from krmfn.model.rules import tell_retired
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


def test_a_scheduler_that_the_operator_sets_is_told_by_the_rule_about_its_links() -> None:
    page = read_page("operator-replaces-link").examples["good.yaml"].replace("v1alpha2", "v1beta1")
    config = {"metadata": {"name": "gangs"}, "spec": {"kuberay": {"manages": "YuniKorn"}}}
    (found,) = krmfn.validate(page.encode(), config=config).of("operator-replaces-link")
    assert "assigns all Ray pods to yunikorn" in found.message
