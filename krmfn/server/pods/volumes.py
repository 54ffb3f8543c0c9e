"""The rules of volumes and their sources.

What is said of one field is a row of `schemas/kubernetes/parts.json`. Some paths are not those of the field, as the
server's are not.

Source: ValidateVolumes and the functions that it calls in k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import check_iscsi_name, check_long_name, check_short_name
from krmfn.server.pods.claims import check_claim_template
from krmfn.server.pods.projections import check_projection
from krmfn.server.pods.setting import PULL_POLICIES, Object, Setting
from krmfn.server.pods.volume_files import check_downward_file
from krmfn.server.spell import Key, write_json

_RULE = "pod-volumes"

#: The members of a volume in the order in which the server looks at them, with the words of its paths where they
#: differ: (for a second source, for what is wrong inside).
_SOURCES: dict[str, tuple[str, str]] = {
    "hostPath": ("", ""), "gitRepo": ("", ""), "gcePersistentDisk": ("", "persistentDisk"),
    "awsElasticBlockStore": ("", ""), "secret": ("", ""), "nfs": ("", ""), "iscsi": ("", ""), "glusterfs": ("", ""),
    "flocker": ("", ""), "persistentVolumeClaim": ("", ""), "rbd": ("", ""), "cinder": ("", ""),
    "cephfs": ("cephFS", ""), "quobyte": ("", ""), "downwardAPI": ("downwarAPI", ""), "fc": ("", ""),
    "flexVolume": ("", ""), "configMap": ("", ""), "azureFile": ("", ""), "vsphereVolume": ("", ""),
    "photonPersistentDisk": ("", ""), "portworxVolume": ("", ""), "azureDisk": ("", ""), "storageos": ("", ""),
    "projected": ("", ""), "scaleIO": ("", ""), "csi": ("", ""), "ephemeral": ("", ""), "image": ("", ""),
}  # fmt: skip


def check_volumes(spec: Object, path: Path, pod: Setting) -> None:
    """`volumes` of a spec. Those that are right are what mounts can name afterwards."""
    volumes = spec.get("volumes", ())
    made = {f"{pod.name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume} if pod.name else ()
    for index, volume in enumerate(volumes):
        at: Path = (*path, "volumes", index)
        before = len(pod.out)
        name = volume.get("name", "")
        _check_source(volume, name, at, pod)
        pod.check_text(volume, "name", at, _RULE, check_short_name, needed=True)
        if name in pod.volumes:
            pod.duplicate((*at, "name"), _RULE, quote(name))
        if len(pod.out) == before:
            pod.volumes[name] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made and "persistentVolumeClaim" in volume:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            pod.invalid((*at, "persistentVolumeClaim", "claimName"), _RULE, claim, detail)


def _check_source(volume: Object, name: str, at: Path, pod: Setting) -> None:
    first = ""
    if "emptyDir" in volume:
        first = "emptyDir"
        _check_empty_dir(volume["emptyDir"], (*at, "emptyDir"), pod)
    for kind in volume:
        if kind not in _SOURCES or kind == first:
            continue
        if not first:
            # The order of the manifest is not that of the server.
            first = next(known for known in _SOURCES if known in volume)
            check_kind(first, volume[first], name, at, pod)
        if kind != first:
            again = _SOURCES[kind][0] or kind
            pod.forbidden((*at, again), _RULE, "may not specify more than 1 volume type")
        if kind == "iscsi":
            _check_initiator_length(volume["iscsi"], name, at, pod)
    if not first:
        pod.required(at, _RULE, "must specify a volume type")


def check_kind(kind: str, source: Object, name: str, at: Path, pod: Setting) -> None:
    """One source of a volume."""
    where = (*at, _SOURCES[kind][1] or kind)
    if kind not in ("csi", "fc", "image"):
        pod.out += check_part(pod, kind, source, where, _RULE)
    check = _CHECKS.get(kind)
    if check:
        check(source, where, pod)
    if kind == "ephemeral" and pod.name and name:
        claim = f"{pod.name}-{name}"
        for message in check_long_name(claim):
            pod.invalid((*at, "name"), _RULE, name, f"PVC name {quote(claim)}: {message}")


def _check_empty_dir(source: Object, at: Path, pod: Setting) -> None:
    if source.get("sizeLimit", 0) < 0:
        pod.forbidden((*at, "sizeLimit"), _RULE, "SizeLimit field must be a valid resource quantity")
    mode = source.get("mode")
    if mode is not None and not 0 <= mode <= 0o1777:
        pod.invalid((*at, "mode"), _RULE, mode, "must be a number between 0 and 01777 (octal), both inclusive")


def _check_keys(source: Object, at: Path, pod: Setting) -> None:
    """A Secret or a ConfigMap as files."""
    for index, item in enumerate(source.get("items", ())):
        pod.out += check_part(pod, "keyToPath", item, (*at, "items", index), _RULE)


def _check_downward(source: Object, at: Path, pod: Setting) -> None:
    for item in source.get("items", ()):
        check_downward_file(item, at, pod)


def _check_ephemeral(source: Object, at: Path, pod: Setting) -> None:
    if "volumeClaimTemplate" in source:
        check_claim_template(source["volumeClaimTemplate"], (*at, "volumeClaimTemplate"), pod)


def _check_initiator(source: Object, at: Path, pod: Setting) -> None:
    if "initiatorName" in source:
        name = source["initiatorName"]
        pod.refuse((*at, "initiatorname"), _RULE, name, check_iscsi_name(name))


def _check_initiator_length(source: Object, name: str, at: Path, pod: Setting) -> None:
    text = f"{name}:{source.get('targetPortal', '')}"
    if "initiatorName" in source and len(text.encode("utf-8", "surrogatepass")) > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
            " specified."
        )
        pod.invalid((*at, "name"), _RULE, name, detail)


def _check_fibre_channel(source: Object, at: Path, pod: Setting) -> None:
    names, ids = source.get("targetWWNs"), source.get("wwids")
    if names and ids:
        pod.invalid_text(
            (*at, "targetWWNs"), _RULE, write_json(names), "targetWWNs and wwids can not be specified simultaneously"
        )
    pod.out += check_part(pod, "fc", source, at, _RULE)


def _check_quobyte(source: Object, at: Path, pod: Setting) -> None:
    registry = source.get("registry", "")
    detail = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        pod.required((*at, "registry"), _RULE, detail)
    elif len(source.get("tenant", "").encode("utf-8", "surrogatepass")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        pod.required((*at, "tenant"), _RULE, text)
    else:
        for pair in registry.split(","):
            if not _is_host_and_port(pair):
                pod.invalid((*at, "registry"), _RULE, registry, detail)


def _is_host_and_port(text: str) -> bool:
    """What Go's net.SplitHostPort takes."""
    host, found, port = text.rpartition(":")
    if not found or set(port) & set("[]"):
        return False
    if host.startswith("["):
        return host.endswith("]") and not set(host[1:-1]) & set("[]")
    return ":" not in host and not set(host) & set("[]")


