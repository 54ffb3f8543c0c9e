"""The rules of files that a volume makes of keys and fields, alone or projected.

Source: validateKeyToPath, validateDownwardAPIVolumeFile and ValidateVolumeMode in
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.server.cases import check_part
from krmfn.server.pods.environment import VOLUME_FIELDS, check_field, check_resource_field
from krmfn.server.pods.setting import Object, Setting

_RULE = "pod-volumes"


def check_downward_file(item: Object, at: Path, pod: Setting) -> None:
    """The server's paths do not name the item."""
    pod.out += check_part(pod, "downwardAPI.items", item, at, _RULE)
    if "fieldRef" in item:
        check_field(item["fieldRef"], VOLUME_FIELDS, (*at, "fieldRef"), _RULE, pod)
        if "resourceFieldRef" in item:
            pod.invalid(at, _RULE, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif "resourceFieldRef" in item:
        check_resource_field(item["resourceFieldRef"], (*at, "resourceFieldRef"), _RULE, pod, volume=True)
    else:
        pod.required(at, _RULE, "one of fieldRef and resourceFieldRef is required")
    pod.out += check_part(pod, "mode", item, at, _RULE)
