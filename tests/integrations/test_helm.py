"""The post-renderer, run by Helm 4 itself on charts with hooks and subcharts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.conftest import ROOT
from tests.e2e.tools import require, run

PLUGIN = ROOT / "integrations" / "helm"
JOB = """\
# why it is there
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-train
  annotations: {krmfn.dev/gang: "true"}
spec:
  completionMode: Indexed
  completions: {{ .Values.workers }}
  parallelism: {{ .Values.workers }}
  template:
    spec:
      restartPolicy: OnFailure
      containers: [{name: main, image: "example.com/train:1", resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations: {"helm.sh/hook": pre-install, "helm.sh/hook-weight": "-1"}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/migrate:1"}]}}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-settings}\ndata: {a: 'yes'} # kept\n"
CHARTS = {
    "plain": {"templates/job.yaml": JOB, "templates/map.yaml": MAP},
    "with a hook": {"templates/job.yaml": JOB, "templates/hook.yaml": HOOK},
    "with a subchart": {
        "templates/map.yaml": MAP,
        "charts/trainer/Chart.yaml": "apiVersion: v2\nname: trainer\nversion: 0.1.0\n",
        "charts/trainer/values.yaml": "workers: 4\n",
        "charts/trainer/templates/job.yaml": JOB,
    },
}


@pytest.fixture
def helm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Helm with the plugin, and nothing of the machine's."""
    program = require("helm", "./dev setup builds it into the cache")
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{name}_HOME", str(tmp_path / name.lower()))
    done = run(program, "plugin", "install", str(PLUGIN))
    assert done.returncode == 0, done.stderr
    return program


def write_chart(folder: Path, files: dict[str, str], workers: int = 4) -> Path:
    head = {"Chart.yaml": "apiVersion: v2\nname: app\nversion: 0.1.0\n", "values.yaml": f"workers: {workers}\n"}
    for name, text in {**head, **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def render(helm: str, chart: Path, *words: str) -> Any:
    args = [each for word in words for each in ("--post-renderer-args", word)]
    return run(helm, "template", "r", str(chart), "--post-renderer", "krmfn", *args, cwd=chart)


@pytest.mark.parametrize("name", CHARTS)
def test_what_a_chart_renders_gets_its_group(name: str, helm: str, tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "chart", CHARTS[name])
    plain = run(helm, "template", "r", str(chart))
    done = render(helm, chart, "--validate", "--kubernetes", "1.37")
    assert done.returncode == 0, done.stderr
    before = [each for each in yaml.safe_load_all(plain.stdout) if each]
    objects = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(done.stdout) if each}
    assert set(objects) == {(each["kind"], each["metadata"]["name"]) for each in before} | {
        ("Workload", "job-r-train"),
        ("PodGroup", "job-r-train"),
    }
    group = objects["PodGroup", "job-r-train"]
    assert group["spec"]["schedulingPolicy"] == {"gang": {"minCount": 4}}
    pods = objects["Job", "r-train"]["spec"]["template"]["spec"]
    assert pods["schedulingGroup"] == {"podGroupName": "job-r-train"}
    if ("Job", "r-migrate") in objects:
        assert objects["Job", "r-migrate"]["metadata"]["annotations"]["helm.sh/hook"] == "pre-install"
        assert "schedulingGroup" not in objects["Job", "r-migrate"]["spec"]["template"]["spec"]


def test_errors_stop_it_only_if_they_are_asked_about(helm: str, tmp_path: Path) -> None:
    wrong = JOB.replace("restartPolicy: OnFailure", "restartPolicy: Always")
    chart = write_chart(tmp_path / "chart", {"templates/job.yaml": wrong})
    assert render(helm, chart, "--kubernetes", "1.37").returncode == 0
    stopped = render(helm, chart, "--validate", "--kubernetes", "1.37")
    assert stopped.returncode == 1
    assert "restartPolicy" in stopped.stderr


def test_options_go_to_krmfn(helm: str, tmp_path: Path) -> None:
    chart = write_chart(tmp_path / "chart", CHARTS["plain"])
    assert "scheduling.k8s.io/v1alpha2" in render(helm, chart, "--kubernetes", "1.36").stdout
    refused = render(helm, chart, "--kubernetes", "9.9")
    assert refused.returncode == 1
    assert "9.9" in refused.stderr


def test_the_script_alone_is_a_filter(tmp_path: Path) -> None:
    script = str(PLUGIN / "post-render.sh")
    odd = "apiVersion: 1\nkind: Odd # kept\n"
    done = run(script, stdin=odd, env={"TMPDIR": str(tmp_path)})
    assert (done.returncode, done.stdout) == (0, odd)
    assert os.listdir(tmp_path) == []
