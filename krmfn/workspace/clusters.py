"""Facts from files: what kubectl prints about a cluster, and what `krmfn facts` makes of it, as one `spec.cluster`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from krmfn.krm import Item, Stream, Unreadable
from krmfn.krm.json_lists import Skip, read_list
from krmfn.model.marks import FACTS_KIND, PREFIX
from krmfn.model.values import Fields, Value
from krmfn.releases.release import list_gates
from krmfn.workspace.manifests import read_paths, read_tree
from krmfn.workspace.trees import MOST_OF_CLUSTERS, InputMissing, ManifestFile, Tree

#: How a component's metrics tell which feature gates are on.
_METRIC = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)",[^}]*\} ([01])', re.M)
_NAME = b"kubernetes_feature_enabled{"
#: The head of a pod, up to the first field of its metadata; and the field of these that is looked for.
_POD = re.compile(rb'\{\s+"apiVersion": "v1",\s+"kind": "Pod",\s+"metadata": \{(\s+)')
_SPACE = b'"namespace":'
#: What is kept of an object.
Cut = Callable[[Any], Any]


def read_clusters(paths: Sequence[str], cut: Cut, tree: Tree | None = None) -> list[tuple[str, Any]]:
    """What each of the files and folders, of a tree where one is given, says about the cluster, with its path; `-` is
    stdin. It is spelled like `spec.cluster`, where it is a mapping; of every object is there what `cut` leaves. Raises
    InputMissing, also for what cannot be read."""
    files: Iterable[ManifestFile]
    if tree is None:
        files, left_out = read_paths(paths, most=MOST_OF_CLUSTERS)
    else:
        before = len(tree.left_out)
        files = [file for path in paths for file in read_tree(tree, path).files]
        left_out = tree.left_out[before:]
    if left_out:
        raise InputMissing(str(left_out[0]))
    found = []
    for path, data in files:
        try:
            found += [(path, facts) for facts in _sort(_read_objects(path, data, cut))]
        except Unreadable as error:
            raise InputMissing(error.spell(path)) from None
    return found


def merge(clusters: Iterable[Value]) -> Fields:
    """Several clusters' facts as one: lists one after the other, maps together; the last value of a key counts.

    >>> merge([{"items": [1], "nodes": []}, {"items": [2], "featureGates": {"a": {}}}])
    {'items': [1, 2], 'nodes': [], 'featureGates': {'a': {}}}
    """
    merged: Fields = {}
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


def _read_objects(path: str, data: bytes, cut: Cut) -> Iterator[Value]:
    """Every object of a file. What kubectl prints as JSON is read without keeping its text, which takes a tenth.
    Metrics of kube-apiserver (`kubectl get --raw /metrics`) or of kube-scheduler are facts about its gates."""
    value = read_json(data, cut)
    if value is not None:
        yield value
        return
    gates = dict(_METRIC.findall(data)) if _NAME in data else {}
    if gates:
        component = "kube-scheduler" if b"\nscheduler_" in data else "kube-apiserver"
        known = {name: gates[name.encode()] == b"1" for name in list_gates() if name.encode() in gates}
        yield {"apiVersion": f"{PREFIX}v1alpha1", "kind": FACTS_KIND, "spec": {"featureGates": {component: known}}}
        return
    for item in Stream.parse(data, path).items:
        yield cut(item.value)


def read_json(data: bytes, cut: Cut, skip: Skip | None = None) -> Fields | None:
    """The object of a text in JSON; of a list only what `cut` leaves of each object that `skip` does not pass over
    (see read_list). None for other texts, of several documents too, and for what is spoilt: that is said by the
    ordinary way."""
    if data[:1] != b"{":
        return None
    value: Fields = {}
    try:
        for key, each in read_list(data, skip):
            if key is None:
                value["items"].append(cut({**_name_kind(value), **each} if isinstance(each, dict) else each))
            else:
                value[key] = each
    except ValueError:
        return None
    return value


class LiveObjects(NamedTuple):
    """The objects of files, the nodes among them, of which nobody asks why they do not run, and the files that are not
    read."""

    items: list[Item]
    nodes: list[Any]
    others: list[ManifestFile]


def read_live(files: Iterable[ManifestFile], cut: Cut, skip: Skip | None) -> LiveObjects:
    """The objects of those files that are lists in JSON, without those to `skip`; of nodes what `cut` leaves."""
    live = LiveObjects([], [], [])
    for file in files:
        value = read_json(file.data, lambda each: cut(each) if _is_node(each) else each, skip)
        if value is None or not isinstance(value.get("items"), list):
            live.others.append(file)
            continue
        for each in value["items"]:
            if _is_node(each):
                live.nodes.append(each)
            elif isinstance(each, dict):
                live.items.append(Item.hold(each))
    return live


def leave_out_pods(spaces: Iterable[str]) -> Skip:
    """Passes over pods of other namespaces: most pods of a cluster are of no use to who asks about one object. What is
    not written as kubectl writes it is read."""
    known = tuple(json.dumps(space).encode() for space in spaces)

    def skip(data: bytes, at: int, end: int) -> bool:
        head = _POD.match(data, at, end)
        place = data.find(_SPACE, head.end(), end) if head else -1
        while head and place >= 0 and not data.endswith(head[1], at, place):  # of something deeper
            place = data.find(_SPACE, place + 1, end)
        return place >= 0 and not data.startswith(known, place + len(_SPACE) + 1)

    return skip


def leave_out_lacking(word: str) -> Skip:
    """Passes over what does not hold a word as a string."""
    sign = json.dumps(word).encode()
    return lambda data, at, end: data.find(sign, at, end) < 0


def _is_node(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") == "Node" and value.get("apiVersion") == "v1"


def _name_kind(listed: Value) -> Fields:
    """What every object of a list is, where that stands at the list."""
    kind = str(listed.get("kind") or "")
    of_one = kind.endswith("List") and kind != "List"
    return {"apiVersion": listed.get("apiVersion"), "kind": kind.removesuffix("List")} if of_one else {}


def _sort(values: Iterable[Value]) -> Iterator[Value]:
    """Facts of one object each: a ClusterFacts gives its spec, a list its items, everything else is an item."""
    items = []
    for value in values:
        kind, listed = str(value.get("kind") or ""), value.get("items")
        objects = [value]
        if kind.endswith("List") and isinstance(listed, list):
            inner = _name_kind(value)
            objects = [{**inner, **each} if inner else each for each in listed if isinstance(each, Mapping)]
        for each in objects:
            if str(each.get("apiVersion") or "").startswith(PREFIX) and each.get("kind") == FACTS_KIND:
                spec = each.get("spec")
                yield {} if spec is None else spec
            else:
                items.append(each)
    if items:
        yield {"items": items}
