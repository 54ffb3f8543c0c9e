"""The rules of claims for volumes, as pods and StatefulSets make them.

Source: ValidatePersistentVolumeClaimTemplate and ValidatePersistentVolumeClaimSpec of
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.server.amounts import write_amount
from krmfn.server.formats import check_long_name, check_short_name
from krmfn.server.metadata import check_template_metadata
from krmfn.server.pods.placement import check_selector
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.spell import Key
from krmfn.server.verdict import Cause, forbidden

_RULE = "volume-claims"
MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_TEMPLATE_META = ("annotations", "labels")


def check_claim_template(template: Object, path: Path, pod: Setting) -> None:
    """The template of an ephemeral volume."""
    pod.out.extend(check_metadata_of_claims(template.get("metadata", {}), (*path, "metadata")))
    check_claim_spec(template.get("spec", {}), (*path, "spec"), pod)


def check_metadata_of_claims(meta: Object, path: Path) -> Iterator[Cause]:
    """What the claims of a template get: labels and annotations, nothing else."""
    yield from check_template_metadata(meta, path)
    for field in meta:
        if field not in _TEMPLATE_META:
            # The Go field in lower camel case, as the server spells it here.
            yield forbidden((*path, "uID" if field == "uid" else field), _RULE, "cannot be set")


def check_claim_spec(spec: Object, path: Path, pod: Setting) -> None:
    """The spec of a claim that is made."""
    modes = spec.get("accessModes", ())
    if not modes:
        pod.required((*path, "accessModes"), _RULE, "at least 1 access mode is required")
    check_selector(spec.get("selector"), (*path, "selector"), _RULE, pod)
    for mode in modes:
        pod.check_choice((*path, "accessModes"), _RULE, mode, MODES)
    if "ReadWriteOncePod" in modes and any(mode in MODES and mode != "ReadWriteOncePod" for mode in modes):
        pod.forbidden((*path, "accessModes"), _RULE, "may not use ReadWriteOncePod with other access modes")
    _check_storage(spec, (*path, "resources", Key("storage")), pod)
    for field in ("storageClassName", "volumeAttributesClassName"):
        name = spec.get(field)
        if name and (field == "storageClassName" or pod.is_on("VolumeAttributesClass")):
            pod.refuse((*path, field), _RULE, name, check_long_name(name))
    pod.check_option(spec, "volumeMode", path, _RULE, ("Block", "Filesystem"))
    _check_sources(spec, path, pod)


def _check_storage(spec: Object, path: Path, pod: Setting) -> None:
    amount = spec.get("resources", {}).get("requests", {}).get("storage")
    if amount is None:
        pod.required(path, _RULE)
    elif amount <= 0:
        pod.invalid(path, _RULE, write_amount(amount), "must be greater than zero")


def _check_sources(spec: Object, path: Path, pod: Setting) -> None:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, value in (("dataSource", source), ("dataSourceRef", reference)):
        if value is None:
            continue
        at = (*path, field)
        for name in ("name", "kind"):
            if not value.get(name):
                pod.required((*at, name), _RULE)
        group = value.get("apiGroup") or ""
        if not group and value.get("kind") != "PersistentVolumeClaim":
            detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            pod.invalid(at, _RULE, value.get("kind", ""), detail)
        if group:
            pod.refuse((*at, "apiGroup"), _RULE, group, check_long_name(group))
    namespace = (reference or {}).get("namespace") or ""
    if namespace:
        pod.refuse((*path, "dataSourceRef", "namespace"), _RULE, namespace, check_short_name(namespace))
    if source is None or reference is None:
        return
    if namespace:
        pod.invalid_text(path, _RULE, "{…}", "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        pod.invalid_text(path, _RULE, "{…}", "must match dataSourceRef")
