"""What krmfn reads without kustomize is what kustomize would print."""

from __future__ import annotations

from pathlib import Path

import pytest

from krmfn.krm import Stream
from krmfn.workspace.world import Rendering
from krmfn.workspace.worlds import find_worlds
from tests.workspace.test_rendering import build, folder
from tests.workspace.test_worlds import run, write

__all__ = ["folder"]

BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: KIND
metadata: {name: binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: own}
- {kind: ServiceAccount, name: default}
- {kind: ServiceAccount, name: foreign}
- {kind: ServiceAccount, name: foreign, namespace: elsewhere}
- {kind: User, name: own}
"""
FILES = {
    "namespace.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: _, labels: {a: b}}\n",
    "account.yaml": "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: own}\n",
    "binding.yaml": BINDING.replace("KIND", "RoleBinding"),
    "cluster.yaml": BINDING.replace("KIND", "ClusterRoleBinding"),
    "moved.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved, namespace: elsewhere}\n",
}
FLUX = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {path: ./app, sourceRef: {kind: GitRepository, name: flux-system}}
"""


@pytest.mark.parametrize("deployed", [{}, {"flux/apps.yaml": FLUX}])
def test_a_namespace_is_set_as_kustomize_sets_it(deployed: dict[str, str], folder: Path) -> None:
    write(folder, {f"app/{name}": text for name, text in FILES.items()} | deployed)
    write(folder, {"app/kustomization.yaml": f"namespace: ml\nresources: [{', '.join(FILES)}]\n"})
    (world,) = (each for each in find_worlds(["."], Rendering()).worlds if each.name == "app")
    assert len(world.sources) == len(FILES)  # it was not rendered
    printed = {item.kind: dict(item.value) for item in Stream.parse(build().data).items}
    for value in printed.values():
        value["metadata"] = {key: each for key, each in value["metadata"].items() if key != "annotations"}
    assert {item.kind: item.value for item in world.items} == printed


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: %s}\nstringData: {password: hunter2}\n"
REFUSED = {
    "listed twice": ("resources: [a.yaml, ./a.yaml]\n", {"a.yaml": SECRET % "one"}),
    "in two files": ("resources: [a.yaml, b.yaml]\n", {"a.yaml": SECRET % "one", "b.yaml": SECRET % "one"}),
    "in one namespace": (
        "namespace: ml\nresources: [a.yaml, b.yaml]\n",
        {"a.yaml": SECRET % "one", "b.yaml": SECRET % "two"},
    ),
    "without a name": ("resources: [a.yaml]\n", {"a.yaml": SECRET.replace("name: a", "generateName: a-") % "one"}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_kustomize_refuses_is_not_listed_either(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kustomization, files = REFUSED[name]
    write(folder, {f"a/{name}": text for name, text in {"kustomization.yaml": kustomization, **files}.items()})
    code, out, _ = run(capsys, "validate", "a")
    assert (code, out.count("\n")) == (0, 1)
    assert out.startswith("a/kustomization.yaml: warning: not checked: it cannot be built by kustomize: ")
    assert ("must build at directory" in out, "hunter2" in out) == (False, False)


def test_the_same_name_in_two_namespaces_is_listed_as_it_is(folder: Path) -> None:
    files = {"a.yaml": SECRET % "one", "b.yaml": SECRET % "two"}
    write(folder, {f"a/{name}": text for name, text in files.items()})
    write(folder, {"a/kustomization.yaml": "resources: [a.yaml, b.yaml]\n"})
    (world,) = find_worlds(["a"], Rendering()).worlds
    assert [item.file.path for item in world.items] == ["a/a.yaml", "a/b.yaml"]
