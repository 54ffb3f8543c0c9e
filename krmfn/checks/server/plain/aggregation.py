"""APIService.

Source: k8s.io/kube-aggregator/pkg/apis/apiregistration/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.checks.server.formats import check_dns_1035, check_long_name
from krmfn.checks.server.plain.config import read_bytes
from krmfn.checks.server.plain.values import RULE, refuse
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import Cause, invalid, required
from krmfn.krm.paths import Path
from krmfn.krm.types import Any
from krmfn.model.gotext import quote

_SPEC: Path = ("spec",)


def fill_api_service(kind: Kind, new: dict[str, Any]) -> None:
    if "service" in new.setdefault("spec", {}):
        new["spec"]["service"].setdefault("port", 443)


def check_api_service(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    group, version, name = spec.get("group", ""), spec.get("version", ""), new["metadata"].get("name", "")
    whole = f"{version}.{group}"
    if name != whole and "/" not in name and "%" not in name:
        yield invalid(("metadata", "name"), RULE, name, f'must be `spec.version+"."+spec.group`: {quote(whole)}')
    if not group and version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        yield required((*_SPEC, "group"), "required", detail)
    if group:
        yield from refuse((*_SPEC, "group"), group, check_long_name(group))
    yield from refuse((*_SPEC, "version"), version, check_dns_1035(version))
    for field, most in (("groupPriorityMinimum", 20_000), ("versionPriority", 1_000)):
        if not 0 < spec.get(field, 0) <= most:
            yield invalid((*_SPEC, field), RULE, spec.get(field, 0), f"must be positive and less than {most}")
    bundle, insecure = read_bytes(spec.get("caBundle", "")), spec.get("insecureSkipTLSVerify", False)
    service = spec.get("service")
    if service is None:
        if bundle:
            detail = "local APIServices may not have a caBundle"
            yield invalid((*_SPEC, "caBundle"), RULE, f"{len(bundle)} bytes", detail)
        if insecure:
            detail = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid((*_SPEC, "insecureSkipTLSVerify"), RULE, insecure, detail)
        return
    for field in ("namespace", "name"):
        if not service.get(field):
            yield required((*_SPEC, "service", field), "required")
    if not 1 <= service["port"] <= 65535:
        detail = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid((*_SPEC, "service", "port"), RULE, service["port"], detail)
    if insecure and bundle:
        yield invalid((*_SPEC, "insecureSkipTLSVerify"), RULE, insecure, "may not be true if caBundle is present")
