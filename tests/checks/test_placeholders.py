"""Objects with values that somebody fills in later: nothing is said about those, and the rest is judged."""

from __future__ import annotations

import pytest

from krmfn import validate

MANIFESTS = """\
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: train, namespace: ml}
spec:
  schedulingPolicy: {gang: {minCount: 4}}
  priorityClassName: PLACE
---
apiVersion: batch/v1
kind: Job
metadata: {name: PLACE, namespace: ml}
spec:
  parallelism: 4
  completions: 4
  backoffLimit: 0
  template:
    metadata: {labels: {a: PLACE}}
    spec:
      priorityClassName: PLACE
      schedulingGroup: {podGroupName: PLACE}
      restartPolicy: Never
      containers: [{name: PLACE, image: PLACE, resources: {limits: {cpu: PLACE}}}]
"""


@pytest.mark.parametrize("text", ["${NAME}", "$(NAME)", "{{ .Name }}", "<your-name>", "@NAME@", "__NAME__", "YOUR-A/b"])
def test_nothing_is_said_about_a_placeholder(text: str) -> None:
    found = validate(MANIFESTS.replace("PLACE", f'"{text}"').encode())
    assert [str(result) for result in found.errors] == []
    assert found.of("value-unknown")
    assert not found.of("format-long-name", "format-label-key", "metadata-label")


@pytest.mark.parametrize("spelled", ["*a", r'"\u003cyour-name\u003e"'])
def test_a_placeholder_can_be_an_alias_or_have_escapes(spelled: str) -> None:
    first = "apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: &a <your-name>}"
    spec = f"priorityClassName: {spelled}, containers: [{{name: a, image: a}}]"
    pod = f"apiVersion: v1, kind: Pod, metadata: {{name: b}}, spec: {{{spec}}}"
    found = validate(f"{{apiVersion: v1, kind: List, items: [{{{first}}}, {{{pod}}}]}}".encode())
    assert not found.errors
    assert found.of("value-unknown")


def test_a_name_in_braces_is_a_placeholder_where_no_object_is_expected() -> None:
    """It is a mapping in YAML, of a key without a value."""
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec:\n"
    claim += "  resources: {requests: {storage: 1Gi}}\n  accessModes: [ReadWriteOnce]\n  storageClassName: "
    assert not validate(f"{claim}{{class-name}}\n".encode()).errors
    assert validate(f"{claim}{{class-name: a}}\n".encode()).errors
    assert validate(claim.replace("[ReadWriteOnce]", "{modes}").encode() + b"a\n").errors


@pytest.mark.parametrize("text", ["{workers}", "WORKERS", "'${WORKERS}'", "<WORKERS>"])
def test_a_placeholder_may_be_the_number_of_pods(text: str) -> None:
    job = MANIFESTS.partition("---\n")[2].replace("PLACE", "a").replace("parallelism: 4", f"parallelism: {text}")
    job = job.replace("cpu: a", "cpu: 1").replace(
        "name: a, name", "name: a, annotations: {krmfn.dev/gang: 'true'}, name"
    )
    template = "rayStartParams: {}, template: {spec: {containers: [{name: a, image: a}]}}"
    cluster = f"""\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: a}}
spec:
  headGroupSpec: {{{template}}}
  workerGroupSpecs: [{{groupName: a, {template}, replicas: {text}, minReplicas: {text}}}]
"""
    for manifest in (job, cluster):
        found = validate(manifest.encode())
        assert not [*found.of("count-type"), *found.of("unknown-field"), *found.of("wrong-type")]
        assert found.of("value-unknown")


def test_a_key_that_is_a_placeholder_is_told() -> None:
    found = validate(b'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {<<domain>>: ""}\n')
    assert [result.message for result in found] == ["not checked: a part of it is a placeholder"]


def test_the_rest_is_judged() -> None:
    text = MANIFESTS.replace("PLACE", '"${NAME}"').replace("restartPolicy: Never", "restartPolicy: Sometimes")
    assert {result.path for result in validate(text.encode()).errors} == {"spec.template.spec.restartPolicy"}


#: Kinds without rules here, and kinds of other projects: their shape is judged.
OTHERS = """\
apiVersion: v1
kind: Service
metadata: {name: web, namespace: ml, labels: {a: "job-PLACE"}}
spec: {ports: [{port: "PLACE"}]}
---
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: ml}
data: {token: "PLACE"}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: ml}
automountServiceAccountToken: "PLACE"
---
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: demo, namespace: ml, labels: {a: "PLACE"}}
spec:
  headGroupSpec:
    template:
      spec: {containers: [{name: ray, image: ray, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
  workerGroupSpecs:
  - groupName: workers
    replicas: "PLACE"
    template:
      spec: {containers: [{name: ray, image: ray, resources: {requests: {cpu: "1", memory: 1Gi}}}]}
"""


