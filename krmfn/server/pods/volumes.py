"""The rules of volumes and their sources.

What is said of one field is a row of `schemas/kubernetes/parts.json`. Some paths are not those of the field, as the
server's are not.

Source: ValidateVolumes and the functions that it calls in k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterable

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import check_long_name
from krmfn.server.pods.projections import check_projection
from krmfn.server.pods.setting import Object, Setting, of_rule
from krmfn.server.spell import Key

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


@of_rule("pod-volumes")
def check_volumes(pod: Setting, spec: Object, path: Path) -> None:
    """`volumes` of a spec. Those that are right are what mounts can name afterwards."""
    volumes = spec.get("volumes", ())
    made = {f"{pod.name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume} if pod.name else ()
    for index, volume in enumerate(volumes):
        at: Path = (*path, "volumes", index)
        before = len(pod.out)
        name = volume.get("name", "")
        _check_source(pod, volume, name, at)
        check_part(pod, "volume", volume, at)
        if name in pod.volumes:
            pod.duplicate((*at, "name"), quote(name))
        if len(pod.out) == before:
            pod.volumes[name] = volume
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made and "persistentVolumeClaim" in volume:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            pod.invalid((*at, "persistentVolumeClaim", "claimName"), claim, detail)


def _check_source(pod: Setting, volume: Object, name: str, at: Path) -> None:
    first = ""
    if "emptyDir" in volume:
        first = "emptyDir"
        check_part(pod, "emptyDir", volume["emptyDir"], (*at, "emptyDir"))
    for kind in volume:
        if kind not in _SOURCES or kind == first:
            continue
        if not first:
            # The order of the manifest is not that of the server.
            first = next(known for known in _SOURCES if known in volume)
            check_kind(pod, first, volume[first], name, at)
        if kind != first:
            again = _SOURCES[kind][0] or kind
            pod.forbidden((*at, again), "may not specify more than 1 volume type")
        if kind == "iscsi":
            _check_initiator_length(pod, volume["iscsi"], name, at)
    if not first:
        pod.required(at, "must specify a volume type")


@of_rule("pod-volumes")
def check_kind(pod: Setting, kind: str, source: Object, name: str, at: Path) -> None:
    """One source of a volume."""
    check_part(pod, kind, source, (*at, _SOURCES[kind][1] or kind))
    if kind == "ephemeral" and pod.name and name:
        claim = f"{pod.name}-{name}"
        for message in check_long_name(claim):
            pod.invalid((*at, "name"), name, f"PVC name {quote(claim)}: {message}")


def _check_initiator_length(pod: Setting, source: Object, name: str, at: Path) -> None:
    text = f"{name}:{source.get('targetPortal', '')}"
    if "initiatorName" in source and len(text.encode("utf-8", "surrogatepass")) > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
            " specified."
        )
        pod.invalid((*at, "name"), name, detail)


def check_quobyte(pod: Setting, source: Object, at: Path) -> None:
    registry = source.get("registry", "")
    detail = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        pod.required((*at, "registry"), detail)
    elif len(source.get("tenant", "").encode("utf-8", "surrogatepass")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        pod.required((*at, "tenant"), text)
    else:
        for pair in registry.split(","):
            if not _is_host_and_port(pair):
                pod.invalid((*at, "registry"), registry, detail)


def _is_host_and_port(text: str) -> bool:
    """What Go's net.SplitHostPort takes."""
    host, found, port = text.rpartition(":")
    if not found or set(port) & set("[]"):
        return False
    if host.startswith("["):
        return host.endswith("]") and not set(host[1:-1]) & set("[]")
    return ":" not in host and not set(host) & set("[]")


def check_flex(pod: Setting, source: Object, at: Path) -> None:
    for key in source.get("options", {}):
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            pod.invalid((*at, "options", Key(key)), key, "kubernetes.io and k8s.io namespaces are reserved")


_DISKS = {
    True: ("/subscriptions/", "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
           "{disk-id}"),
    False: ("https://", "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"),
}  # fmt: skip


def check_azure_disk(pod: Setting, source: Object, at: Path) -> None:
    if "kind" in source:
        address = source.get("diskURI", "")
        start, pattern = _DISKS[source["kind"] == "Managed"]
        if not address.startswith(start):
            pod.not_supported((*at, "diskURI"), quote(address), (pattern,))


def check_image(pod: Setting, source: Object, at: Path) -> None:
    kept = "empty-image-reference"
    if not source.get("reference") and kept not in pod.allowed and (pod.is_pod or not pod.gates.get(kept)):
        pod.required((*at, "reference"))


def check_projections(pod: Setting, sources: Iterable[Object], at: Path) -> None:
    paths: set[str] = set()
    for index, part in enumerate(sources):
        check_projection(pod, part, (*at, index), paths)
