"""APIService.

Source: k8s.io/kube-aggregator/pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.model.gotext import quote
from krmfn.server.plain.config import read_bytes
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid


def check_api_service(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), new["metadata"].get("name", "")
    whole = f"{version}.{group}"
    if name != whole and "/" not in name and "%" not in name:
        yield invalid(("metadata", "name"), name, f'must be `spec.version+"."+spec.group`: {quote(whole)}')
    bundle = read_bytes(spec.get("caBundle", ""))
    if bundle and "service" not in spec:
        detail = "local APIServices may not have a caBundle"
        yield invalid(("spec", "caBundle"), f"{len(bundle)} bytes", detail)
