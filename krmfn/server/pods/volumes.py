"""The rules of volumes, their sources and claims.

What is said of one field is a row of `schemas/kubernetes/parts.json`. Some paths are not those of the field, as the
server's are not.

Source: ValidateVolumes, ValidatePersistentVolumeClaimTemplate and the functions that they call in
k8s.io/kubernetes/pkg/apis/core/validation; ValidateSignerName and ValidateClusterTrustBundleName of
pkg/apis/certificates/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_part
from krmfn.server.formats import Form, check_label_key, check_long_name, check_short_name, count_bytes
from krmfn.server.metadata import check_template_metadata
from krmfn.server.pods.spec import PodContext
from krmfn.server.spell import Key
from krmfn.server.verdict import Causes, duplicate, forbidden, invalid, invalid_text, refuse_text, required, too_long

#: The members of a volume in the order in which the server looks at them.
_SOURCES = schemastore.load("kubernetes/named.json")["sourcesOfPods"]
#: The words of its paths where they are not those of the field: for a second source, for what is wrong inside.
SECOND = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_INSIDE = {"gcePersistentDisk": "persistentDisk"}


def check_volumes(pod: PodContext, spec: Value, path: Path) -> Causes:
    """`volumes` of a spec. Those that are right are what mounts can name afterwards."""
    volumes = spec.get("volumes", ())
    made = {f"{pod.name}-{volume.get('name', '')}" for volume in volumes if "ephemeral" in volume} if pod.name else ()
    for index, volume in enumerate(volumes):
        at: Path = (*path, "volumes", index)
        name = volume.get("name", "")
        wrong = [*_check_source(pod, volume, name, at), *check_part(pod, "volume", volume, at)]
        if name in pod.volumes:
            wrong.append(duplicate((*at, "name"), quote(name)))
        if not wrong:
            pod.volumes[name] = volume
        yield from wrong
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        if claim in made and "persistentVolumeClaim" in volume:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid((*at, "persistentVolumeClaim", "claimName"), claim, detail)


def _check_source(pod: PodContext, volume: Value, name: str, at: Path) -> Causes:
    first = ""
    if "emptyDir" in volume:
        first = "emptyDir"
        yield from check_part(pod, "emptyDir", volume["emptyDir"], (*at, "emptyDir"))
    for kind in volume:
        if kind not in _SOURCES or kind == first:
            continue
        if not first:
            # The order of the manifest is not that of the server.
            first = next(known for known in _SOURCES if known in volume)
            yield from check_kind(pod, first, volume[first], name, at)
        if kind != first:
            yield forbidden((*at, SECOND.get(kind, kind)), "may not specify more than 1 volume type")
        if kind == "iscsi":
            yield from _check_initiator_length(volume["iscsi"], name, at)
    if not first:
        yield required(at, "must specify a volume type")


def check_kind(pod: PodContext, kind: str, source: Value, name: str, at: Path) -> Causes:
    """One source of a volume."""
    yield from check_part(pod, kind, source, (*at, _INSIDE.get(kind, kind)), "pod-volumes")
    if kind == "ephemeral" and pod.name and name:
        claim = f"{pod.name}-{name}"
        for message in check_long_name(claim):
            yield invalid((*at, "name"), name, f"PVC name {quote(claim)}: {message}")


def _check_initiator_length(source: Value, name: str, at: Path) -> Causes:
    text = f"{name}:{source.get('targetPortal', '')}"
    if "initiatorName" in source and len(text.encode("utf-8", "surrogatepass")) > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is"
            " specified."
        )
        yield invalid((*at, "name"), name, detail)


def check_quobyte(pod: PodContext, source: Value, at: Path) -> Causes:
    registry = source.get("registry", "")
    detail = "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        yield required((*at, "registry"), detail)
    elif len(source.get("tenant", "").encode("utf-8", "surrogatepass")) >= 65:
        text = "must be a UUID and may not exceed a length of 64 characters"
        yield required((*at, "tenant"), text)
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(\[[^][]*\]|[^][:]*):[^][:]*", pair):  # what Go's net.SplitHostPort takes
                yield invalid((*at, "registry"), registry, detail)


def check_flex(pod: PodContext, source: Value, at: Path) -> Causes:
    for key in source.get("options", {}):
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io")):
            yield invalid((*at, "options", Key(key)), key, "kubernetes.io and k8s.io namespaces are reserved")


def check_image(pod: PodContext, source: Value, at: Path) -> Causes:
    kept = "empty-image-reference"
    if not source.get("reference") and kept not in pod.allowed and (pod.is_pod or not pod.gates.get(kept)):
        yield required((*at, "reference"))


def check_projections(pod: PodContext, sources: Iterable[Value], at: Path) -> Causes:
    """The sources of a volume, whose files differ; the server names the volume where two meet."""
    paths: set[str] = set()
    for index, part in enumerate(sources):
        yield from check_part(pod, "projection", part, (*at, index))
        for path, shown in _list_files(part):
            if path in paths:
                yield invalid(at[:-1], shown, "conflicting duplicate paths")
            paths.add(path)


def _list_files(part: Value) -> Iterator[tuple[str, str]]:
    """The paths of the files of a source, and what the server shows of each."""
    for kind in ("secret", "configMap", "downwardAPI"):
        for item in part.get(kind, {}).get("items", ()):
            if path := item.get("path", ""):
                yield path, path if kind == "downwardAPI" else part[kind].get("name", "")
    if "clusterTrustBundle" in part:
        path = part["clusterTrustBundle"].get("path", "")
        yield path, path
    for field in ("credentialBundlePath", "keyPath", "certificateChainPath"):
        if path := part.get("podCertificate", {}).get(field, ""):
            yield path, path


_NO_DOMAIN = 'must be a domain-prefixed key (such as "acme.io/foo")'


def check_bundle_name(pod: PodContext, name: str, path: Path) -> Causes:
    """A bundle of a signer is named after it: its name with colons, a colon, a DNS name."""
    signer, found, rest = name.rpartition(":")
    wrong = check_long_name(rest)
    if found and not signer:
        wrong = ('ClusterTrustBundle without signer name must not have ":" in its name',)
    yield from refuse_text(path, name, [f"not a valid clustertrustbundlename: {message}" for message in wrong])


def check_signer(pod: PodContext, name: str, path: Path) -> Causes:
    """`domain/path`, both of DNS names."""
    if not name:
        yield required(path)
        return
    if name.count("/") != 1:
        detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(path, name, detail)
        return
    domain, _, rest = name.partition("/")
    if count_bytes(domain) > 253:
        yield too_long(path, 253)
    yield from _check_labels(domain, check_short_name, path)
    if "." not in domain:
        yield invalid(path, domain, "should be a domain with at least two segments separated by dots")
    yield from _check_labels(rest, check_long_name, path)
    if count_bytes(name) > 571:
        yield too_long(path, 571)


def _check_labels(text: str, check: Form, path: Path) -> Causes:
    """The first part between dots that is wrong."""
    for label in text.split("."):
        wrong = check(label)
        for message in wrong:
            yield invalid(path, text, f"validating label {quote(label)}: {message}")
        if wrong:
            return


def check_user_annotations(pod: PodContext, annotations: Value, path: Path) -> Causes:
    for key in map(str.lower, annotations):
        wrong = check_label_key(key) if "/" in key or check_label_key(key) else (_NO_DOMAIN,)
        yield from refuse_text(path, key, wrong)


def check_metadata_of_claims(kind: Any, meta: Value, path: Path) -> Causes:
    """What the claims of a template get: labels and annotations, nothing else."""
    yield from check_template_metadata(meta, path)
    for field in meta:
        if field not in ("annotations", "labels"):
            # The Go field in lower camel case, as the server spells it here.
            yield forbidden((*path, "uID" if field == "uid" else field), "cannot be set", "volume-claims")


def check_same_source(kind: Any, spec: Value, path: Path) -> Causes:
    source, reference = spec["dataSource"], spec["dataSourceRef"]
    if any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid_text(path, "{…}", "must match dataSourceRef")
