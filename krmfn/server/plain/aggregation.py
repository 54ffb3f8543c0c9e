"""APIService.

Source: k8s.io/kube-aggregator/pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.plain.config import read_bytes
from krmfn.server.plain.values import RULE
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, invalid, required

_SPEC: Path = ("spec",)


def check_api_service(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), new["metadata"].get("name", "")
    whole = f"{version}.{group}"
    if name != whole and "/" not in name and "%" not in name:
        yield invalid(("metadata", "name"), RULE, name, f'must be `spec.version+"."+spec.group`: {quote(whole)}')
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        yield required((*_SPEC, "group"), "required", detail)
    bundle, insecure = read_bytes(spec.get("caBundle", "")), spec.get("insecureSkipTLSVerify", False)
    if insecure and bundle and "service" in spec:
        yield invalid((*_SPEC, "insecureSkipTLSVerify"), RULE, insecure, "may not be true if caBundle is present")
    if "service" in spec:
        return
    if bundle:
        detail = "local APIServices may not have a caBundle"
        yield invalid((*_SPEC, "caBundle"), RULE, f"{len(bundle)} bytes", detail)
    if insecure:
        detail = "local APIServices may not have insecureSkipTLSVerify"
        yield invalid((*_SPEC, "insecureSkipTLSVerify"), RULE, insecure, detail)
