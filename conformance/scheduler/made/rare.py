"""What few manifests have and a scheduler looks at all the same. Each function adds one thing to a finished scenario.

A change that finds nothing to work on returns False; the scenario then has one less.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

from conformance.scheduler.made import relations
from conformance.scheduler.made.clusters import HOST, RACK, ZONE
from conformance.scheduler.made.mistakes import pod_specs
from conformance.scheduler.made.relations import choose_spec, objects_of

Value = dict[str, Any]
Change = Callable[[Random, Value], bool]


def enrich(random: Random, scenario: Value) -> list[str]:
    """Adds two to four rare things in place; their names."""
    changes = random.sample(CHANGES, random.choice((2, 2, 3, 3, 4)))
    return [change.__name__.strip("_") for change in changes if change(random, scenario)]


def _groups(scenario: Value) -> list[Value]:
    return [value for value in objects_of(scenario) if value["kind"] == "PodGroup"]


def _amounts(box: Value, kind: str = "requests") -> Value:
    amounts: Value = box.setdefault("resources", {}).setdefault(kind, {})
    return amounts


def _store(scenario: Value, api_version: str, kind: str, name: str, namespace: str = "", **fields: Any) -> None:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    scenario["stored"].append({"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields})


def _limit(scenario: Value, name: str, item: Value) -> bool:
    _store(scenario, "v1", "LimitRange", name, "ml", spec={"limits": [item]})
    return True


def _quota(scenario: Value, name: str, **spec: Any) -> bool:
    _store(scenario, "v1", "ResourceQuota", name, "ml", spec=spec)
    return True


# Nodes


def _node_without_labels(random: Random, scenario: Value) -> bool:
    del random.choice(scenario["nodes"])["metadata"]["labels"]
    return True


def _host_label_twice(random: Random, scenario: Value) -> bool:
    """Two nodes with one host name, as clones of a machine have."""
    first, second = random.sample(scenario["nodes"], 2)
    if "labels" in first["metadata"] and "labels" in second["metadata"]:
        second["metadata"]["labels"][HOST] = first["metadata"]["labels"].get(HOST, "n1")
    return "labels" in second["metadata"]


def _amount_odd(random: Random, scenario: Value) -> bool:
    """Allocatable amounts as kubelets and people spell them."""
    amounts = random.choice(scenario["nodes"])["status"]["allocatable"]
    amounts |= random.choice(
        (
            {"cpu": "3.5"},
            {"cpu": "3920m"},
            {"memory": "7.5Gi"},
            {"memory": "8e9"},
            {"memory": "33000000Ki"},
            {"cpu": "0"},
        )
    )
    if random.random() < 0.3:
        del amounts["pods"]
    return True


def _several_taints(random: Random, scenario: Value) -> bool:
    """Taints of all effects; half of the templates tolerate one in one of the ways to write it."""
    node = random.choice(scenario["nodes"])
    node["spec"].setdefault("taints", []).extend(
        [
            {"key": "team", "value": "a", "effect": "NoExecute"},
            {"key": "team", "value": "a", "effect": random.choice(("NoSchedule", "PreferNoSchedule"))},
        ]
    )
    node["spec"]["taints"] = [dict(items) for items in {tuple(sorted(t.items())) for t in node["spec"]["taints"]}]
    node["spec"]["taints"].sort(key=lambda taint: sorted(taint.items()))
    for spec in pod_specs(objects_of(scenario)):
        toleration: Value = random.choice(
            (
                {"key": "team", "operator": "Exists"},
                {"key": "team", "operator": "Equal", "value": "a", "effect": "NoSchedule"},
                {"key": "team", "value": "a", "effect": "NoExecute", "tolerationSeconds": 30},
                {"operator": "Exists", "effect": "NoExecute"},
                {"operator": "Exists"},
                {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"},
            )
        )
        if random.random() < 0.5:
            spec.setdefault("tolerations", []).append(toleration)
    return True


def _cordoned_quietly(random: Random, scenario: Value) -> bool:
    """Cordoned, before the node controller adds the taint."""
    random.choice(scenario["nodes"])["spec"]["unschedulable"] = True
    return True


# Requests


def _whole_pod(random: Random, scenario: Value) -> bool:
    """Resources of the pod as a whole: limits alone, huge pages, more than its containers have."""
    spec = choose_spec(random, scenario)
    whole = random.choice(
        (
            {"limits": {"cpu": "40"}},
            {"limits": {"memory": "40Gi"}},
            {"requests": {"memory": "9Gi"}, "limits": {"memory": "12Gi"}},
            {"requests": {"cpu": "30"}, "limits": {"cpu": "40"}},
            {"requests": {"hugepages-2Mi": "64Mi", "cpu": "20"}, "limits": {"hugepages-2Mi": "64Mi"}},
        )
    )
    spec["resources"] = copy.deepcopy(whole)
    return True


def _init_device(random: Random, scenario: Value) -> bool:
    """A device that only an init container or a sidecar uses."""
    spec, count = choose_spec(random, scenario), str(random.choice((1, 2, 4, 8)))
    box: Value = {
        "name": "warm",
        "image": "registry.example/warm:1",
        "resources": {"limits": {"nvidia.com/gpu": count}},
    }
    if random.random() < 0.5:
        box["restartPolicy"] = "Always"
    spec.setdefault("initContainers", []).append(box)
    return True


def _sidecars(random: Random, scenario: Value) -> bool:
    """Init containers before, between and behind sidecars, some without requests."""
    boxes = choose_spec(random, scenario).setdefault("initContainers", [])
    for number in range(3):
        box: Value = {"name": f"s{number}", "image": "registry.example/side:1"}
        if random.random() < 0.8:
            box["resources"] = {random.choice(("requests", "limits")): {"cpu": random.choice(("0.5", "1500m", "3"))}}
        if random.random() < 0.6:
            box["restartPolicy"] = "Always"
        boxes.insert(random.randint(0, len(boxes)), box)
    return True


def _spelling(random: Random, scenario: Value) -> bool:
    """Amounts in other spellings."""
    amounts = _amounts(choose_spec(random, scenario)["containers"][0])
    amounts |= random.choice(
        ({"cpu": "0.1"}, {"cpu": "1.25"}, {"memory": "1e9"}, {"memory": "129M"}, {"cpu": "0"}, {"memory": "134217728"})
    )
    return True


def _limits_only(random: Random, scenario: Value) -> bool:
    box = choose_spec(random, scenario)["containers"][0]
    amounts = _amounts(box)
    box["resources"] = {"limits": {**box["resources"].get("limits", {}), **amounts}}
    return True


def _best_effort(random: Random, scenario: Value) -> bool:
    """Pods without any request, and a quota that counts such pods or the others; LimitRange defaults may decide."""
    for spec in pod_specs(objects_of(scenario)):
        if random.random() < 0.7:
            for box in (*spec["containers"], *spec.get("initContainers", [])):
                box.pop("resources", None)
            spec.pop("resources", None)
    scope = random.choice(("BestEffort", "NotBestEffort"))
    _quota(scenario, "effort", hard={"pods": str(random.choice((0, 1, 2)))}, scopes=[scope])
    if random.random() < 0.5:
        _limit(scenario, "defaults", {"type": "Container", "defaultRequest": {"cpu": "100m"}})
    return True


# Admission


def _quota_scopes(random: Random, scenario: Value) -> bool:
    """Scope selectors with every operator; pods that end by themselves."""
    if random.random() < 0.4:
        choose_spec(random, scenario)["activeDeadlineSeconds"] = 600
    name = random.choice(
        ("PriorityClass", "PriorityClass", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
    )
    entry: Value = {"scopeName": name, "operator": "Exists"}
    if name == "PriorityClass":
        entry["operator"] = random.choice(("In", "NotIn", "Exists", "DoesNotExist"))
        if entry["operator"] in ("In", "NotIn"):
            entry["values"] = random.sample(("high", "low", "patient"), random.choice((1, 2)))
    hard = {"pods": str(random.choice((0, 1, 3)))}
    return _quota(scenario, "scoped", hard=hard, scopeSelector={"matchExpressions": [entry]})


def _quota_resources(random: Random, scenario: Value) -> bool:
    """Quotas on what is counted in other ways: limits, devices, storage, number of objects."""
    return _quota(
        scenario,
        "amounts",
        hard=random.choice(
            (
                {"limits.cpu": random.choice(("2", "16"))},
                {"requests.memory": random.choice(("1Gi", "32Gi"))},
                {"count/pods": random.choice(("1", "3", "20"))},
                {"requests.ephemeral-storage": "1Gi"},
                {"requests.example.com/nic": "0"},
                {"requests.nvidia.com/gpu": random.choice(("0", "2"))},
                {"hugepages-2Mi": "0"},
                {"count/podgroups.scheduling.k8s.io": random.choice(("0", "1"))},
                {"count/workloads.scheduling.k8s.io": "0"},
            )
        ),
    )


def _limit_range(random: Random, scenario: Value) -> bool:
    """LimitRanges of every field, now and then two."""
    items: tuple[Value, ...] = (
        {"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}},
        {"type": "Container", "max": {"memory": "4Gi"}, "default": {"memory": "1Gi"}},
        {"type": "Container", "min": {"cpu": "200m"}, "defaultRequest": {"cpu": "300m"}},
        {"type": "Container", "default": {"cpu": "1", "memory": "512Mi"}},
        {"type": "Container", "max": {"nvidia.com/gpu": "2"}},
        {"type": "Pod", "min": {"cpu": "500m"}},
        {"type": "Pod", "max": {"memory": "8Gi"}},
        {"type": "Pod", "maxLimitRequestRatio": {"memory": "3"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "1Mi"}},
    )
    for number, item in enumerate(random.sample(items, random.choice((1, 1, 2)))):
        _limit(scenario, f"range{number}", copy.deepcopy(item))
    return True


def _runtime_tolerates(random: Random, scenario: Value) -> bool:
    """A runtime class with tolerations, and with a selector that may contradict the pod's."""
    scheduling: Value = {"tolerations": [{"operator": "Exists", "effect": "NoSchedule"}]}
    if random.random() < 0.5:
        scheduling["nodeSelector"] = {"pool": random.choice("ab")}
    overhead = {"podFixed": {"cpu": random.choice(("250m", "2")), "memory": "1Gi"}}
    fields: Value = {"handler": "kata", "scheduling": scheduling, "overhead": overhead}
    _store(scenario, "node.k8s.io/v1", "RuntimeClass", "kata", **fields)
    choose_spec(random, scenario)["runtimeClassName"] = "kata"
    return True


