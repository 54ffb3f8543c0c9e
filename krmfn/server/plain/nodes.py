"""Node. What kubelets write into the status is not checked.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidateNode, ValidateNodeUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.plain.values import read_network
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, find_repeated, forbidden, invalid_text

_SPEC: Path = ("spec",)


def fill_node(kind: Kind, new: dict[str, Any]) -> None:
    """The older field of one network decides."""
    spec = new.setdefault("spec", {})
    alone, several = spec.get("podCIDR"), spec.get("podCIDRs", [])
    if alone and several[:1] != [alone]:
        spec["podCIDRs"] = [alone]
    elif several:
        spec["podCIDR"] = several[0]


def check_node(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec, before = new["spec"], old["spec"] if old else {}
    path, networks = (*_SPEC, "podCIDRs"), spec.get("podCIDRs", [])
    families = [network.version for network in map(read_network, networks) if network]
    if find_repeated(families):
        yield invalid_text(path, "{…}", "may specify no more than one CIDR for each IP family")
    if not old:
        return
    if before.get("podCIDRs", networks) != networks:
        yield forbidden(path, 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID", spec.get("providerID")) != spec.get("providerID"):
        what = "modified" if spec.get("providerID") else "cleared"
        yield invalid_text((*_SPEC, "providerID"), "null", f"field cannot be {what} once set", "immutable")
    if before.get("externalID", "") != spec.get("externalID", ""):
        yield forbidden((*_SPEC, "externalID"), "may not be updated")
