"""References to fields of the pod and to resources of a container, which variables and volumes share.

Source: ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector, validateContainerResourceFieldSelector of
k8s.io/kubernetes/pkg/apis/core/validation; ConvertDownwardAPIFieldLabel of pkg/apis/core/pods.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.formats import check_label_key
from krmfn.server.pods.setting import Object, Setting

_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
#: What the field path of an object reference is turned into, besides those that stay.
_KNOWN = frozenset(
    (
        "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
        "spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
        "status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host",
    )
)  # fmt: skip
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")


def check_variable_field(pod: Setting, selector: Object, path: Path) -> None:
    _check_field(pod, selector, _FIELDS, path)


def check_volume_field(pod: Setting, selector: Object, path: Path) -> None:
    _check_field(pod, selector, _VOLUME_FIELDS, path)


def _check_field(pod: Setting, selector: Object, known: tuple[str, ...], path: Path) -> None:
    """A reference to a field of the pod; `known` are those without a subscript."""
    version, text, at = selector.get("apiVersion", ""), selector.get("fieldPath", ""), (*path, "fieldPath")
    if not text:
        pod.required(at)
        return
    name, found, subscript = text[:-2].partition("['") if text.endswith("']") else (text, "", "")
    wrong = ""
    if version != "v1":
        wrong = f"unsupported pod version: {version}"
    elif found and name:
        if name in ("metadata.annotations", "metadata.labels"):
            key = subscript.lower() if name == "metadata.annotations" else subscript
            pod.refuse(path, key, check_label_key(key))
            return
        wrong = f"field label does not support subscript: {text}"
    elif text not in _KNOWN:
        wrong = f"field label not supported: {text}"
    if wrong:
        pod.invalid(at, text, f"error converting fieldPath: {wrong}")
        return
    text = "spec.nodeName" if text == "spec.host" else text
    if text not in known:
        pod.not_supported(at, quote(text), known)


def check_resource(pod: Setting, selector: Object, path: Path) -> None:
    """A reference to a request or a limit of a container."""
    name = selector.get("resource", "")
    if not name:
        pod.required((*path, "resource"))
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        pod.not_supported((*path, "resource"), quote(name), _RESOURCES)
    check_divisor(pod, selector, path)


def check_divisor(pod: Setting, selector: Object, path: Path) -> None:
    name, divisor = selector.get("resource", ""), selector.get("divisor")
    kinds = {"cpu": "cpu", "memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = kinds.get(name.partition(".")[2]) if name in _RESOURCES else None
    word = "hugepages" if name.startswith(_HUGE) else word
    sizes = ("1m", "1") if word == "cpu" else _SIZES
    if divisor and word and str(divisor) not in sizes:
        listed = " and ".join(sizes) if word == "cpu" else ", ".join(sizes)
        detail = f"only divisor's values {listed} are supported with the {word} resource"
        pod.invalid((*path, "divisor"), name, detail)
