"""Small charts, and the objects of Argo CD, Flux and kustomize that deploy them, for tests."""

from __future__ import annotations

import pytest

from tests.e2e.tools import PATH, require

JOB = """\
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
      restartPolicy: {{ .Values.restart | default "Never" }}
      containers: [{name: main, image: {{ .Values.image | quote }}, resources: {requests: {cpu: "1", memory: 1Gi}}}]
"""
HOOK = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .Release.Name }}-migrate
  annotations: {"helm.sh/hook": pre-install}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: "example.com/migrate:1"}]}}}
"""
MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-{{ .Release.Namespace }}}
data: {values: {{ .Values | toJson | quote }}, kubernetes: {{ .Capabilities.KubeVersion.Version | quote }}}
"""
TEST = MAP.replace("{name: ", '{annotations: {"helm.sh/hook": test}, name: try-')
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: toys.a.io}\n"
LIBRARY = '{{- define "kit.map" -}}\n' + MAP + "{{- end -}}\n"


@pytest.fixture(autouse=True)
def helm(monkeypatch: pytest.MonkeyPatch) -> str:
    """Helm, on the PATH of the test as well."""
    monkeypatch.setenv("PATH", PATH)
    return require("helm", "./dev setup builds it into the cache")


def make_chart(name: str = "app", more: str = "", **files: str) -> dict[str, str]:
    """The files of a chart; the names of `files` have `__` for a slash, and `.yaml` is added where nothing is."""
    named = {path.replace("__", "/") + ("" if "." in path else ".yaml"): text for path, text in files.items()}
    head = f"apiVersion: v2\nname: {name}\nversion: 0.1.0\n{more}"
    return {"Chart.yaml": head, "values.yaml": "workers: 2\nimage: train:1\n", **named}


def nest(folder: str, files: dict[str, str]) -> dict[str, str]:
    return {f"{folder}/{path}": text for path, text in files.items()}


SUB = make_chart("sub", templates__map=MAP)
CHARTS = {
    "hooks": make_chart(templates__job=JOB, templates__hook=HOOK, templates__test=TEST, crds__toys=CRD),
    "subchart": make_chart(templates__job=JOB, templates__map=MAP) | nest("charts/sub", SUB),
    "library": make_chart(templates__job=JOB, templates__map='{{ include "kit.map" . }}\n')
    | nest("charts/kit", make_chart("kit", "type: library\n") | {"templates/_map.tpl": LIBRARY}),
    "values": make_chart(templates__job=JOB, templates__map=MAP),
}
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: train, namespace: argocd}
spec:
  source:
    repoURL: https://example.com/repo
    path: charts/app
    HELM
  destination: {namespace: ml}
"""
HELM = """\
helm:
      valueFiles: [values-prod.yaml, /more.yaml, missing.yaml]
      ignoreMissingValueFiles: true
      valuesObject: {image: "train:3", deep: {c: 3}}
      parameters: [{name: deep.d, value: "1,2"}, {name: deep.e, value: "7", forceString: true}]
      fileParameters: [{name: text, path: text.txt}]"""
RELEASE = """\
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: train, namespace: ml}
spec:
  chart: {spec: {chart: ./charts/app, sourceRef: {kind: GitRepository, name: flux-system}}}
  SPEC
"""
SPEC = """\
valuesFrom:
  - {kind: ConfigMap, name: given}
  - {kind: ConfigMap, name: given, valuesKey: one, targetPath: deep.e}
  - {kind: ConfigMap, name: gone, optional: true}
  values: {image: "train:3", deep: {c: 3}}"""
GIVEN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: given, namespace: ml}
data: {values.yaml: "workers: 5\\ndeep: {a: 1}", one: "7"}
"""
