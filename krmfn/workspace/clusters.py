"""Facts from files: what kubectl prints about a cluster, and what `krmfn facts` makes of it, as one `spec.cluster`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from krmfn.krm import Stream, Unreadable
from krmfn.krm.json_reading import load_json
from krmfn.model.marks import FACTS_KIND, PREFIX
from krmfn.releases.gates import list_gates
from krmfn.workspace.files import read_paths, read_tree
from krmfn.workspace.trees import InputMissing, LeftOut, ManifestFile, Tree

#: How a component's metrics tell which feature gates are on.
_METRIC: Final = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)",[^}]*\} ([01])', re.M)


def read_clusters(paths: Sequence[str]) -> list[tuple[str, Any]]:
    """What each of the files and folders says about the cluster, with its path; `-` is stdin. It is spelled like
    `spec.cluster`, where it is a mapping. Raises InputMissing, also for what cannot be read."""
    inputs = read_paths(paths)
    return _read_files(inputs.files, inputs.left_out)


def read_cluster_in(tree: Tree, paths: Iterable[str]) -> list[tuple[str, Any]]:
    """As read_clusters, in a tree."""
    before = len(tree.left_out)
    files = [file for path in paths for file in read_tree(tree, path).files]
    return _read_files(files, tree.left_out[before:])


def merge(clusters: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Several clusters' facts as one: lists one after the other, maps together; the last value of a key counts.

    >>> merge([{"items": [1], "nodes": []}, {"items": [2], "featureGates": {"a": {}}}])
    {'items': [1, 2], 'nodes': [], 'featureGates': {'a': {}}}
    """
    merged: dict[str, Any] = {}
    for cluster in clusters:
        for key, value in cluster.items():
            before = merged.get(key)
            if isinstance(before, list) and isinstance(value, list):
                merged[key] = [*before, *value]
            elif isinstance(before, Mapping) and isinstance(value, Mapping):
                merged[key] = {**before, **value}
            else:
                merged[key] = value
    return merged


def _read_files(files: Iterable[ManifestFile], left_out: Sequence[LeftOut]) -> list[tuple[str, Any]]:
    if left_out:
        raise InputMissing(str(left_out[0]))
    found = []
    for path, data in files:
        try:
            found += [(path, facts) for facts in _sort(_read_objects(path, data))]
        except Unreadable as error:
            raise InputMissing(error.spell(path)) from None
    return found


def _read_objects(path: str, data: bytes) -> Iterator[Mapping[str, Any]]:
    """Every object of a file. What kubectl prints as JSON is read without keeping its text, which takes a tenth.
    Metrics of kube-apiserver (`kubectl get --raw /metrics`) or of kube-scheduler are facts about its gates."""
    gates = dict(_METRIC.findall(data))
    if gates:
        component = "kube-scheduler" if b"\nscheduler_" in data else "kube-apiserver"
        known = {name: gates[name.encode()] == b"1" for name in list_gates() if name.encode() in gates}
        yield {"apiVersion": f"{PREFIX}v1alpha1", "kind": FACTS_KIND, "spec": {"featureGates": {component: known}}}
        return
    if data[:1] == b"{":
        try:
            value = load_json(data)
        except ValueError:
            value = None  # several documents, or spoilt: said by the ordinary way
        if isinstance(value, dict):
            yield value
            return
    for item in Stream.parse(data, path).items:
        yield item.value


def _sort(values: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Facts of one object each: a ClusterFacts gives its spec, a list its items, everything else is an item."""
    items: list[Any] = []
    for value in values:
        kind, listed = str(value.get("kind") or ""), value.get("items")
        objects = [value]
        if kind.endswith("List") and isinstance(listed, list):
            inner = {"apiVersion": value.get("apiVersion"), "kind": kind.removesuffix("List")} if kind != "List" else {}
            objects = [{**inner, **each} for each in listed if isinstance(each, Mapping)]
        for each in objects:
            if str(each.get("apiVersion") or "").startswith(PREFIX) and each.get("kind") == FACTS_KIND:
                spec = each.get("spec")
                yield {} if spec is None else spec
            else:
                items.append(each)
    if items:
        yield {"items": items}
