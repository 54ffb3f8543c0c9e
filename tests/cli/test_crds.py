"""`krmfn validate --crds`, and the line that says what was judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.definitions import define
from tests.cli.conftest import Call

DEFINITION = define("{spec: {type: object, required: [a], properties: {a: {type: integer, minimum: 3}}}}")
FOO = "apiVersion: example.com/v1\nkind: Foo\nmetadata: {name: f}\nspec: {a: 1, b: 2}\n"
EVENT = "---\napiVersion: v1\nkind: Event\nmetadata: {name: s}\n"


def test_definitions_of_an_option(folder: Path, krmfn: Call) -> None:
    (folder / "foo.yaml").write_text(FOO)
    (folder / "crds").mkdir()
    (folder / "crds/foo.yaml").write_text(DEFINITION)
    assert krmfn("validate", "-q", "foo.yaml").out == ""
    found = 'foo.yaml:4:17: error: Foo f spec.b: unknown field "spec.b" [unknown-field]\n'
    assert krmfn("validate", "-q", "foo.yaml", "--crds", "crds").out == found
    assert krmfn("validate", "-q", "foo.yaml", "crds", "--stage", "server").out == found
    done = krmfn("validate", "foo.yaml", "--crds", "foo.yaml")
    assert (done.code, done.err) == (2, "krmfn: --crds foo.yaml: no CustomResourceDefinition in it\n")


def test_a_custom_resource_may_have_any_finalizer(folder: Path, krmfn: Call) -> None:
    (folder / "foo.yaml").write_text(
        FOO.replace("name: f}", "name: f, finalizers: [mine]}").replace("a: 1, b: 2", "a: 3")
    )
    (folder / "crd.yaml").write_text(DEFINITION)
    done = krmfn("validate", "-q", "foo.yaml", "--crds", "crd.yaml")
    assert (done.code, done.out) == (0, "")


def test_what_was_judged_is_said(folder: Path, krmfn: Call) -> None:
    (folder / "foo.yaml").write_text(FOO + EVENT)
    said = (
        "stage server: 0 objects fully validated, 1 by their fields alone (v1 Event), 1 not: unknown kinds "
        "(example.com/v1 Foo; --crds adds their CRDs)"
    )
    assert said in krmfn("validate", "foo.yaml").err
    assert said not in krmfn("validate", "-q", "foo.yaml").err
    assert "unknown kinds" not in krmfn("validate", "foo.yaml", "--stage", "gitops").err
    assert "unknown kinds" not in krmfn("validate", "base").err


@pytest.mark.parametrize("number", [4, 5])
def test_four_kinds_that_were_not_judged_are_named(number: int, folder: Path, krmfn: Call) -> None:
    (folder / "foo.yaml").write_text(
        "---\n".join(FOO.replace("kind: Foo", f"kind: Foo{each}") for each in range(number))
    )
    named = ", ".join(f"example.com/v1 Foo{each}" for each in range(4)) + ", …" * (number > 4)
    assert f"{number} not: unknown kinds ({named}; " in krmfn("validate", "foo.yaml").err


def test_expressions_that_are_not_compiled_are_named(folder: Path, krmfn: Call) -> None:
    """A server compiles them, so that an object with one is not judged whole."""
    devices = "devices: {requests: [{name: a, exactly: {deviceClassName: b, selectors: [{cel: {expression: x}}]}}]}"
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\n"
    (folder / "claim.yaml").write_text(f"{head}spec: {{{devices}}}\n")
    done = krmfn("validate", "claim.yaml")
    assert (done.code, "not checked: whether the expression `x` compiles [custom-rule]" in done.out) == (0, True)
