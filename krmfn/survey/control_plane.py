"""What a dump says of programs of the cluster. Feature gates of a running control plane, from its own pods: static pods
show the flags that they were started with. A gate that no flag names has the default of the release that the image is
tagged with; without a tag it stays open. And Kueue itself: its line, how its manager is configured, and its Workloads;
and what of it `facts` keep.

Sources: k8s.io/component-base/featuregate (AllAlpha, AllBeta), kubeadm's and kops' manifests of static pods."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from krmfn.krm.errors import Unreadable
from krmfn.krm.item import Item
from krmfn.model.values import Fields, Value, as_list, as_mapping, as_text, dig, pick
from krmfn.releases import schemastore
from krmfn.releases.release import Gate, UnknownRelease, find_release

_COMPONENTS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
#: The namespace of these programs.
PROGRAMS = "kube-system"
_FLAG = re.compile(r"--feature-gates[= ]\s*[\"']?([\w=,]+)")
_PLUGINS = re.compile(r"--enable-admission-plugins[= ]\s*[\"']?([\w,]+)")
_TAG = re.compile(r":v?(1\.\d+)\.")
#: Groups of a Cluster Autoscaler: --nodes=<min>:<max>:<name>.
_GROUPS = re.compile(r"--nodes[= ](\d{1,9}):(\d{1,9}):(\S+)")
#: Names that stand for all gates of a stage.
_STAGES = {"alpha": "AllAlpha", "beta": "AllBeta"}


class Program(NamedTuple):
    """A program of the control plane: its component, the namespace/name of its pod, and its gates; those in `named` are
    in its flags, the others have the release's default. `plugins` are the admission plugins that its flags name."""

    component: str
    pod: str
    gates: Mapping[str, bool]
    named: frozenset[str]
    plugins: frozenset[str] = frozenset()


def is_program(pod: Value) -> bool:
    """Whether a pod may be one of the control plane."""
    return as_text(pod, "metadata", "namespace") == PROGRAMS


def read_programs(pods: Iterable[Value]) -> Iterator[Program]:
    """The programs of the control plane that are among these pods."""
    for pod in pods:
        if not is_program(pod):
            continue
        labels = (dig(pod, "metadata", "labels", "component"), dig(pod, "metadata", "labels", "k8s-app"))
        for container in as_list(pod, "spec", "containers"):
            component = next((name for name in _COMPONENTS if name in (*labels, dig(container, "name"))), "")
            words = _join_command(container)
            if component and words:  # facts that were shrunk have no commands
                given = _read_flags(words)
                known = _find_gates(as_text(container, "image"))
                stages = {
                    row.name: given.get(_STAGES.get(row.stage, ""), row.default)
                    for row in known
                    if component in row.components
                }
                named = {name: on for name, on in given.items() if name not in _STAGES.values()}
                pod_name = f"{PROGRAMS}/{as_text(pod, 'metadata', 'name')}"
                plugins = frozenset(name for text in _PLUGINS.findall(words) for name in text.split(","))
                yield Program(component, pod_name, {**stages, **named}, frozenset(named), plugins)


def read_node_groups(pods: Iterable[Value]) -> Iterator[Fields]:
    """The groups that the flags of a Cluster Autoscaler name, as the facts spell pools."""
    for pod in pods:
        for container in as_list(pod, "spec", "containers"):
            words = _join_command(container)
            if "cluster-autoscaler" in words or "cluster-autoscaler" in as_text(container, "image"):
                for least, most, name in _GROUPS.findall(words):
                    yield {"name": name, "min": int(least), "max": int(most)}


def merge_gates(programs: Iterable[Program], given: Value) -> dict[str, Fields]:
    """The gates by component, `given` ones first. Where the pods of a component differ, a gate stays open."""
    found: dict[str, Fields] = {}
    contradicted = set()
    for program in programs:
        gates = found.setdefault(program.component, {})
        for name, on in program.gates.items():
            if gates.setdefault(name, on) is not on:
                contradicted.add((program.component, name))
    for component, name in contradicted:
        del found[component][name]
    for component, said in given.items():
        found[component] = {**found.get(component, {}), **as_mapping(said)}
    return found


def _join_command(container: object) -> str:
    return " ".join(str(word) for field in ("command", "args") for word in as_list(container, field))


def _read_flags(words: str) -> dict[str, bool]:
    """Of several flags the last one counts, gate by gate."""
    pairs = (pair.partition("=") for text in _FLAG.findall(words) for pair in text.split(",") if "=" in pair)
    return {name: value.lower() in ("true", "t", "1") for name, _, value in pairs}


def _find_gates(image: str) -> Iterable[Gate]:
    tag = _TAG.search(image)
    try:
        return find_release(tag[1]).gates.values() if tag else ()
    except UnknownRelease:
        return ()


KUEUE = "kueue.x-k8s.io"
NEWEST = "0.19"
#: Other managers have a key of this name, too.
SETTINGS = "controller_manager_config.yaml"


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
    """The values of the last topology level to which pods of a Workload are assigned: nodes, if it is their names."""
    for assigned in as_list(workload, "status", "admission", "podSetAssignments"):
        for domain in as_list(assigned, "topologyAssignment", "domains"):  # kueue.x-k8s.io/v1beta1
            yield from map(as_text, as_list(domain, "values")[-1:])
        for part in as_list(assigned, "topologyAssignment", "slices"):
            for level in as_list(part, "valuesPerLevel")[-1:]:
                each = as_mapping(level, "individual")
                roots = as_list(each, "roots") or [dig(level, "universal")]
                yield from (f"{each.get('prefix', '')}{root}{each.get('suffix', '')}" for root in roots)


def find_time(workloads: Iterable[Value]) -> str:
    """The newest time in Workloads, "" without any: the deadlines of an old dump are not overdue."""
    said = [(dig(each, "metadata", "creationTimestamp"), dig(each, "status", "conditions")) for each in workloads]
    changed = (dig(row, "lastTransitionTime") for _, rows in said for row in as_list(rows))
    return max(map(as_text, (*(created for created, _ in said), *changed)), default="")


def _is_finished(workload: Value) -> bool:
    conditions = as_list(workload, "status", "conditions")
    return any(dig(each, "type") == "Finished" and dig(each, "status") == "True" for each in conditions)


def _keep(value: object, part: str) -> Fields:
    """Of a mapping the keys that are kept of such a part."""
    return pick(value, schemastore.load("cluster.json")["kueue"][part])


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
