"""The rules of files that a volume makes of keys and fields, alone or projected.

Source: validateKeyToPath, validateDownwardAPIVolumeFile and ValidateVolumeMode in
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.server.pods.environment import VOLUME_FIELDS, check_field, check_resource_field
from krmfn.server.pods.paths import check_local
from krmfn.server.pods.setting import Object, Setting

_RULE = "pod-volumes"
_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_RESOURCE = "can not be specified simultaneously"


def check_mode(source: Object, field: str, at: Path, pod: Setting) -> None:
    """The permission bits of the files, 0 to 0o777."""
    mode = source.get(field)
    if mode is not None and not 0 <= mode <= 0o777:
        pod.invalid((*at, field), _RULE, mode, _MODE)


def check_key(item: Object, at: Path, pod: Setting) -> None:
    """One key of a Secret or a ConfigMap as one file."""
    for field in ("key", "path"):
        if not item.get(field):
            pod.required((*at, field), _RULE)
    check_local(item.get("path", ""), (*at, "path"), _RULE, pod)
    check_mode(item, "mode", at, pod)
    pod.check_id(item, "user", at, _RULE)


def check_downward_file(item: Object, at: Path, pod: Setting) -> None:
    """The server's paths do not name the item."""
    text = item.get("path", "")
    if not text:
        pod.required((*at, "path"), _RULE)
    check_local(text, (*at, "path"), _RULE, pod)
    if "fieldRef" in item:
        check_field(item["fieldRef"], VOLUME_FIELDS, (*at, "fieldRef"), _RULE, pod)
        if "resourceFieldRef" in item:
            pod.invalid(at, _RULE, "resource", f"fieldRef and resourceFieldRef {_RESOURCE}")
    elif "resourceFieldRef" in item:
        check_resource_field(item["resourceFieldRef"], (*at, "resourceFieldRef"), _RULE, pod, volume=True)
    else:
        pod.required(at, _RULE, "one of fieldRef and resourceFieldRef is required")
    check_mode(item, "mode", at, pod)
    pod.check_id(item, "user", at, _RULE)