# Volumes


def _volume(random: Random, scenario: Value) -> bool:
    """Claims of every state: for a local volume that is free, for a zone by label alone, lost."""
    if any(value["metadata"]["name"] == "disk" for value in scenario["stored"]):
        return False
    spec, name = choose_spec(random, scenario), random.choice(("local", "labelled", "lost", "dynamic", "second"))
    host = random.choice(scenario["nodes"])["metadata"]["name"]
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [host]}]}]
    bound = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}
    volume: Value = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "slow"}
    volume["hostPath"] = {"path": "/data"}
    claim: Value = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim["storageClassName"] = "slow"
    storage: Value = {"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
    metadata: Value = {"name": "disk", "namespace": "ml", "annotations": {}}
    if name == "local":
        terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [host]}]}]
        volume["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
        if random.random() < 0.3:
            claim["resources"]["requests"]["storage"] = "5Gi"
        if random.random() < 0.2:
            claim["accessModes"] = ["ReadWriteMany"]
    elif name == "dynamic":
        storage["provisioner"] = "example.com/disk"
        zones = [{"key": ZONE, "values": [random.choice("abz")]}]
        storage["allowedTopologies"] = [{"matchLabelExpressions": zones}]
    else:
        claim["volumeName"] = "disk"
        metadata["annotations"] = bound
        volume["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": "ml", "name": "disk"}
    labels = {ZONE: random.choice(("a", "b", "a__b", "z"))} if name == "labelled" else {}
    _store(scenario, "storage.k8s.io/v1", "StorageClass", "slow", **storage)
    if name not in ("lost", "dynamic"):
        _store(scenario, "v1", "PersistentVolume", "disk", spec=volume)
        scenario["stored"][-1]["metadata"]["labels"] = labels
    if name == "gone":
        metadata["finalizers"] = ["example.com/keep"]
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"  # the server passes over it
    scenario["stored"].append(
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": claim}
    )
    spec["volumes"] = [{"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}]
    if name == "second":
        spec["volumes"].append({"name": "more", "persistentVolumeClaim": {"claimName": "bound"}})
    return True


# Gangs


def _two_kinds_in_one_group(random: Random, scenario: Value) -> bool:
    """The pods of two gangs in one group: its quorum may be met by one kind alone."""
    groups = _groups(scenario)
    specs = list(pod_specs(objects_of(scenario)))
    if len(groups) < 2 or len(specs) < 2:
        return False
    name = random.choice(groups)["metadata"]["name"]
    gang = next(g for g in scenario["gangs"] if any(v["metadata"]["name"] == name for v in g["objects"]))
    for spec in pod_specs(gang["objects"]):
        if "schedulingGroup" in spec:
            spec["schedulingGroup"] = {"podGroupName": name}
    return True


def _elsewhere(random: Random, scenario: Value) -> bool:
    """The same gang in another namespace, where quotas and claims of the first one mean nothing."""
    first = scenario["gangs"][0]
    if len(scenario["gangs"]) > 4 or any(v["metadata"].get("namespace") != "ml" for v in first["objects"]):
        return False
    second: Value = copy.deepcopy(first) | {"name": f"g{len(scenario['gangs'])}"}
    for value in second["objects"]:
        value["metadata"]["namespace"] = "data"
    scenario["gangs"].append(second)
    return random is not None


def _bound_by_hand(random: Random, scenario: Value) -> bool:
    """Some pods of a gang have a node already, also one that does not exist."""
    pods = [value for value in objects_of(scenario) if value["kind"] == "Pod"]
    for pod in random.sample(pods, min(len(pods), random.choice((1, 1, 2)))):
        pod["spec"] = {**pod["spec"], "nodeName": random.choice(scenario["nodes"])["metadata"]["name"]}
        if random.random() < 0.15:
            pod["spec"]["nodeName"] = "nowhere"
    return bool(pods)


def _some_gated(random: Random, scenario: Value) -> bool:
    """A gate on single pods: the quorum may be met without them."""
    pods = [value for value in objects_of(scenario) if value["kind"] == "Pod"]
    for pod in random.sample(pods, min(len(pods), 1)):
        pod["spec"] = {**pod["spec"], "schedulingGates": [{"name": "example.com/later"}]}
    return bool(pods)


def _deep_constraints(random: Random, scenario: Value) -> bool:
    """A key at every level of a tree, the wider ones above."""
    groups = [v for v in objects_of(scenario) if v["kind"] in ("PodGroup", "CompositePodGroup")]
    if not any(value["kind"] == "CompositePodGroup" for value in groups):
        return False
    for group in groups:
        key = random.choice((ZONE, RACK)) if group["kind"] == "CompositePodGroup" else random.choice((RACK, HOST))
        if random.random() < 0.6:
            group["spec"]["schedulingConstraints"] = {"topology": [{"key": key}]}
    return True


def _preempting(random: Random, scenario: Value) -> bool:
    """The cluster is full of pods of low priority; a gang of high priority comes."""
    scenario["running"] = []
    for node in scenario["nodes"]:
        amount = node["status"]["allocatable"]["cpu"]
        if node["spec"].get("taints") or amount == "0":
            continue
        name = node["metadata"]["name"]
        box = {"name": "c", "image": "registry.example/app", "resources": {"requests": {"cpu": amount}}}
        spec = {"containers": [box], "nodeName": name, "priorityClassName": "low", "terminationGracePeriodSeconds": 0}
        metadata = {"name": f"there-{name}", "namespace": "data", "labels": {"app": "there"}}
        scenario["running"].append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    for spec in pod_specs(objects_of(scenario)):
        spec["priorityClassName"] = "high"
    for group in objects_of(scenario):
        if group["kind"] in ("PodGroup", "CompositePodGroup"):
            group["spec"]["priorityClassName"] = "high"
            group["spec"].pop("preemptionPolicy", None)
    return random is not None


def _own_scheduler(random: Random, scenario: Value) -> bool:
    """The name of the scheduler that would be taken anyway, and fields that only look like scheduling."""
    spec = choose_spec(random, scenario)
    spec |= {"schedulerName": "default-scheduler", "os": {"name": random.choice(("linux", "windows"))}}
    return True


CHANGES: tuple[Change, ...] = (
    *(_node_without_labels, _host_label_twice, _amount_odd, _several_taints, _cordoned_quietly),
    *(_whole_pod, _whole_pod, _init_device, _sidecars, _spelling, _limits_only, _best_effort),
    *(_quota_scopes, _quota_resources, _limit_range, _runtime_tolerates, _volume),
    *(relations.both_ways, relations.to_one_another, relations.spreads, relations.ports) * 2,
    relations.node_terms,
    *(_two_kinds_in_one_group, _elsewhere, _bound_by_hand, _some_gated, _deep_constraints, _preempting, _own_scheduler),
)
