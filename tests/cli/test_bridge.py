"""`krmfn bridge` through the process: what it prints, and what it cannot."""

from __future__ import annotations

import pytest
import yaml

from tests.cli.conftest import Call


@pytest.mark.slow
def test_prints_both_policies_with_their_bindings(krmfn: Call) -> None:
    done = krmfn("bridge")
    printed = list(yaml.safe_load_all(done.out))
    assert done.code == 0
    assert [value["kind"] for value in printed] == [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ]
    assert {value["apiVersion"] for value in printed} == {"admissionregistration.k8s.io/v1"}
    assert {value["spec"]["failurePolicy"] for value in printed[::2]} == {"Fail"}
    for binding in printed[1::2]:
        terms = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
        assert terms == [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}]


@pytest.mark.slow
def test_selects_namespaces(krmfn: Call) -> None:
    words = "team in (ml,nlp),stage!=test,gangs,!quiet"
    terms = list(yaml.safe_load_all(krmfn("bridge", "--namespace-selector", words).out))[1]["spec"]["matchResources"]
    assert terms["namespaceSelector"]["matchExpressions"] == [
        {"key": "team", "operator": "In", "values": ["ml", "nlp"]},
        {"key": "stage", "operator": "NotIn", "values": ["test"]},
        {"key": "gangs", "operator": "Exists"},
        {"key": "quiet", "operator": "DoesNotExist"},
    ]
    assert "matchResources" not in krmfn("bridge", "--namespace-selector", "").out


@pytest.mark.slow
def test_refuses_what_no_server_would_take(krmfn: Call) -> None:
    done = krmfn("bridge", "--namespace-selector", "size>3")
    assert (done.code, done.out) == (2, "")
    assert "a namespaceSelector cannot compare numbers" in done.err
    done = krmfn("bridge", "--kubernetes", "1.35")
    assert (done.code, done.out) == (2, "")
    assert done.err == "krmfn: Kubernetes 1.35 has no PodGroups: use 1.36\n"