@pytest.mark.parametrize(
    "text",
    [
        "${NAME}",
        "$NAME",
        "<path:secret/data/web#key | base64encode>",
        "YOUR_VALUE",
        "...the key...",
        "web.A.B.C.D.nip.io",
    ],
)
def test_kinds_without_rules_can_have_placeholders(text: str) -> None:
    found = validate(OTHERS.replace("PLACE", text).encode())
    assert [str(result) for result in found.errors] == []
    kinds = {result.ref.kind for result in found.of("value-unknown") if result.ref}
    assert kinds == {"Service", "Secret", "ServiceAccount", "RayCluster"}


def test_the_rest_of_kinds_without_rules_is_judged() -> None:
    text = OTHERS.replace("PLACE", "${NAME}").replace("{ports:", "{clusterIp: None, type: 5, ports:")
    text = text.replace("  workerGroupSpecs:", "  rayVersion: 2\n  workerGroupSpecs:")
    found = {result.path for result in validate(text.encode()).errors}
    assert found == {"spec.type", "spec.rayVersion", "spec.clusterIp"}


def test_what_sops_encrypts_is_unknown() -> None:
    text = "ENC[AES256_GCM,data:AA==,iv:AA==,tag:AA==,type:str]"
    head = "apiVersion: v1\nkind: Secret\nmetadata: {name: token, namespace: ml}\n"
    keys = "".join(f"  key{number}: {text}\n" for number in range(60))
    found = validate(f'{head}data:\n{keys}sops: {{mac: "{text}", age: [], version: 3.9.0}}\n'.encode())
    assert [(result.severity, result.path) for result in found] == [("info", "data.key0")], "the same in every run"
    assert {result.path for result in validate(f"{head}data:\n{keys}sops: true\n".encode()).errors} == {"sops"}


def test_what_is_left_of_an_object_without_its_placeholders_is_not_missed() -> None:
    text = """\
apiVersion: v1
kind: PersistentVolume
metadata: {name: PV_NAME}
spec: {capacity: {storage: DISK_SIZE}, accessModes: [ReadWriteMany], nfs: {path: /, server: NFS_SERVER}}
"""
    assert not validate(text.encode()).errors
    assert validate(text.replace("capacity: {storage: DISK_SIZE}, ", "").encode()).errors


def test_words_in_capitals_are_placeholders_only_where_values_are() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: ml}
spec:
  containers:
  - {name: web, image: web, securityContext: {capabilities: {add: [CAP_SYS_ADMIN]}, allowPrivilegeEscalation: false}}
"""
    (found,) = validate(text.encode(), stages=["server"])
    assert found.path == "spec.containers[0].securityContext"


def test_a_word_in_capitals_is_a_placeholder_where_no_text_is_meant() -> None:
    """`sed s/PORT/8080/`: nobody has a port that is called so. In an argument it is a text as any other."""
    text = """\
apiVersion: v1
kind: Service
metadata: {name: web-V_ZONE-ro, namespace: ml}
spec: {ports: [{port: PORT, protocol: SCTP, targetPort: PORT}], sessionAffinity: NEVER}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, namespace: ml}
spec: {accessModes: ["${MODES:-ReadWriteOnce}"], resources: {requests: {storage: SIZE}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: web}
webhooks:
- name: a.example.com
  clientConfig: {url: "https://a.example.com", caBundle: CRT}
  admissionReviewVersions: [v1]
  sideEffects: None
"""
    found = validate(text.encode())
    assert {result.path for result in found.errors} == {"spec.sessionAffinity"}
    assert len(found.of("value-unknown")) == 3
    errors = validate(text.replace("PORT", "port").replace("SIZE", "size").encode()).errors
    assert {result.path for result in errors} == {
        "spec.ports[0].port",
        "spec.sessionAffinity",
        "spec.resources.requests.storage",
    }


@pytest.mark.parametrize("place", ["nfs: {server: a, path: < your directory >}", "fc: {targetWWNs: [a], lun: <LUN>}"])
def test_a_volume_with_a_placeholder_can_be_mounted(place: str) -> None:
    text = f"""\
apiVersion: v1
kind: Pod
metadata: {{name: wipe-HOSTNAME, namespace: ml}}
spec:
  containers: [{{name: a, image: a, volumeMounts: [{{name: data, mountPath: /data}}]}}]
  volumes: [{{name: data, {place}}}]
"""
    assert not validate(text.encode()).errors
    wrong = validate(text.replace("[{name: data, mount", "[{name: date, mount").encode())
    assert [result.tags["rule"] for result in wrong.errors] == ["pod-mounts"]


@pytest.mark.parametrize(("text", "wrong"), [("${TYPE:=RollingUpdate}", False), ("Rolling", True)])
def test_a_strategy_can_be_a_placeholder(text: str, wrong: bool) -> None:
    """The server names the whole strategy."""
    spec = "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, "
    spec += "spec: {containers: [{name: a, image: a}]}}"
    head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: "
    found = validate(f"{head}{spec}, strategy: {{type: '{text}'}}}}\n".encode())
    assert (bool(found.errors), bool(found.of("value-unknown"))) == (wrong, not wrong)
