"""Node. What kubelets write into the status is not checked.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidateNode, ValidateNodeUpdate).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.server.plain.values import read_network
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, find_repeated, invalid_text


def fill_node(kind: Kind, new: dict[str, Any]) -> None:
    """The older field of one network decides."""
    spec = new.setdefault("spec", {})
    alone, several = spec.get("podCIDR"), spec.get("podCIDRs", [])
    if alone and several[:1] != [alone]:
        spec["podCIDRs"] = [alone]
    elif several:
        spec["podCIDR"] = several[0]


def check_node(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    networks = map(read_network, new["spec"].get("podCIDRs", ()))
    families = [network.version for network in networks if network]
    if find_repeated(families):
        yield invalid_text(("spec", "podCIDRs"), "{…}", "may specify no more than one CIDR for each IP family")
