"""The head of an item, as much as selection may read."""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.krm.item import Item


def make_head(
    api_version: str,
    kind: str,
    name: str = "demo",
    namespace: str = "",
    labels: Mapping[str, str] = {},
    annotations: Mapping[str, str] = {},
) -> Item:
    """An object that says who it is, and nothing else."""
    metadata = {"name": name, "namespace": namespace, "labels": labels, "annotations": annotations}
    return Item.new({"apiVersion": api_version, "kind": kind, "metadata": metadata})
