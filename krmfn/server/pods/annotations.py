"""The annotations that the server reads in pods and in templates.

Source: ValidatePodSpecificAnnotations, validateSeccompAnnotationsAndFields,
validateAppArmorAnnotationsAndFieldsMatchOnCreate of k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int, quote
from krmfn.server.formats import find_format
from krmfn.server.pods.placement import check_tolerations
from krmfn.server.pods.setting import ARMOR, Object, Setting, of_rule, visit_containers
from krmfn.server.spell import Key
from krmfn.server.verdict import Cause

MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_TOLERATIONS = "scheduler.alpha.kubernetes.io/tolerations"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"


@of_rule("pod-annotations")
def check_pod_annotations(pod: Setting, annotations: Object, spec: Object, path: Path) -> None:
    """What annotations say that are fields by now, and how dear the pod is to its controller."""
    for key, value in annotations.items():
        if "kubernetes.io/" not in key:
            continue
        if key == MIRROR and not spec.get("nodeName"):
            pod.invalid((*path, Key(key)), value, "must set spec.nodeName if mirror pod annotation is set")
        elif key == _COST:
            if "deletion-cost" not in pod.allowed and pod.is_on("PodDeletionCost") and not is_cost(value):
                pod.invalid((*path, Key(key)), value, "must be a 32bit integer")
        elif key == _TOLERATIONS and value:
            _check_tolerations(pod, value, path)
        elif key == _SECCOMP_POD or key.startswith(_SECCOMP):
            _check_seccomp(pod, value, (*path, key))
        elif key.startswith(ARMOR):
            name = key.removeprefix(ARMOR)
            if not any(container.get("name", "") == name for container, _ in visit_containers(spec, ())):
                pod.invalid((*path, Key(key)), name, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                pod.invalid((*path, Key(key)), value, f"invalid AppArmor profile name: {quote(value)}")


def is_cost(value: str) -> bool:
    """Whether the value of the annotation is an integer as the server reads it: no plus, no zeros in front."""
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()) or (value[0] == "0" and value != "0"):
        return False
    number = parse_int(value)
    return number is not None and -(2**31) <= number < 2**31


def _check_tolerations(pod: Setting, value: str, path: Path) -> None:
    from krmfn.krm.json_reading import load_json

    try:
        found = load_json(value)
    except ValueError:
        # The server goes on with Go's words for what is no JSON.
        pod.out.append(Cause("Invalid", path, f"Invalid value: {quote(_TOLERATIONS)}", "pod-annotations"))
        return
    if isinstance(found, list):
        check_tolerations(pod, [one for one in found if isinstance(one, dict)], (*path, _TOLERATIONS))


def _check_seccomp(pod: Setting, value: str, path: Path) -> None:
    if value in ("runtime/default", "docker/default", "unconfined"):
        return
    if value.startswith("localhost/"):
        local = value.removeprefix("localhost/")
        pod.refuse(path, local, find_format("relative_path")(local))
    else:
        pod.invalid(path, value, "must be a valid seccomp profile")


@of_rule("pod-annotations")
def check_profiles(pod: Setting, annotations: Object, spec: Object, path: Path) -> None:
    """Where a profile stands in a field and in an annotation, they say the same."""
    context = spec.get("securityContext", {})
    if _SECCOMP_POD in annotations and "seccompProfile" in context:
        _compare(pod, annotations[_SECCOMP_POD], context["seccompProfile"], (*path, "securityContext"), "seccomp")
    if not any(key.startswith((_SECCOMP, ARMOR)) for key in annotations):
        return
    for container, at in visit_containers(spec, path):
        own, name = container.get("securityContext", {}), container.get("name", "")
        where = (*at, "securityContext")
        if "seccompProfile" in own and _SECCOMP + name in annotations:
            _compare(pod, annotations[_SECCOMP + name], own["seccompProfile"], where, "seccomp")
        profile = own.get("appArmorProfile", context.get("appArmorProfile"))
        if profile is not None and ARMOR + name in annotations and pod.os != "windows":
            _compare(pod, annotations[ARMOR + name], profile, where, "apparmor")


def _compare(pod: Setting, annotation: str, profile: Object, at: Path, word: str) -> None:
    field = "seccompProfile" if word == "seccomp" else "appArmorProfile"
    kind = profile.get("type", "")
    default = ("runtime/default", "docker/default") if word == "seccomp" else ("runtime/default",)
    same = {
        "Unconfined": annotation == "unconfined",
        "RuntimeDefault": annotation in default,
        "Localhost": annotation.startswith("localhost/"),
    }.get(kind, True)
    if not same:
        pod.forbidden((*at, field, "type"), f"{word} type in annotation and field must match")
    elif kind == "Localhost" and annotation.removeprefix("localhost/") != profile.get("localhostProfile"):
        pod.forbidden((*at, field, "localhostProfile"), f"{word} profile in annotation and field must match")
