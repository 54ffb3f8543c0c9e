"""The rules of environment variables, and of references to fields of the pod, which volumes share.

Source: ValidateEnv, ValidateEnvFrom, validateObjectFieldSelector, validateContainerResourceFieldSelector of
k8s.io/kubernetes/pkg/apis/core/validation; ConvertDownwardAPIFieldLabel of pkg/apis/core/pods.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.amounts import write_amount
from krmfn.server.cases import check_part
from krmfn.server.formats import check_environment_name, check_label_key, check_long_name
from krmfn.server.pods.setting import Object, Setting

_RULE = "pod-env"
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
VOLUME_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
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


def check_environment(container: Object, at: Path, pod: Setting) -> None:
    """`env` and `envFrom` of a container."""
    for index, variable in enumerate(container.get("env", ())):
        where: Path = (*at, "env", index)
        pod.check_text(variable, "name", where, _RULE, check_environment_name, needed=True)
        if "valueFrom" in variable:
            _check_source(variable, (*where, "valueFrom"), pod)
    where = (*at, "envFrom")
    for index, source in enumerate(container.get("envFrom", ())):
        pod.check_text(source, "prefix", (*where, index), _RULE, check_environment_name)
        given = [name for name in ("configMapRef", "secretRef") if name in source]
        for name in given:
            _check_object_name(source[name].get("name", ""), (*where, index, name, "name"), pod)
        if not given:
            pod.invalid(where, _RULE, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            pod.invalid(where, _RULE, "", "may not have more than one field specified at a time")


def _check_object_name(name: str, path: Path, pod: Setting) -> None:
    """The name of a whole ConfigMap or Secret."""
    if not name:
        pod.required(path, _RULE)
        return
    # The server takes the name for a prefix here, which can end in a dash.
    whole = name[:-2] + "a" if name.endswith("-") and len(name) > 1 else name
    pod.refuse(path, _RULE, name, check_long_name(whole))


def _check_source(variable: Object, path: Path, pod: Setting) -> None:
    source = variable["valueFrom"]
    if "fieldRef" in source:
        check_field(source["fieldRef"], _FIELDS, (*path, "fieldRef"), _RULE, pod)
    if "resourceFieldRef" in source:
        check_resource_field(source["resourceFieldRef"], (*path, "resourceFieldRef"), _RULE, pod)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in source:
            pod.out += check_part(pod, "keyRef", source[name], (*path, name), _RULE)
    if "fileKeyRef" in source:
        pod.out += check_part(pod, "fileKeyRef", source["fileKeyRef"], (*path, "fileKeyRef"), _RULE)
    if not source:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
        if pod.is_on("EnvFiles"):
            names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        pod.invalid(path, _RULE, "", f"must specify one of: {names}")
    elif variable.get("value"):
        pod.invalid(path, _RULE, "", "may not be specified when `value` is not empty")
    elif len(source) > 1:
        pod.invalid(path, _RULE, "", "may not have more than one field specified at a time")


def check_field(selector: Object, known: tuple[str, ...], path: Path, rule: str, pod: Setting) -> None:
    """A reference to a field of the pod; `known` are those without a subscript."""
    version, text = selector.get("apiVersion", ""), selector.get("fieldPath", "")
    if not text:
        pod.required((*path, "fieldPath"), rule)
        return
    name, subscript = _split(text)
    if version != "v1":
        pod.invalid((*path, "fieldPath"), rule, text, f"error converting fieldPath: unsupported pod version: {version}")
    elif subscript is not None:
        if name not in ("metadata.annotations", "metadata.labels"):
            detail = f"error converting fieldPath: field label does not support subscript: {text}"
            pod.invalid((*path, "fieldPath"), rule, text, detail)
            return
        key = subscript.lower() if name == "metadata.annotations" else subscript
        pod.refuse(path, rule, key, check_label_key(key))
    elif text not in _KNOWN:
        pod.invalid((*path, "fieldPath"), rule, text, f"error converting fieldPath: field label not supported: {text}")
    else:
        text = "spec.nodeName" if text == "spec.host" else text
        if text not in known:
            pod.not_supported((*path, "fieldPath"), rule, quote(text), known)


def _split(text: str) -> tuple[str, str | None]:
    """`metadata.labels['a']` as its two parts; the second is None where there is none."""
    if text.endswith("']"):
        name, found, subscript = text[:-2].partition("['")
        if found and name:
            return name, subscript
    return text, None


def check_resource_field(selector: Object, path: Path, rule: str, pod: Setting, volume: bool = False) -> None:
    """A reference to a request or a limit of a container; from a `volume` the container is named."""
    name = selector.get("resource", "")
    if volume and not selector.get("containerName"):
        pod.required((*path, "containerName"), rule)
    elif not name:
        pod.required((*path, "resource"), rule)
    elif name not in _RESOURCES and not name.startswith(_HUGE):
        pod.not_supported((*path, "resource"), rule, quote(name), _RESOURCES)
    divisor = selector.get("divisor")
    if not divisor:
        return
    text = write_amount(divisor)
    kind = name.partition(".")[2]
    if name in ("limits.cpu", "requests.cpu"):
        if text not in ("1m", "1"):
            detail = "only divisor's values 1m and 1 are supported with the cpu resource"
            pod.invalid((*path, "divisor"), rule, name, detail)
        return
    word = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}.get(kind)
    if name.startswith(_HUGE):
        word = "hugepages"
    if word and (name in _RESOURCES or word == "hugepages") and text not in _SIZES:
        detail = f"only divisor's values {', '.join(_SIZES)} are supported with the {word} resource"
        pod.invalid((*path, "divisor"), rule, name, detail)
