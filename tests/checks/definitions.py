"""Definitions of custom resources: one made up, and what is in those that come with krmfn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.definitions import list_projects, read_definitions


def define(properties: str) -> str:
    """The CustomResourceDefinition of example.com/v1 Foo, with the schemas of its fields in flow style."""
    return f"""\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: foos.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Foo, plural: foos}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {{type: object, properties: {properties}}}
"""


def visit_shipped() -> Iterator[dict[str, Any]]:
    """Every mapping in every version of the definitions that come with krmfn."""
    waiting: list[Any] = [
        list(read_definitions(project, version))
        for project, row in list_projects().items()
        for version in row["versions"]
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
