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
from krmfn.server.formats import (
    check_ip,
    check_label_key,
    check_long_name,
    check_relaxed_long_name,
    check_short_name,
    count_bytes,
)
from krmfn.server.metadata import check_template_metadata
from krmfn.server.pods.annotations import check_pod_annotations, check_profiles
from krmfn.server.pods.containers import (
    check_containers,
    check_ephemeral_containers,
    check_image_of_pod,
    check_init_containers,
)
from krmfn.server.pods.placement import check_affinity, check_labels, check_spread, check_tolerations
from krmfn.server.pods.resources import check_pod_resources, check_resources
from krmfn.server.pods.security import check_host_processes, check_operating_system, check_pod_security
from krmfn.server.pods.setting import Object, Setting, visit_containers
from krmfn.server.pods.volumes import check_volumes
from krmfn.server.spell import write_json
from krmfn.server.verdict import Cause, find_repeated, forbidden, invalid

_RESTARTS = ("Always", "OnFailure", "Never")
_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NETWORK = "pod-network"
_NETWORK_FIELDS = frozenset(("dnsConfig", "hostAliases", "hostNetwork", "hostname", "hostnameOverride", "subdomain"))


def check_template(
    template: Object, path: Path, gates: Mapping[str, bool], out: list[Cause], allowed: frozenset[str] = frozenset()
) -> None:
    """The template of a pod, with its labels and annotations."""
    meta, spec = template.get("metadata", {}), template.get("spec", {})
    out.extend(check_template_metadata(meta, path))
    pod = Setting(spec, gates, out, None, allowed)
    annotations = meta.get("annotations")
    if annotations:
        check_pod_annotations(annotations, spec, (*path, "annotations"), pod)
    check_spec(spec, (*path, "spec"), pod)
    if annotations:
        check_profiles(annotations, spec, (*path, "spec"), pod)
    if "ephemeralContainers" in spec:
        detail = "ephemeral containers not allowed in pod template"
        out.append(forbidden((*path, "spec", "ephemeralContainers"), "pod-containers", detail))


def check_pod(meta: Object, spec: Object, gates: Mapping[str, bool], out: list[Cause], allowed: frozenset[str]) -> None:
    """A pod on every write. Its metadata are checked elsewhere."""
    pod = Setting(spec, gates, out, meta, allowed)
    path: Path = ("spec",)
    check_pod_annotations(pod.annotations, spec, ("metadata", "annotations"), pod)
    check_spec(spec, path, pod)
    if not spec.get("serviceAccountName"):
        for index, volume in enumerate(spec.get("volumes", ())):
            for place, source in enumerate(volume.get("projected", {}).get("sources", ())):
                if "serviceAccountToken" in source:
                    at = (*path, "volumes", index, "projected", "sources", place, "serviceAccountToken")
                    out.append(forbidden(at, "pod-volumes", "must not be specified when serviceAccountName is not set"))
    grace = pod.grace or 0
    if grace < 0:
        where = (*path, "terminationGracePeriodSeconds")
        out.append(invalid(where, "pod-deadline", grace, "must be greater than or equal to 0"))
    for name in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(name, ())):
            check_image_of_pod(container, (*path, name, index), pod)


