"""The texts that are measured: ResourceLists as kustomize 5.8.1 writes them, and streams of scheduling objects.

Deterministic; must not know who reads them.
"""

from collections.abc import Iterator

HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"
TAIL = """functionConfig:
  apiVersion: krmfn.dev/v1alpha1
  kind: GangScheduling
  metadata:
    annotations:
      config.kubernetes.io/function: |
        exec: {path: krmfn}
      config.kubernetes.io/local-config: 'true'
    name: gangs
  spec:
    kubernetes:
      featureGates:
        GenericWorkload: true
      version: '1.37'
"""
EMPTY = HEAD.replace("items:", "items: []")

METADATA = """  metadata:
    annotations:
{opt_in}      config.kubernetes.io/index: '{n}'
      internal.config.kubernetes.io/annotations-migration-resource-id: '{n}'
      internal.config.kubernetes.io/index: '{n}'
      internal.config.kubernetes.io/previousKinds: {kind}
      internal.config.kubernetes.io/previousNames: {name}
      internal.config.kubernetes.io/previousNamespaces: default
      kustomize.config.k8s.io/id: |
        group: {group}
        kind: {kind}
        name: {name}
        namespace: ml
        version: v1
    labels:
      app.kubernetes.io/name: {name}
      app.kubernetes.io/part-of: training
    name: {name}
    namespace: ml
"""

CONFIG_MAP = """- apiVersion: v1
  data:
    train.yaml: |
      - apiVersion: not/an-item
        kind: RayCluster
      epochs: 3
      learningRate: 0.001
    url: http://server-{n}.ml.svc:8080/
  kind: ConfigMap
"""

SERVICE = """- apiVersion: v1
  kind: Service
{metadata}  spec:
    ports:
    - name: http
      port: 8080
      targetPort: http
    selector:
      app.kubernetes.io/name: server-{n}
"""

DEPLOYMENT = """- apiVersion: apps/v1
  kind: Deployment
{metadata}  spec:
    replicas: 3
    selector:
      matchLabels:
        app.kubernetes.io/name: server-{n}
    template:
      metadata:
        labels:
          app.kubernetes.io/name: server-{n}
      spec:
        containers:
        - args:
          - --port=8080
          - --verbose
          env:
          - name: MODE
            value: 'on'
          - name: NODE
            valueFrom:
              fieldRef:
                fieldPath: spec.nodeName
          image: example/server:1.2.3
          name: server
          ports:
          - containerPort: 8080
            name: http
          resources:
            limits:
              memory: 1Gi
            requests:
              cpu: 500m
              memory: 1Gi
"""

RAY_CONTAINER = """          containers:
          - env:
            - name: RUN
              value: run-{n}
            image: rayproject/ray:2.52.{n}
            name: {name}
            resources:
              limits:
                cpu: '{cpu}'
                memory: {memory}Gi
              requests:
                cpu: '{cpu}'
                memory: {memory}Gi
            volumeMounts:
            - mountPath: /tmp/ray
              name: logs
          volumes:
          - emptyDir: {{}}
            name: logs
"""

RAY_CLUSTER = """- apiVersion: ray.io/v1
  kind: RayCluster
{metadata}  spec:
    headGroupSpec:
      rayStartParams:
        dashboard-host: 0.0.0.0
      template:
        spec:
{head}    rayVersion: 2.52.0
    workerGroupSpecs:
    - groupName: trainers
      maxReplicas: {most}
      minReplicas: 1
      numOfHosts: 2
      rayStartParams: {{}}
      replicas: {replicas}
      template:
        spec:
{worker}    - groupName: loaders
      maxReplicas: 4
      minReplicas: 1
      rayStartParams: {{}}
      replicas: 2
      template:
        spec:
{worker}"""

SCHEDULING = """apiVersion: scheduling.k8s.io/v1beta1
kind: Workload
metadata:
  name: train-{n}
  namespace: ml
spec:
  controllerRef:
    apiGroup: batch
    kind: Job
    name: train-{n}
  podGroupTemplates:
  - name: workers
    schedulingPolicy:
      gang:
        minCount: 4
---
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata:
  name: train-{n}
  namespace: ml
spec:
  workloadRef:
    workloadName: train-{n}
    templateName: workers
  schedulingPolicy:
    gang:
      minCount: 4
---
apiVersion: batch/v1
kind: Job
metadata:
  name: train-{n}
  namespace: ml
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 2
  template:
    metadata:
      labels:
        app.kubernetes.io/name: train
    spec:
      schedulingGroup:
        podGroupName: train-{n}
      restartPolicy: Never
      containers:
      - name: train
        image: example/train:1.2.3
        command: [python, train.py, --epochs=3]
        resources:
          requests: {{cpu: 500m, memory: 1Gi}}
"""

#: The Job of these, which asks for a gang and has none yet.
OPTED_IN = (
    SCHEDULING.rpartition("---\n")[2]
    .replace("  namespace: ml\n", '  namespace: ml\n  annotations:\n    krmfn.dev/gang: "true"\n')
    .replace("      schedulingGroup:\n        podGroupName: train-{n}\n", "")
    .replace("train:1.2.3", "train:1.2.{n}")
)


def metadata(kind: str, group: str, name: str, n: int, opt_in: str = "") -> str:
    return METADATA.format(kind=kind, group=group, name=name, n=n, opt_in=opt_in)


def other_item(n: int) -> str:
    """A Deployment, a Service or a ConfigMap whose text looks like an item: nothing that concerns the function."""
    match n % 3:
        case 0:
            return DEPLOYMENT.format(n=n, metadata=metadata("Deployment", "apps", f"server-{n}", n))
        case 1:
            return SERVICE.format(n=n, metadata=metadata("Service", "''", f"server-{n}", n))
        case _:
            return CONFIG_MAP.format(n=n) + metadata("ConfigMap", "''", f"server-{n}", n)


def ray_cluster(n: int) -> str:
    """A RayCluster: the head, trainers of two hosts each, two loaders. No two have the same spec, as in life."""
    replicas = 1 + n % 97
    return RAY_CLUSTER.format(
        metadata=metadata("RayCluster", "ray.io", f"cluster-{n}", n, "      krmfn.dev/gang: 'true'\n"),
        head=RAY_CONTAINER.format(name="ray-head", cpu=4, memory=16, n=n),
        worker=RAY_CONTAINER.format(name="ray-worker", cpu=1 + n % 61, memory=1 + n % 89, n=n),
        replicas=replicas,
        most=2 * replicas,
    )


def resource_list(items: int, clusters: int) -> Iterator[str]:
    """`items` items, of which `clusters` are RayClusters, evenly spread; in pieces, so that nobody has to hold it."""
    every = items // clusters
    yield HEAD
    for n in range(items):
        yield ray_cluster(n) if n % every == 0 else other_item(n)
    yield TAIL


def scheduling_stream(documents: int) -> Iterator[str]:
    """A multi-document stream of Workloads, PodGroups and Jobs, three by three; `documents` is rounded up to threes."""
    for n in range((documents + 2) // 3):
        yield ("---\n" if n else "") + SCHEDULING.format(n=n)


def opted_in_jobs(count: int) -> Iterator[str]:
    """A multi-document stream of Jobs that ask for a gang and have none yet, all different."""
    for n in range(count):
        yield ("---\n" if n else "") + OPTED_IN.format(n=n)
