"""Schemas that are set aside while kustomize builds come back as they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.krm import Stream
from krmfn.workspace.aside import Aside
from tests.workspace.test_rendering import build, folder, write

__all__ = ["folder"]

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.example.com}
spec:
  group: example.com
  names: {kind: Run, plural: runs}
  scope: Namespaced
  versions:
    - name: v1
      schema:
        openAPIV3Schema:
            type: object
            description: |
              A run.

                indented
# a comment further left
            properties:
              openAPIV3Schema:
                type: string
      served: true
      storage: true
    - name: v2
      schema:
        openAPIV3Schema:
          type: object
      served: false
      storage: false
"""
KUSTOMIZATION = "resources: [job.yaml, definition.yaml]\ncommonLabels: {a: b}\n"
PATCH = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: runs.example.com}
spec: {versions: [{name: v1, schema: {openAPIV3Schema: {type: object, description: patched}}}]}
"""


def read_versions(data: bytes) -> list[dict[str, object]]:
    (found,) = (item for item in Stream.parse(data).items if item.kind == "CustomResourceDefinition")
    versions: list[dict[str, object]] = found.value["spec"]["versions"]
    return versions


def test_schemas_come_back_with_any_indentation() -> None:
    aside = Aside("x")
    cut = aside.cut(DEFINITION.encode(), "a.yaml")
    assert (b"properties" in cut, b"served: false" in cut) == (False, True)
    assert aside.restore(cut).decode() == DEFINITION
    moved = cut.replace(b"            description", b"         description")
    assert read_versions(aside.restore(moved)) == read_versions(DEFINITION.encode())


@pytest.mark.parametrize(
    "text",
    [
        DEFINITION.replace("type: string", "type: &text string").replace("type: object", "type: *text"),
        DEFINITION.replace("\n", "\r\n"),
        DEFINITION.replace("kind: CustomResourceDefinition", "kind: ConfigMap"),
        "kind: CustomResourceDefinition\na:\n  openAPIV3Schema: {type: object}\n",
        "kind: CustomResourceDefinition\na:\n  openAPIV3Schema:\n  b: c\n",
    ],
)
def test_other_texts_stay(text: str) -> None:
    assert Aside("x").cut(text.encode(), "a.yaml") == text.encode()


@pytest.mark.parametrize("prose", ["It is *not* A & B.", "&text is a pointer, as in C"])
def test_definitions_among_other_objects_are_cut(prose: str) -> None:
    aside = Aside("x")
    text = ("kind: ConfigMap\n---\n" + DEFINITION.replace("A run.", prose) + "---\nkind: Secret\n").encode()
    cut = aside.cut(text, "all.yaml")
    assert (b"properties" in cut, b"kind: Secret" in cut) == (False, True)
    assert aside.restore(cut) == text


def test_kustomize_gives_the_schemas_as_they_were(folder: Path) -> None:
    write(folder, {"kustomization.yaml": KUSTOMIZATION, "definition.yaml": DEFINITION})
    rendered = build()
    assert b"properties" not in rendered.data
    data = rendered.aside.restore(rendered.data)
    assert read_versions(data) == read_versions(DEFINITION.encode())
    assert b"further left" in data  # kustomize itself moves comments, or drops them
    (item,) = (item for item in Stream.parse(rendered.data).items if item.kind == "CustomResourceDefinition")
    rendered.aside.fill(item)
    assert item.value["spec"]["versions"] == read_versions(data)


ESCAPED = """\
- op: replace
  path: "/spec/versions/0/schema/openAPIV3\\x53chema/description"
  value: patched
"""


@pytest.mark.parametrize(
    ("field", "files"),
    [
        ("patches: [{path: patch.yaml}]\n", {"patch.yaml": PATCH}),
        (
            "patches: [{path: p.yaml, target: {kind: CustomResourceDefinition}}]\n",
            {"p.yaml": ESCAPED},
        ),
        ("patches:\n- patch: |\n" + "".join(f"    {line}\n" for line in PATCH.splitlines()), {}),
        (
            "patches:\n- target: {kind: CustomResourceDefinition}\n  patch: |\n    - op: replace\n"
            "      path: /spec/versions/0/schema/openAPIV3Schema/description\n      value: patched\n",
            {},
        ),
    ],
)
def test_a_patch_of_a_schema_finds_it(field: str, files: dict[str, str], folder: Path) -> None:
    write(folder, {"kustomization.yaml": KUSTOMIZATION + field, "definition.yaml": DEFINITION, **files})
    found = str(read_versions(build().data)).replace("'", '"')
    assert '"description": "patched"' in found
    assert '"properties"' in found or "op: replace" not in field + str(files)


PART = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches: [{path: patch.yaml}]\n"
#: Kustomizations, and how many schemas stay aside.
REACHES = {
    "resources: [../base]\npatches: [{path: patch.yaml}]\n": 0,
    "resources: [../base]\ncomponents: [../part]\n": 0,
    "resources: [../base, ../other]\n": 2,
    "resources: [../base]\nconfigMapGenerator: [{name: a, files: [patch.yaml]}]\n": 2,
}


@pytest.mark.parametrize(("text", "marks"), REACHES.items())
def test_only_what_a_patch_can_reach_is_whole(text: str, marks: int, folder: Path) -> None:
    write(folder, {"../base/kustomization.yaml": "resources: [d.yaml]\n", "../base/d.yaml": DEFINITION})
    other = {"kustomization.yaml": "resources: [d.yaml]\npatches: [{path: patch.yaml}]\n", "d.yaml": DEFINITION}
    other |= {"patch.yaml": PATCH}
    write(folder, {f"../other/{name}": each.replace("runs.", "others.") for name, each in other.items()})
    write(folder, {"../part/kustomization.yaml": PART, "../part/patch.yaml": PATCH})
    write(folder, {"kustomization.yaml": text, "patch.yaml": PATCH})
    data = build().data
    assert (data.count(b"krmfn-schema"), data.count(b"patched")) == (marks, 1)


def test_a_file_that_is_also_the_source_of_a_configmap_is_whole(folder: Path) -> None:
    generated = "configMapGenerator: [{name: a, files: [definition.yaml]}]\n"
    write(folder, {"kustomization.yaml": KUSTOMIZATION + generated, "definition.yaml": DEFINITION})
    data = build().data
    assert b"krmfn-schema" not in data
    assert data.count(b"type: string") == 2