def check_new_pod(meta: Object, spec: Object, gates: Mapping[str, bool], out: list[Cause]) -> None:
    """A pod when it is made."""
    check_pod(meta, spec, gates, out, frozenset())
    if "ephemeralContainers" in spec:
        out.append(forbidden(("spec", "ephemeralContainers"), "pod-containers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        detail = "cannot be set until all schedulingGates have been cleared"
        out.append(forbidden(("spec", "nodeName"), "pod-gates", detail))
    check_profiles(meta.get("annotations", {}), spec, ("spec",), Setting(spec, gates, out, meta))


def check_spec(spec: Object, path: Path, pod: Setting) -> None:
    """Everything that the server checks in a pod and in a template alike."""
    check_volumes(spec, path, pod)
    if "resourceClaims" in spec:
        _check_claims(spec["resourceClaims"], (*path, "resourceClaims"), pod)
    check_containers(spec, path, pod)
    if "initContainers" in spec:
        check_init_containers(spec, path, pod)
    if "ephemeralContainers" in spec:
        check_ephemeral_containers(spec, path, pod)
    check_pod_resources(spec, path, pod)
    pod.check_option(spec, "restartPolicy", path, "pod-restart", _RESTARTS, needed=True)
    pod.check_option(spec, "dnsPolicy", path, _NETWORK, _DNS, needed=True)
    if "nodeSelector" in spec:
        check_labels(spec["nodeSelector"], (*path, "nodeSelector"), "pod-affinity", pod)
    check_pod_security(spec, path, pod)
    check_host_processes(spec, path, pod)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        detail = "ShareProcessNamespace and HostPID cannot both be enabled"
        place = (*path, "securityContext") if pod.gates.get("older-texts", False) else path
        pod.invalid((*place, "shareProcessNamespace"), "pod-security", True, detail)
    if "affinity" in spec:
        check_affinity(spec["affinity"], (*path, "affinity"), pod)
    if "tolerations" in spec:
        check_tolerations(spec["tolerations"], (*path, "tolerations"), pod)
    if "topologySpreadConstraints" in spec:
        check_spread(spec["topologySpreadConstraints"], (*path, "topologySpreadConstraints"), pod)
    if "readinessGates" in spec or "schedulingGates" in spec:
        _check_gates(spec, path, pod)
    if spec.get("dnsPolicy") == "None" or not _NETWORK_FIELDS.isdisjoint(spec):
        _check_network(spec, path, pod)
    if not pod.host_users:
        _check_host_users(spec, path, pod)
    pod.out += check_part(pod, "names", spec, path, "pod-names")
    pod.out += check_part(pod, "deadline", spec, path, "pod-deadline")
    pod.out += check_part(pod, "priority", spec, path, "pod-priority")
    if "overhead" in spec:
        check_resources({"limits": spec["overhead"]}, (*path, "overhead"), pod)
    check_operating_system(spec, path, pod)
    _check_group(spec, path, pod)
    _check_file_keys(spec, path, pod)


def _check_gates(spec: Object, path: Path, pod: Setting) -> None:
    for index, gate in enumerate(spec.get("readinessGates", ())):
        name = gate.get("conditionType", "")
        pod.refuse((*path, "readinessGates", index, "conditionType"), "pod-gates", name, check_label_key(name))
    names = [gate.get("name", "") for gate in spec.get("schedulingGates", ())]
    again = find_repeated(names)
    for index, name in enumerate(names):
        at = (*path, "schedulingGates", index)
        pod.refuse(at, "pod-gates", name, check_label_key(name))
        if index in again:
            pod.duplicate(at, "pod-gates", quote(name))


def _check_network(spec: Object, path: Path, pod: Setting) -> None:
    if spec.get("hostNetwork"):
        for index, container in enumerate(spec.get("containers", ())):
            for place, port in enumerate(container.get("ports", ())):
                mine, theirs = port.get("hostPort", 0), port.get("containerPort", 0)
                if (pod.is_pod or mine) and mine != theirs:
                    at = (*path, "containers", index, "ports", place, "hostPort")
                    pod.invalid(at, "pod-ports", mine, "must match `containerPort` when `hostNetwork` is true")
    pod.out += check_part(pod, "hostname", spec, path, _NETWORK)
    _check_dns(spec, (*path, "dnsConfig"), pod)
    strict = pod.gates.get("StrictIPCIDRValidation", False)
    for index, alias in enumerate(spec.get("hostAliases", ())):
        at = (*path, "hostAliases", index)
        address = alias.get("ip", "")
        pod.refuse((*at, "ip"), _NETWORK, address, check_ip(address, strict))
        for place, name in enumerate(alias.get("hostnames", ())):
            pod.refuse((*at, "hostnames", place), _NETWORK, name, check_long_name(name))


def _check_dns(spec: Object, path: Path, pod: Setting) -> None:
    config = spec.get("dnsConfig")
    if config is None or (spec.get("dnsPolicy") == "None" and not config.get("nameservers")):
        return
    servers, searches = config.get("nameservers", ()), config.get("searches", ())
    if len(servers) > 3:
        pod.invalid_text((*path, "nameservers"), _NETWORK, write_json(servers), "must not have more than 3 nameservers")
    strict = pod.gates.get("StrictIPCIDRValidation", False)
    for index, address in enumerate(servers):
        pod.refuse((*path, "nameservers", index), _NETWORK, address, check_ip(address, strict))
    if len(searches) > 32:
        pod.invalid_text((*path, "searches"), _NETWORK, write_json(searches), "must not have more than 32 search paths")
    if count_bytes(" ".join(searches)) > 2048:
        detail = "must not have more than 2048 characters (including spaces) in the search list"
        pod.invalid_text((*path, "searches"), _NETWORK, write_json(searches), detail)
    for index, search in enumerate(searches):
        name = search.removesuffix(".")
        if search != ".":
            pod.refuse((*path, "searches", index), _NETWORK, name, check_relaxed_long_name(name))
    for index, option in enumerate(config.get("options", ())):
        if not option.get("name"):
            pod.required((*path, "options", index), _NETWORK, "must not be empty")


def _check_host_users(spec: Object, path: Path, pod: Setting) -> None:
    """A pod with users of its own cannot share the host's namespaces."""
    detail = "when `hostUsers` is false"
    fields = [("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    if not pod.is_on("UserNamespacesHostNetworkSupport"):
        fields.insert(0, ("hostNetwork", "hostNetwork"))
    for field, spelled in fields:
        if spec.get(field):
            pod.forbidden((*path, spelled), "pod-security", detail)
    if "user-namespace-devices" not in pod.allowed:
        for container, at in visit_containers(spec, path):
            if "volumeDevices" in container:
                pod.forbidden((*at, "volumeDevices"), "pod-security", detail)


def _check_claims(claims: list[Any], path: Path, pod: Setting) -> None:
    """The claims of a pod, by which it shares those of its group."""
    if "kubernetes.io/config.mirror" in pod.annotations:
        pod.forbidden((), "pod-claims", "static pods do not support resource claims")
        return
    seen: set[str] = set()
    targets = ("resourceClaimName", "resourceClaimTemplateName")
    for index, claim in enumerate(claims):
        name = claim.get("name", "")
        where = (*path, index)
        if not name:
            pod.required((*where, "name"), "pod-claims")
        elif name in seen:
            pod.duplicate((*where, "name"), "pod-claims", quote(name))
        else:
            seen.add(name)
            pod.refuse((*where, "name"), "pod-claims", name, check_short_name(name))
        given = [target for target in targets if target in claim]
        if len(given) != 1:
            detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            if given:
                detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            # The server shows the claim in Go's own spelling.
            shown = {key[0].upper() + key[1:]: claim.get(key) for key in ("name", *targets)}
            shown["Name"] = name
            pod.invalid_text(where, "pod-claims", write_json(shown), detail)
        for target in given:
            pod.refuse((*where, target), "pod-claims", claim[target], check_long_name(claim[target]))


def _check_group(spec: Object, path: Path, pod: Setting) -> None:
    """P1-P5: the link to a group, and that eviction responders exclude it."""
    for link in GROUP_LINKS:
        if spec.get(link[0]) is None:
            continue
        where = (*path, *link)
        name = dig(spec, *link)
        if name is None:
            pod.invalid(where, "scheduling-group", None, f"must specify one of: `{link[-1]}`")
        else:
            pod.refuse(where, "scheduling-group", name, check_long_name(name))
        if spec.get("evictionResponders"):
            pod.forbidden((*path, link[0]), "scheduling-group", "may not be set when evictionResponders is set")
    reference = spec.get("workloadRef")
    if reference is None:
        return
    pod.out += check_part(pod, "workloadRef", reference, (*path, "workloadRef"), "workload-ref")


def _check_file_keys(spec: Object, path: Path, pod: Setting) -> None:
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
                pod.not_found(where, "pod-env", quote(name))
            elif "emptyDir" not in found[-1]:
                pod.invalid(where, "pod-env", name, "referenced volume must be of type emptyDir")
