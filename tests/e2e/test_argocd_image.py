"""The Argo CD plugin in the image, confined as its sidecar is: user 999, nothing writable but /tmp, no capabilities."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.conftest import Engine
from tests.e2e.tools import ROOT, require_kustomize

pytestmark = pytest.mark.xdist_group("container")

EXAMPLE = ROOT / "examples" / "argocd"


def read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = yaml.safe_load(path.read_text())
    return value


def test_the_plugin_runs_in_the_sidecar(engine: Engine) -> None:
    kustomize = require_kustomize()
    containers = read(EXAMPLE / "plugin" / "repo-server.yaml")["spec"]["template"]["spec"]["containers"]
    (sidecar,) = (each for each in containers if each["name"] == "krmfn")
    variables = [word for each in sidecar["env"] for word in ("--env", f"{each['name']}={each['value']}")]
    generate = read(EXAMPLE / "plugin" / "plugin.yaml")["spec"]["generate"]
    done = engine.run(
        *("--user", str(sidecar["securityContext"]["runAsUser"]), "--read-only", "--cap-drop", "ALL"),
        *("--network", "none", "--tmpfs", "/tmp", "--workdir", "/app"),
        *("--volume", f"{kustomize}:/tools/kustomize:ro", "--volume", f"{EXAMPLE / 'app'}:/app:ro"),
        *variables,
        *("--env", "PARAM_KUBERNETES_VERSION=1.36", "--entrypoint", generate["command"][0], engine.image),
        *(*generate["command"][1:], *generate["args"]),
    )
    assert done.returncode == 0, done.stderr
    objects = list(yaml.safe_load_all(done.stdout))
    assert [each["kind"] for each in objects] == ["RayCluster", "Workload", "PodGroup"]
    assert objects[2]["apiVersion"] == "scheduling.k8s.io/v1alpha2"
