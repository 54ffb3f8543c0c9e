"""The rules of a whole pod spec, and of the templates and pods around one.

Source: ValidatePodSpec, ValidatePodTemplateSpec, ValidatePodCreate, validatePodMetadataAndSpec of
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.gotext import quote
from krmfn.releases.spelling import GROUP_LINKS
from krmfn.server.cases import check_part
from krmfn.server.formats import check_long_name, count_bytes, find_format
from krmfn.server.metadata import check_template_metadata
from krmfn.server.pods.annotations import check_pod_annotations, check_profiles
from krmfn.server.pods.setting import Object, Setting, visit_containers
from krmfn.server.verdict import Cause, forbidden


def check_template(
    template: Object, path: Path, gates: Mapping[str, bool], out: list[Cause], allowed: frozenset[str] = frozenset()
) -> None:
    """The template of a pod, with its labels and annotations."""
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    out.extend(check_template_metadata(meta, path))
    pod = Setting(spec, gates, out, None, allowed)
    annotations = meta.get("annotations")
    if annotations:
        check_pod_annotations(pod, annotations, spec, (*path, "annotations"))
    check_spec(pod, spec, (*path, "spec"))
    if annotations:
        check_profiles(pod, annotations, spec, (*path, "spec"))
    if "ephemeralContainers" in spec:
        detail = "ephemeral containers not allowed in pod template"
        out.append(forbidden((*path, "spec", "ephemeralContainers"), detail, "pod-containers"))


def check_pod(meta: Object, spec: Object, gates: Mapping[str, bool], out: list[Cause], allowed: frozenset[str]) -> None:
    """A pod on every write. Its metadata are checked elsewhere."""
    pod = Setting(spec, gates, out, meta, allowed)
    path: Path = ("spec",)
    check_pod_annotations(pod, pod.annotations, spec, ("metadata", "annotations"))
    check_spec(pod, spec, path)
    check_part(pod, "pod", spec, path)


def check_new_pod(meta: Object, spec: Object, gates: Mapping[str, bool], out: list[Cause]) -> None:
    """A pod when it is made."""
    check_pod(meta, spec, gates, out, frozenset())
    if "ephemeralContainers" in spec:
        out.append(forbidden(("spec", "ephemeralContainers"), "cannot be set on create", "pod-containers"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden(("spec", "nodeName"), detail, "pod-gates"))
    check_profiles(Setting(spec, gates, out, meta), meta.get("annotations", {}), spec, ("spec",))


def check_spec(pod: Setting, spec: Object, path: Path) -> None:
    """Everything that the server checks in a pod and in a template alike."""
    check_part(pod, "podSpec", spec, path)


def check_host_network(pod: Setting, spec: Object, path: Path) -> None:
    for index, container in enumerate(spec.get("containers", ())):
        for place, port in enumerate(container.get("ports", ())):
            mine, theirs = port.get("hostPort", 0), port.get("containerPort", 0)
            if (pod.is_pod or mine) and mine != theirs:
                at = (*path, "containers", index, "ports", place, "hostPort")
                pod.invalid(at, mine, "must match `containerPort` when `hostNetwork` is true")


def check_searches(pod: Setting, searches: list[str], path: Path) -> None:
    if count_bytes(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        pod.invalid_text(path, "{…}", detail)
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != ".":
            pod.refuse((*path, index), name, find_format("relaxed_long_name")(name))


def check_devices_of_users(pod: Setting, spec: Object, path: Path) -> None:
    """A pod with users of its own cannot share devices."""
    for container, at in visit_containers(spec, path):
        if "volumeDevices" in container:
            pod.forbidden((*at, "volumeDevices"), "when `hostUsers` is false")


def check_claims(pod: Setting, claims: list[Any], path: Path) -> None:
    """The claims of a pod, by which it shares those of its group."""
    if "kubernetes.io/config.mirror" in pod.annotations:
        pod.forbidden((), "static pods do not support resource claims")
        return
    seen: set[str] = set()
    targets = ("resourceClaimName", "resourceClaimTemplateName")
    for index, claim in enumerate(claims):
        name = claim.get("name", "")
        where = (*path, index)
        if name in seen:
            pod.duplicate((*where, "name"), quote(name))
        else:
            check_part(pod, "resourceClaim", claim, where)
            seen |= {name} - {""}
        given = [target for target in targets if target in claim]
        if len(given) != 1:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if given:
                detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            pod.invalid_text(where, "{…}", detail)
        for target in given:
            pod.refuse((*where, target), claim[target], check_long_name(claim[target]))


def check_group(pod: Setting, spec: Object, path: Path) -> None:
    """P1-P5: the link to a group, and that eviction responders exclude it."""
    for link in GROUP_LINKS:
        if spec.get(link[0]) is None:
            continue
        where = (*path, *link)
        name = dig(spec, *link)
        if name is None:
            pod.invalid(where, None, f"must specify one of: `{link[-1]}`")
        else:
            pod.refuse(where, name, check_long_name(name))
        if spec.get("evictionResponders"):
            pod.forbidden((*path, link[0]), "may not be set when evictionResponders is set")


def check_file_keys(pod: Setting, spec: Object, path: Path) -> None:
    """Variables from files: the volume is an empty directory of this pod."""
    for container, at in visit_containers(spec, path):
        for index, variable in enumerate(container.get("env", ())):
            selector = variable.get("valueFrom", {}).get("fileKeyRef")
            if selector is None:
                continue
            name = selector.get("volumeName", "")
            where = (*at, "env", index, "valueFrom", "fileKeyRef", "volumeName")
            # Of several volumes with one name the last counts.
            found = [volume for volume in spec.get("volumes", ()) if volume.get("name", "") == name]
            if not found:
                pod.not_found(where, quote(name))
            elif "emptyDir" not in found[-1]:
                pod.invalid(where, name, "referenced volume must be of type emptyDir")
