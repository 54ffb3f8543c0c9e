"""The container image, run for real: by itself under the hardest conditions, and by kustomize."""

import json
from pathlib import Path

import pytest
import yaml

from krmfn.workspace.simulator import find_simulator
from tests.e2e.conftest import Engine, build_image
from tests.e2e.tools import FUNCTION, JOB, ROOT, build, function, read_objects, require_kustomize, write_kustomization

REQUEST = yaml.safe_dump({"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [JOB]})
KINDS = ["Job", "Workload", "PodGroup"]
ARGO = ROOT / "examples" / "argocd"


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param((), id="as it is"),
        pytest.param(("--user", "12345:54321"), id="any user"),
        pytest.param(("--user", "nobody", "--read-only", "--network", "none", "--cap-drop", "ALL"), id="hardened"),
        pytest.param(("--read-only", "--env", "HOME=/nowhere", "--workdir", "/"), id="no home"),
    ],
)
def test_the_image_is_the_function(engine: Engine, flags: tuple[str, ...]) -> None:
    done = engine.run(*flags, engine.image, stdin=REQUEST)
    assert done.returncode == 0, done.stderr
    assert [item["kind"] for item in yaml.safe_load(done.stdout)["items"]] == KINDS


def test_the_image_is_the_command_line(engine: Engine) -> None:
    done = engine.run(engine.image, "--version")
    assert "krmfn" in done.stdout
    bad = {"apiVersion": "scheduling.k8s.io/v1beta1", "kind": "PodGroup", "metadata": {"name": "a"}, "spec": {}}
    done = engine.run("--read-only", engine.image, "validate", "-", stdin=yaml.safe_dump(bad))
    assert done.returncode == 1, done.stderr
    assert "spec.schedulingPolicy" in done.stdout


def test_kustomize_runs_the_image_like_the_program(engine: Engine, tmp_path: Path) -> None:
    annotation = {"config.kubernetes.io/function": f"container: {{image: {engine.image}}}\n"}
    config = {**FUNCTION, "metadata": {"name": "gangs", "annotations": annotation}}
    files = {"job.yaml": JOB, "gangs.yaml": config}
    boxed = write_kustomization(tmp_path / "a", files, resources=["job.yaml"], transformers=["gangs.yaml"])
    files = {"job.yaml": JOB, "gangs.yaml": function()}
    plain = write_kustomization(tmp_path / "b", files, resources=["job.yaml"], transformers=["gangs.yaml"])
    done = build(boxed, "--enable-alpha-plugins", env=engine.env)
    assert done.returncode == 0, done.stderr
    assert sorted(read_objects(done.stdout)) == ["Job/train", "PodGroup/job-train", "Workload/job-train"]
    assert done.stdout == build(plain).stdout


def test_a_finding_inside_the_container_reaches_the_user(engine: Engine, tmp_path: Path) -> None:
    annotation = {"config.kubernetes.io/function": f"container: {{image: {engine.image}}}\n"}
    config = {**FUNCTION, "metadata": {"name": "gangs", "annotations": annotation}, "spec": {"gang": {"minCount": 9}}}
    files = {"job.yaml": JOB, "gangs.yaml": config}
    folder = write_kustomization(tmp_path / "a", files, resources=["job.yaml"], transformers=["gangs.yaml"])
    done = build(folder, "--enable-alpha-plugins", env=engine.env)
    assert done.returncode == 1
    assert "train" in done.stderr


def test_the_bill_of_materials_names_what_is_inside(engine: Engine) -> None:
    inside = engine.run("--entrypoint", "cat", engine.image, "/usr/share/krmfn/bom.cdx.json")
    bill = json.loads((ROOT / "dist" / "krmfn.cdx.json").read_text())
    assert json.loads(inside.stdout) == bill
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "krmfn")
    packages = {component["name"].lower() for component in bill["components"]}
    assert {"python", "krmfn", "pyyaml", "click"} <= packages
    assert not packages & {"pip", "jsonschema", "ruamel.yaml"}


def test_the_second_image_asks_the_scheduler(engine: Engine) -> None:
    """`./dev image --simulator`: what `fit` says in it is not only what is proved."""
    if not find_simulator("1.37"):
        pytest.skip("no krmfn-simulator-1.37: ./dev simulator")
    build_image(engine.env, "--simulator", *engine.arguments)
    cluster = {"nodes": [{"name": "n", "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"}}]}
    given = {**FUNCTION, "spec": {"kubernetes": {"version": "1.37"}, "cluster": cluster}}
    text = yaml.safe_dump_all([given, JOB])
    for image, verdict in ((engine.image, "open"), (f"{engine.image}-simulator", "runs")):
        done = engine.run("--read-only", "--network", "none", image, "fit", "-o", "json", "-", stdin=text)
        assert [gang["verdict"] for gang in json.loads(done.stdout)["gangs"]] == [verdict], done.stderr


def test_the_plugin_of_argo_cd_runs_in_the_sidecar(engine: Engine) -> None:
    """Confined as the sidecar is: user 999, nothing writable but /tmp, no capabilities."""
    kustomize = require_kustomize()
    containers = yaml.safe_load((ARGO / "plugin" / "repo-server.yaml").read_text())["spec"]["template"]["spec"][
        "containers"
    ]
    (sidecar,) = (each for each in containers if each["name"] == "krmfn")
    variables = [word for each in sidecar["env"] for word in ("--env", f"{each['name']}={each['value']}")]
    generate = yaml.safe_load((ARGO / "plugin" / "plugin.yaml").read_text())["spec"]["generate"]
    done = engine.run(
        *("--user", str(sidecar["securityContext"]["runAsUser"]), "--read-only", "--cap-drop", "ALL"),
        *("--network", "none", "--tmpfs", "/tmp", "--workdir", "/app"),
        *("--volume", f"{kustomize}:/tools/kustomize:ro", "--volume", f"{ARGO / 'app'}:/app:ro"),
        *variables,
        *("--env", "PARAM_KUBERNETES_VERSION=1.36", "--entrypoint", generate["command"][0], engine.image),
        *(*generate["command"][1:], *generate["args"]),
    )
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert [each["kind"] for each in objects] == ["RayCluster", "Workload", "PodGroup"]
    assert objects[2]["apiVersion"] == "scheduling.k8s.io/v1alpha2"
