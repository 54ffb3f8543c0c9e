"""The rules of volumes and their sources.

A source that is right but for a few required fields is a row of `_REQUIRED`; the others have a function. Some paths
are not those of the field, as the server's are not.

Source: ValidateVolumes and the functions that it calls in k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Callable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.formats import check_long_name, check_short_name
from krmfn.server.pods.claims import check_claim_template
from krmfn.server.pods.paths import check_no_backsteps, check_relative
from krmfn.server.pods.projections import check_projection
from krmfn.server.pods.setting import PULL_POLICIES, Object, Setting
from krmfn.server.pods.volume_files import check_downward_file, check_key, check_mode
from krmfn.server.spell import Key, write_json

_RULE = "pod-volumes"
_PARTITION = "must be between 1 and 255, inclusive"  # though 0 is fine
_RESOURCE = "can not be specified simultaneously"
_UNIT = "must be between 0 and 255, inclusive"

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

_REQUIRED: dict[str, tuple[str, ...]] = {
    "gitRepo": ("repository",),
    "gcePersistentDisk": ("pdName",),
    "awsElasticBlockStore": ("volumeID",),
    "secret": ("secretName",),
    "nfs": ("server", "path"),
    "iscsi": ("targetPortal", "iqn"),
    "glusterfs": ("endpoints", "path"),
    "persistentVolumeClaim": ("claimName",),
    "rbd": ("monitors", "image"),
    "cinder": ("volumeID",),
    "cephfs": ("monitors",),
    "flexVolume": ("driver",),
    "configMap": ("name",),
    "azureFile": ("secretName", "shareName"),
    "vsphereVolume": ("volumePath",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "storageos": ("volumeName",),
    "scaleIO": ("gateway", "system", "volumeName"),
    "quobyte": ("volume",),
}


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
    for field in _REQUIRED.get(kind, ()):
        if not source.get(field):
            pod.required((*where, field), _RULE)
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


_HOST_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")


def _check_host_path(source: Object, at: Path, pod: Setting) -> None:
    text = source.get("path", "")
    if not text:
        pod.required((*at, "path"), _RULE)
        return
    check_no_backsteps(text, (*at, "path"), _RULE, pod)
    pod.check_option(source, "type", at, _RULE, _HOST_TYPES)


def _check_partition(source: Object, at: Path, pod: Setting) -> None:
    partition = source.get("partition", 0)
    if not 0 <= partition <= 255:
        pod.invalid((*at, "partition"), _RULE, partition, _PARTITION)


def _check_keys(source: Object, at: Path, pod: Setting) -> None:
    """A Secret or a ConfigMap as files."""
    check_mode(source, "defaultMode", at, pod)
    pod.check_id(source, "defaultUser", at, _RULE)
    for index, item in enumerate(source.get("items", ())):
        check_key(item, (*at, "items", index), pod)


def _check_nfs(source: Object, at: Path, pod: Setting) -> None:
    text = source.get("path", "")
    if not text.startswith("/"):
        pod.invalid((*at, "path"), _RULE, text, "must be an absolute path")


def _check_iscsi(source: Object, at: Path, pod: Setting) -> None:
    if "iqn" in source:
        _check_iscsi_name(source["iqn"], (*at, "iqn"), pod)
    unit = source.get("lun", 0)
    if not 0 <= unit <= 255:
        pod.invalid((*at, "lun"), _RULE, unit, _UNIT)
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and "secretRef" not in source:
        pod.required((*at, "secretRef"), _RULE)
    if "initiatorName" in source:
        _check_iscsi_name(source["initiatorName"], (*at, "initiatorname"), pod)


def _check_iscsi_name(name: str, path: Path, pod: Setting) -> None:
    import re  # rare

    form = {
        "iqn": r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\t\n\f\r ]+)",
        "eui": "eui.[A-Za-z0-9]{16}",
        "naa": "naa.[A-Za-z0-9]{32}",
    }.get(name[:3])
    if form is None:
        pod.invalid(path, _RULE, name, "must be valid format starting with iqn, eui, or naa")
    elif re.fullmatch(form, name) is None:
        pod.invalid(path, _RULE, name, "must be valid format")


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
    if not names and not ids:
        pod.required((*at, "targetWWNs"), _RULE, "must specify either targetWWNs or wwids, but not both")
    if names and ids:
        pod.invalid_text((*at, "targetWWNs"), _RULE, write_json(names), f"targetWWNs and wwids {_RESOURCE}")
    if names:
        unit = source.get("lun")
        if unit is None:
            pod.required((*at, "lun"), _RULE, "lun is required if targetWWNs is specified")
        elif not 0 <= unit <= 255:
            pod.invalid((*at, "lun"), _RULE, unit, _UNIT)


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


def _check_flocker(source: Object, at: Path, pod: Setting) -> None:
    name, identity = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not identity:
        pod.required(at, _RULE, "one of datasetName and datasetUUID is required")
    if name and identity:
        pod.invalid(at, _RULE, "resource", f"datasetName and datasetUUID {_RESOURCE}")
    if "/" in name:
        pod.invalid((*at, "datasetName"), _RULE, name, "must not contain '/'")


def _check_secret_name(source: Object, at: Path, pod: Setting, field: str = "secretRef") -> None:
    if field in source and not source[field].get("name"):
        pod.required((*at, field, "name"), _RULE)


def _check_storage_os(source: Object, at: Path, pod: Setting) -> None:
    for field in ("volumeName", "volumeNamespace"):
        pod.check_text(source, field, at, _RULE, check_short_name)
    _check_secret_name(source, at, pod)


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
    pod.check_option(source, "cachingMode", at, _RULE, ("None", "ReadOnly", "ReadWrite"))
    pod.check_option(source, "kind", at, _RULE, ("Dedicated", "Managed", "Shared"))
    if "kind" in source:
        address = source.get("diskURI", "")
        start, pattern = _DISKS[source["kind"] == "Managed"]
        if not address.startswith(start):
            pod.not_supported((*at, "diskURI"), _RULE, quote(address), (pattern,))


def _check_downward(source: Object, at: Path, pod: Setting) -> None:
    check_mode(source, "defaultMode", at, pod)
    pod.check_id(source, "defaultUser", at, _RULE)
    for item in source.get("items", ()):
        check_downward_file(item, at, pod)


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
    _check_secret_name(source, at, pod, "nodePublishSecretRef")
    pod.check_text(source.get("nodePublishSecretRef", {}), "name", at, _RULE, check_long_name)


def _check_image(source: Object, at: Path, pod: Setting) -> None:
    kept = "empty-image-reference"
    if not source.get("reference") and kept not in pod.allowed and (pod.is_pod or not pod.gates.get(kept)):
        pod.required((*at, "reference"), _RULE)
    pod.check_option(source, "pullPolicy", at, _RULE, PULL_POLICIES, needed=True)


def _check_ephemeral(source: Object, at: Path, pod: Setting) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        pod.required((*at, "volumeClaimTemplate"), _RULE)
    else:
        check_claim_template(template, (*at, "volumeClaimTemplate"), pod)


def _check_projected(source: Object, at: Path, pod: Setting) -> None:
    check_mode(source, "defaultMode", at, pod)
    pod.check_id(source, "defaultUser", at, _RULE)
    paths: set[str] = set()
    for index, part in enumerate(source.get("sources", ())):
        check_projection(part, (*at, "sources", index), paths, pod)


_CHECKS: dict[str, Callable[[Object, Path, Setting], None]] = {
    "hostPath": _check_host_path,
    "gitRepo": lambda source, at, pod: check_relative(source.get("directory", ""), (*at, "directory"), _RULE, pod),
    "gcePersistentDisk": _check_partition,
    "awsElasticBlockStore": _check_partition,
    "secret": _check_keys,
    "nfs": _check_nfs,
    "iscsi": _check_iscsi,
    "flocker": _check_flocker,
    "cinder": _check_secret_name,
    "quobyte": _check_quobyte,
    "downwardAPI": _check_downward,
    "fc": _check_fibre_channel,
    "flexVolume": _check_flex,
    "configMap": _check_keys,
    "azureDisk": _check_azure_disk,
    "storageos": _check_storage_os,
    "projected": _check_projected,
    "csi": _check_csi,
    "ephemeral": _check_ephemeral,
    "image": _check_image,
}
