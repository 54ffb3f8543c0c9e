"""The config management plugin: its command is run as Argo CD runs it, in the folder of an Application."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.tools import ROOT, require_kustomize, run

EXAMPLE = ROOT / "examples" / "argocd"
PLUGIN: dict[str, Any] = yaml.safe_load((EXAMPLE / "plugin" / "plugin.yaml").read_text())


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """The folder of the Application."""
    require_kustomize()
    shutil.copytree(EXAMPLE / "app", tmp_path / "repository" / "app")
    return tmp_path / "repository" / "app"


def generate(app: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What Argo CD does; its standard output would be applied when the status is 0."""
    spec = PLUGIN["spec"]["generate"]
    done: subprocess.CompletedProcess[str] = run(
        *spec["command"], *spec["args"], cwd=app, env={"ARGOCD_APP_NAME": "x", **environment}
    )
    return done


def parameters(application: dict[str, Any]) -> dict[str, str]:
    """The variables that Argo CD makes of an Application's parameters (docs, "Using environment variables")."""
    listed = application["spec"]["source"]["plugin"]["parameters"]
    single = {f"PARAM_{each['name'].upper().replace('-', '_')}": each["string"] for each in listed}
    return {"ARGOCD_APP_PARAMETERS": json.dumps(listed), **single}


def test_only_objects_are_printed(app: Path) -> None:
    done = generate(app)
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert [each["kind"] for each in objects] == ["RayCluster", "Workload", "PodGroup"]
    waves = [each["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave") for each in objects]
    assert waves == [None, "-3", "-1"]
    assert {each["metadata"]["namespace"] for each in objects} == {"ml"}


def test_the_parameters_of_the_application_reach_the_commands(app: Path) -> None:
    application = yaml.safe_load((EXAMPLE / "application.yaml").read_text())
    assert application["spec"]["source"]["plugin"]["name"] == PLUGIN["metadata"]["name"]
    announced = {each["name"] for each in PLUGIN["spec"]["parameters"]["static"]}
    assert {each["name"] for each in application["spec"]["source"]["plugin"]["parameters"]} <= announced
    given = parameters(application)
    assert generate(app, **given).returncode == 0
    older = generate(app, **{**given, "PARAM_KUBERNETES_VERSION": "1.36"})
    assert "scheduling.k8s.io/v1alpha2" in older.stdout
    wrong = generate(app, **{**given, "PARAM_KUBERNETES_VERSION": "1.12"})
    assert wrong.returncode != 0
    assert wrong.stdout == ""


def test_a_failure_prints_nothing_to_apply(app: Path) -> None:
    cluster = app / "raycluster.yaml"
    cluster.write_text(cluster.read_text().replace('gang: "true"', 'gang: "yes"'))
    done = generate(app)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "RayCluster ml/demo" in done.stderr


def test_a_broken_kustomization_prints_nothing_to_apply(app: Path) -> None:
    (app / "kustomization.yaml").write_text("resources: [nowhere.yaml]\n")
    done = generate(app)
    assert done.returncode != 0
    assert done.stdout == ""
    assert "nowhere.yaml" in done.stderr


def test_functions_of_the_repository_run_only_with_the_administrators_flags(app: Path) -> None:
    """A kustomization may name any program; the plugin does not run it by itself."""
    canary = app / "canary"
    (app / "function.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Anything\nmetadata:\n  name: x\n  annotations:\n"
        f"    config.kubernetes.io/function: |\n      exec: {{path: touch, args: ['{canary}']}}\n"
    )
    with (app / "kustomization.yaml").open("a") as stream:
        stream.write("transformers: [function.yaml]\n")
    assert generate(app).returncode != 0
    assert not canary.exists()
    generate(app, KUSTOMIZE_BUILD_OPTIONS="--enable-alpha-plugins --enable-exec")
    assert canary.exists()


def test_there_is_no_discovery() -> None:
    """With one, Argo CD refuses an Application that names the plugin and does not match (`cmpSupports` in
    argoproj/argo-cd, `util/app/discovery`), and takes the plugin for Applications that did not ask for it."""
    assert "discover" not in PLUGIN["spec"]


def test_the_sidecar_patch_applies_and_mounts_what_the_plugin_needs(tmp_path: Path) -> None:
    require_kustomize()
    shutil.copytree(EXAMPLE / "plugin", tmp_path / "plugin")
    installation = tmp_path / "argocd"
    installation.mkdir()
    volumes: list[dict[str, Any]] = [{"name": name, "emptyDir": {}} for name in ("var-files", "plugins")]
    server = {"containers": [{"name": "argocd-repo-server", "image": "a"}], "volumes": volumes}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "argocd-repo-server"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"spec": server}},
    }
    (installation / "server.yaml").write_text(yaml.safe_dump(deployment))
    (installation / "kustomization.yaml").write_text(
        "namespace: argocd\nresources: [server.yaml]\ncomponents: [../plugin]\n"
    )
    done = run("kustomize", "build", ".", cwd=installation)
    assert done.returncode == 0, done.stderr
    built = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    pod = built["Deployment"]["spec"]["template"]["spec"]
    sidecar = next(each for each in pod["containers"] if each["name"] == "krmfn")
    assert sidecar["command"] == ["/var/run/argocd/argocd-cmp-server"]
    assert sidecar["securityContext"]["runAsUser"] == 999
    programs = next(each["value"] for each in sidecar["env"] if each["name"] == "PATH").split(":")
    assert f"ENV PATH={programs[1]}:$PATH" in (ROOT / "Dockerfile").read_text()
    mounts = {mount["mountPath"]: mount for mount in sidecar["volumeMounts"]}
    assert mounts["/home/argocd/cmp-server/config/plugin.yaml"]["subPath"] == "plugin.yaml"
    assert {mount["name"] for mount in mounts.values()} <= {volume["name"] for volume in pod["volumes"]}
    config = next(volume for volume in pod["volumes"] if volume["name"] == "krmfn-plugin")["configMap"]["name"]
    assert config == built["ConfigMap"]["metadata"]["name"]
    assert yaml.safe_load(built["ConfigMap"]["data"]["plugin.yaml"]) == PLUGIN
