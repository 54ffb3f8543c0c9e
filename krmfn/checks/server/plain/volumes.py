"""What a PersistentVolume is made of.

Source: ValidatePersistentVolumeSpec of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.checks.server.formats import check_long_name, check_short_name
from krmfn.checks.server.plain.values import RULE
from krmfn.checks.server.pods.paths import check_no_backsteps
from krmfn.checks.server.pods.setting import Object, Setting
from krmfn.checks.server.pods.volumes import check_kind
from krmfn.checks.server.verdict import invalid
from krmfn.krm.paths import Path

#: The members in the order in which the server looks at them.
SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")


def check_sources(spec: Object, name: str, path: Path, pod: Setting) -> None:
    found = [source for source in SOURCES if source in spec]
    if not found:
        pod.required(path, "required", "must specify a volume type")
    for index, source in enumerate(found):
        if index and source != "flexVolume":
            at = (*path, {"cephfs": "cephFS"}.get(source, source))
            pod.forbidden(at, RULE, "may not specify more than 1 volume type")
        elif source == "csi":
            _check_csi(spec["csi"], (*path, "csi"), pod)
        elif source == "local":
            _check_local(spec, path, pod)
        else:
            check_kind(source, spec[source], name, path, pod)


def _check_local(spec: Object, path: Path, pod: Setting) -> None:
    text, at = spec["local"].get("path", ""), (*path, "local", "path")
    if not text:
        pod.required(at, "required")
    check_no_backsteps(text, at, RULE, pod)
    if "nodeAffinity" not in spec:
        pod.required((*path, "nodeAffinity"), "required", "Local volume requires node affinity")


def _check_csi(source: Object, path: Path, pod: Setting) -> None:
    check_driver_name(source.get("driver", ""), (*path, "driver"), pod)
    if not source.get("volumeHandle"):
        pod.required((*path, "volumeHandle"), "required")
    for field in _SECRETS:
        secret = source.get(field)
        if secret is None:
            continue
        for part, check in (("name", check_long_name), ("namespace", check_short_name)):
            text = secret.get(part, "")
            at = (*path, field, part)
            if not text:
                pod.required(at, "required")
            else:
                pod.out.extend(invalid(at, RULE, text, message) for message in check(text, "characters"))


def check_driver_name(name: str, path: Path, pod: Setting) -> None:
    if not name:
        pod.required(path, "required")
        return
    if len(name.encode("utf-8", "surrogatepass")) > 63:
        pod.too_long(path, RULE, 63)
    pod.out.extend(invalid(path, RULE, name, message) for message in check_long_name(name.lower(), "characters"))
