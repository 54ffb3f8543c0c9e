"""The rules of claims for volumes, as pods and StatefulSets make them, that are no rows.

Source: ValidatePersistentVolumeClaimTemplate and ValidatePersistentVolumeClaimSpec of
k8s.io/kubernetes/pkg/apis/core/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.metadata import check_template_metadata
from krmfn.server.pods.setting import Object
from krmfn.server.verdict import Cause, forbidden, invalid_text

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce")
_TEMPLATE_META = ("annotations", "labels")


def check_metadata_of_claims(kind: Any, meta: Object, path: Path) -> Iterator[Cause]:
    """What the claims of a template get: labels and annotations, nothing else."""
    yield from check_template_metadata(meta, path)
    for field in meta:
        if field not in _TEMPLATE_META:
            # The Go field in lower camel case, as the server spells it here.
            yield forbidden((*path, "uID" if field == "uid" else field), "cannot be set", "volume-claims")


def check_modes(kind: Any, modes: list[str], path: Path) -> Iterator[Cause]:
    if "ReadWriteOncePod" in modes and not set(modes).isdisjoint(_MODES):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def check_same_source(kind: Any, spec: Object, path: Path) -> Iterator[Cause]:
    source, reference = spec["dataSource"], spec["dataSourceRef"]
    if any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid_text(path, "{…}", "must match dataSourceRef")