def _check_flex(source: Object, at: Path, pod: Setting) -> None:
    for key in source.get("options", {}):
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            pod.invalid((*at, "options", Key(key)), _RULE, key, "kubernetes.io and k8s.io namespaces are reserved")


_DISKS = {
    True: ("/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
           "{disk-id}"),
    False: ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
}  # fmt: skip


def _check_azure_disk(source: Object, at: Path, pod: Setting) -> None:
    if "kind" in source:
        address = source.get("diskURI", "")
        start, pattern = _DISKS[source["kind"] == "Managed"]
        if not address.startswith(start):
            pod.not_supported((*at, "diskURI"), _RULE, quote(address), (pattern,))


def check_driver_name(name: str, path: Path, rule: str, pod: Setting, missing: str = _RULE) -> None:
    """A driver of CSI: `rule` refuses its name, `missing` none."""
    if not name:
        pod.required(path, missing)
        return
    if len(name.encode("utf-8", "surrogatepass")) > 63:
        pod.too_long(path, rule, 63)
    pod.refuse(path, rule, name, check_long_name(name.lower()))


def _check_csi(source: Object, at: Path, pod: Setting) -> None:
    check_driver_name(source.get("driver", ""), (*at, "driver"), _RULE, pod)
    name = source.get("nodePublishSecretRef", {}).get("name")
    if "nodePublishSecretRef" in source and not name:
        pod.required((*at, "nodePublishSecretRef", "name"), _RULE)
    elif name:
        pod.refuse((*at, "name"), _RULE, name, check_long_name(name))


def _check_image(source: Object, at: Path, pod: Setting) -> None:
    kept = "empty-image-reference"
    if not source.get("reference") and kept not in pod.allowed and (pod.is_pod or not pod.gates.get(kept)):
        pod.required((*at, "reference"), _RULE)
    pod.check_option(source, "pullPolicy", at, _RULE, PULL_POLICIES, needed=True)


def _check_projected(source: Object, at: Path, pod: Setting) -> None:
    paths: set[str] = set()
    for index, part in enumerate(source.get("sources", ())):
        check_projection(part, (*at, "sources", index), paths, pod)


_CHECKS: dict[str, Callable[[Object, Path, Setting], None]] = {
    "secret": _check_keys,
    "iscsi": _check_initiator,
    "quobyte": _check_quobyte,
    "downwardAPI": _check_downward,
    "fc": _check_fibre_channel,
    "flexVolume": _check_flex,
    "configMap": _check_keys,
    "azureDisk": _check_azure_disk,
    "projected": _check_projected,
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
