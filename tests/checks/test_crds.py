"""Whether a CRD keeps the link: read from the CRD itself where there is one, else from facts and versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from krmfn.config import read_settings
from krmfn.reports.pages import read_page
from tests.checks.cases import Case, find_all, read_items

ROOT = Path(__file__).parents[2]
RESOURCE = read_page("crd-drops-link").examples["bad.yaml"].partition("\n")[2]
CRD = """
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: rayclusters.ray.io}
spec:
  group: ray.io
  names: {kind: RayCluster, plural: rayclusters}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            properties:
              headGroupSpec: {properties: {template: {properties: {spec: SPEC}}}}
              workerGroupSpecs: {items: {properties: {template: {properties: {spec: SPEC}}}}}
"""
KEEPS = "{properties: {schedulingGroup: {type: object}}}"
DROPS = "{properties: {schedulerName: {type: string}}}"
OPEN = "{x-kubernetes-preserve-unknown-fields: true}"


def severities(text: str, **spec: Any) -> list[str | None]:
    settings = read_settings({"apiVersion": "krmfn.dev/v1alpha1", "kind": "GangScheduling", "spec": spec})
    found = find_all(Case(read_items(text), None, settings))
    return [one.severity for one in found if one.rule == "crd-drops-link"]


@pytest.mark.parametrize(("schema", "expected"), [(KEEPS, []), (OPEN, []), (DROPS, ["error"])])
@pytest.mark.parametrize("version", ["1.6", "1.7"])
def test_the_crd_itself_decides(schema: str, expected: list[str], version: str) -> None:
    assert severities(RESOURCE + CRD.replace("SPEC", schema), kuberay={"version": version}) == expected


def test_facts_decide_before_the_version() -> None:
    assert severities(RESOURCE, cluster={"customResourceDefinitions": {"rayclusters.ray.io": []}}) == ["error"]
    keeps = {"customResourceDefinitions": {"rayclusters.ray.io": ["schedulingGroup"]}}
    assert severities(RESOURCE, cluster=keeps, kuberay={"version": "1.5"}) == []


def test_other_kinds_are_unsure_without_their_crd() -> None:
    text = read_page("jobset-ordered").examples["good.yaml"]
    assert severities(text) == [None]
    keeps = {"customResourceDefinitions": {"jobsets.jobset.x-k8s.io": ["schedulingGroup"]}}
    assert severities(text, cluster=keeps) == []


def test_a_selected_resource_is_left_to_its_source() -> None:
    assert severities(RESOURCE, select="All", kuberay={"version": "1.6"}) == []


def test_the_page_names_all_definitions_that_are_included() -> None:
    projects = json.loads((ROOT / "schemas/crds/projects.json").read_text())
    text = " ".join(read_page("custom-schema").text.split())
    assert [project["name"] for project in projects.values() if project["name"] not in text] == []
