"""Streams of the kinds that most repositories consist of: a Job, a ConfigMap, a Deployment and a Service in turn.

No two documents are the same. In flow style, metadata, selectors and resources are `{…}`, as people write short ones.
Deterministic; must not know who reads them.
"""

import re
from collections.abc import Iterator

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train-{n}
  namespace: team-{team}
spec:
  completions: {some}
  parallelism: {some}
  completionMode: Indexed
  backoffLimit: 2
  template:
    metadata:
      labels:
        app.kubernetes.io/name: train-{n}
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: example/train:1.2.{n}
        command: [python, train.py, --epochs={some}]
        resources:
          requests:
            cpu: {milli}m
            memory: {some}Gi
          limits:
            memory: {some}Gi
"""
CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{n}
  namespace: team-{team}
data:
  train.yaml: |
    epochs: {some}
    learningRate: 0.001
    seed: {n}
  url: http://server-{n}.team-{team}.svc:8080/
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: server-{n}
  namespace: team-{team}
spec:
  replicas: {some}
  selector:
    matchLabels:
      app.kubernetes.io/name: server-{n}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: server-{n}
    spec:
      containers:
      - name: server
        image: example/server:2.0.{n}
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: SEED
          value: "{n}"
        readinessProbe:
          httpGet:
            path: /ready
            port: http
        resources:
          requests:
            cpu: {milli}m
            memory: {some}Gi
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: server-{n}
  namespace: team-{team}
spec:
  selector:
    app.kubernetes.io/name: server-{n}
  ports:
  - name: http
    port: 80
    targetPort: http
"""
KINDS = (JOB, CONFIG_MAP, DEPLOYMENT, SERVICE)

#: Mappings of texts below these keys are written in one line in flow style.
SHORT = re.compile(
    r"^( *)(metadata|labels|selector|matchLabels|requests|limits|httpGet):\n((?:\1  \w\S*: \S.*\n)+)", re.M
)


def in_flow_style(text: str) -> str:
    """The same document, with its short mappings in one line each, the innermost first."""

    def one_line(found: re.Match[str]) -> str:
        indent, key, entries = found.groups()
        return f"{indent}{key}: {{{', '.join(line.strip() for line in entries.splitlines())}}}\n"

    before = ""
    while before != text:
        before, text = text, SHORT.sub(one_line, text)
    return text


def stream(documents: int, flow: bool) -> Iterator[str]:
    """`documents` documents, all different, one after the other."""
    for n in range(documents):
        text = KINDS[n % 4].format(n=n // 4, team=n % 17, some=1 + n % 61, milli=100 + n % 1900)
        yield ("---\n" if n else "") + (in_flow_style(text) if flow else text)
