"""What a dump says of Kueue itself: its line, how its manager is configured, and its Workloads; and what of it `facts`
keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from krmfn.krm.errors import Unreadable
from krmfn.krm.item import Item
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text, dig
from krmfn.releases import schemastore

KUEUE: Final = "kueue.x-k8s.io"
NEWEST: Final = "0.19"
#: Other managers have a key of this name, too.
SETTINGS: Final = "controller_manager_config.yaml"


def find_version(deployment: Value) -> str:
    """The version of the Kueue that a Deployment runs, by its image; empty if it runs something else."""
    boxes = as_list(deployment, "spec", "template", "spec", "containers")
    images = (as_text(box, "image").partition("@")[0].rpartition("/kueue:v") for box in boxes)
    return next((tag for _, found, tag in images if found), "")


def find_line(cluster: Value) -> str:
    """The minor version of the Kueue whose Deployment a dump has; the newest one without."""
    made = (as_mapping(value) for value in as_list(cluster, "items") if dig(value, "kind") == "Deployment")
    return next((".".join(tag.split(".")[:2]) for tag in map(find_version, made) if tag), NEWEST)


def read_configuration(config_map: Value) -> Value:
    """What of the configuration of Kueue's manager decides about admissions; empty if the ConfigMap has none."""
    text = as_text(config_map, "data", SETTINGS)
    try:
        given = as_mapping(Item.parse(text.encode()).value) if f"config.{KUEUE}" in text else {}
    except Unreadable:
        given = {}
    return _keep(given, "configuration")


def shrink(items: Iterable[Value], cut_pod: Callable[[Value], Value]) -> Iterator[Value]:
    """Of the Workloads and Deployments of a dump those that say what Kueue decides, and only what it reads."""
    for item in items:
        if item.get("kind") == "Deployment":
            version = find_version(item)
            spec = {"template": {"spec": {"containers": [{"image": f"kueue/kueue:v{version}"}]}}}
            if version:
                yield {
                    "apiVersion": "apps/v1",
                    "kind": "Deployment",
                    "metadata": _keep(item.get("metadata"), "metadata"),
                    "spec": spec,
                }
        elif as_text(item, "apiVersion").startswith(KUEUE) and not _is_finished(item):
            yield _shrink_workload(item, cut_pod)


def keep_configuration(config_map: Value) -> dict[str, str]:
    """The data of a ConfigMap that `read_configuration` reads."""
    given = read_configuration(config_map)
    return {SETTINGS: json.dumps(given)} if given else {}


def list_hosts(workload: Value) -> Iterator[str]:
    """The values of the last level of the topology that the pods of a Workload are assigned to: nodes, if it is their
    names."""
    for assigned in as_list(workload, "status", "admission", "podSetAssignments"):
        for domain in as_list(assigned, "topologyAssignment", "domains"):  # kueue.x-k8s.io/v1beta1
            yield from map(as_text, as_list(domain, "values")[-1:])
        for part in as_list(assigned, "topologyAssignment", "slices"):
            for level in as_list(part, "valuesPerLevel")[-1:]:
                each = as_mapping(level, "individual")
                roots = as_list(each, "roots") or [dig(level, "universal")]
                yield from (f"{each.get('prefix', '')}{root}{each.get('suffix', '')}" for root in roots)


def find_time(workloads: Iterable[Value]) -> str:
    """When the newest thing happened that Workloads tell; empty without any. What they have to do within a time is not
    late when a dump is older."""
    said = [(dig(each, "metadata", "creationTimestamp"), dig(each, "status", "conditions")) for each in workloads]
    changed = (dig(row, "lastTransitionTime") for _, rows in said for row in as_list(rows))
    return max(map(as_text, (*(created for created, _ in said), *changed)), default="")


def _is_finished(workload: Value) -> bool:
    conditions = as_list(workload, "status", "conditions")
    return any(dig(each, "type") == "Finished" and dig(each, "status") == "True" for each in conditions)


def _keep(value: object, part: str) -> Fields:
    """Of a mapping the keys that are kept of such a part."""
    given = as_mapping(value)
    return {key: given[key] for key in schemastore.load("cluster.json")["kueue"][part] if key in given}


def _shrink_workload(workload: Value, cut_pod: Callable[[Value], Value]) -> Value:
    metadata, given = _keep(workload.get("metadata"), "metadata"), as_mapping(workload, "metadata")
    for field in ("labels", "annotations"):
        marks = {key: text for key, text in as_mapping(given.get(field)).items() if KUEUE in key}
        metadata |= {field: marks} if marks else {}
    metadata |= {"ownerReferences": given["ownerReferences"]} if "ownerReferences" in given else {}
    spec = dict(as_mapping(workload, "spec"))
    spec["podSets"] = [
        {**as_mapping(pods), "template": {"spec": cut_pod(as_mapping(pods, "template"))["spec"]}}
        for pods in as_list(spec, "podSets")
    ]
    status = _keep(workload.get("status"), "status")
    status["conditions"] = [_keep(row, "condition") for row in as_list(workload, "status", "conditions")]
    return {**workload, "metadata": metadata, "spec": spec, "status": status}
