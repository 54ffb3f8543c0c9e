"""Made-up pod templates: sized against a node of the cluster, with any of the fields that a scheduler looks at."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from conformance.scheduler.made.clusters import HOST, RACK, REGION, ZONE

Value = dict[str, Any]


def make_template(random: Random, nodes: list[Value], name: str, plainness: float = 0.55) -> Value:
    """A pod template with the label `app: name`. With probability `plainness` it has nothing but requests."""
    node = random.choice(nodes)
    share = random.choice((1, 2, 3, 4, 4, 4, 6, 8, 8, 8, 16))
    amount = node["status"]["allocatable"]
    cpus = _milli(amount["cpu"]) // share - random.choice((0, 0, 0, 100))
    requests = {"cpu": f"{max(cpus, 100)}m"}
    if random.random() < 0.6:
        requests["memory"] = random.choice(("64Mi", "256Mi", "1Gi", "2Gi", "6Gi"))
    if "nvidia.com/gpu" in amount and random.random() < 0.4:
        requests["nvidia.com/gpu"] = str(max(1, int(amount["nvidia.com/gpu"]) // random.choice((1, 2, 4))))
    container: Value = {"name": "main", "image": "registry.example/train:1", "resources": {"requests": requests}}
    if "nvidia.com/gpu" in requests:
        container["resources"]["limits"] = {"nvidia.com/gpu": requests["nvidia.com/gpu"]}
    spec: Value = {"containers": [container]}
    template: Value = {"metadata": {"labels": {"app": name, "run": "r1"}}, "spec": spec}
    taints = node["spec"].get("taints") or [taint for each in nodes for taint in each["spec"].get("taints", [])]
    if taints and random.random() < 0.7:
        spec["tolerations"] = [_tolerate(random, random.choice(taints))]
    if random.random() >= plainness:
        for feature in random.sample(FEATURES, random.choice((1, 1, 1, 2, 2, 3))):
            feature(random, nodes, template)
    return template


def fill(random: Random, nodes: list[Value], template: Value, usual: int) -> int:
    """How many pods of a template: `usual`, or now and then as many as the nodes just take, or one more or less."""
    requests = template["spec"]["containers"][0]["resources"].get("requests", {})
    if random.random() < 0.75 or "cpu" not in requests:
        return usual
    each = _milli(requests["cpu"])
    most = sum(_milli(node["status"]["allocatable"]["cpu"]) // each for node in nodes)
    return max(1, min(40, most + random.choice((-1, 0, 0, 1))))


def _tolerate(random: Random, taint: Value) -> Value:
    toleration: Value = {"key": taint["key"], "operator": "Exists"}
    if taint.get("value") and random.random() < 0.4:
        toleration = {"key": taint["key"], "operator": "Equal", "value": random.choice((taint["value"], "other"))}
    if random.random() < 0.5:
        toleration["effect"] = random.choice((taint["effect"], taint["effect"], "NoExecute"))
    return {"operator": "Exists"} if random.random() < 0.1 else toleration


def _select(random: Random, nodes: list[Value], template: Value) -> None:
    labels = random.choice(nodes)["metadata"]["labels"]
    key = random.choice([key for key in (ZONE, RACK, "pool", "disk", HOST) if key in labels])
    template["spec"]["nodeSelector"] = {key: labels[key] if random.random() < 0.85 else "x"}


def _expression(random: Random, nodes: list[Value]) -> Value:
    labels = random.choice(nodes)["metadata"]["labels"]
    key = random.choice([key for key in (ZONE, RACK, "pool", "disk", HOST, "gen") if key in labels])
    operator = random.choice(("In", "In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"))
    if operator in ("Gt", "Lt"):
        return {"key": "gen", "operator": operator, "values": [random.choice("1234")]}
    expression: Value = {"key": key, "operator": operator}
    if operator in ("In", "NotIn"):
        values = {random.choice(nodes)["metadata"]["labels"].get(key, "x") for _ in range(random.choice((1, 1, 2)))}
        expression["values"] = sorted(values) if random.random() < 0.9 else ["x"]
    return expression


def _node_affinity(random: Random, nodes: list[Value], template: Value) -> None:
    terms: list[Value] = []
    for _ in range(random.choice((1, 1, 1, 2))):
        term: Value = {"matchExpressions": [_expression(random, nodes) for _ in range(random.choice((1, 1, 2)))]}
        if random.random() < 0.2:
            field = {"key": "metadata.name", "operator": random.choice(("In", "NotIn"))}
            term["matchFields"] = [{**field, "values": [random.choice(nodes)["metadata"]["name"]]}]
        if random.random() < 0.05:
            term = {}
        terms.append(term)
    affinity: Value = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    if random.random() < 0.2:
        affinity = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "preference": terms[0]}]}
        if not terms[0]:
            return
    template["spec"].setdefault("affinity", {})["nodeAffinity"] = affinity


def _pod_term(random: Random, template: Value, others: float) -> Value:
    app = template["metadata"]["labels"]["app"]
    if random.random() < others:
        app = random.choice(("there", "nobody", "g0", "g1"))
    term: Value = {"topologyKey": random.choice((HOST, HOST, ZONE, RACK, REGION))}
    selector: Value = {"matchLabels": {"app": app}}
    if random.random() < 0.25:
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": [app, "z"]}]}
    term["labelSelector"] = selector
    chance = random.random()
    if chance < 0.08:
        term["namespaces"] = [random.choice(("ml", "data"))]
    elif chance < 0.16:
        term["namespaceSelector"] = random.choice(({}, {"matchLabels": {"team": "ml"}}, {"matchLabels": {"team": "x"}}))
    elif chance < 0.24:
        term[random.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["run"]
    return term


def _anti_affinity(random: Random, _: list[Value], template: Value) -> None:
    term = _pod_term(random, template, 0.2)
    anti: Value = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    if random.random() < 0.15:
        anti = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]}
    template["spec"].setdefault("affinity", {})["podAntiAffinity"] = anti


def _affinity(random: Random, _: list[Value], template: Value) -> None:
    term = _pod_term(random, template, 0.35)
    pod = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    template["spec"].setdefault("affinity", {})["podAffinity"] = pod


def _spread(random: Random, _: list[Value], template: Value) -> None:
    app = template["metadata"]["labels"]["app"]
    constraint: Value = {
        "maxSkew": random.choice((1, 1, 2, 3)),
        "topologyKey": random.choice((HOST, ZONE, ZONE, RACK)),
        "whenUnsatisfiable": "DoNotSchedule" if random.random() < 0.85 else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app if random.random() < 0.9 else "nobody"}},
    }
    if constraint["whenUnsatisfiable"] == "DoNotSchedule" and random.random() < 0.25:
        constraint["minDomains"] = random.choice((1, 2, 3, 5))
    if random.random() < 0.2:
        constraint["nodeTaintsPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.2:
        constraint["nodeAffinityPolicy"] = random.choice(("Honor", "Ignore"))
    if random.random() < 0.1:
        constraint["matchLabelKeys"] = ["run"]
    template["spec"]["topologySpreadConstraints"] = [constraint]


def _ports(random: Random, _: list[Value], template: Value) -> None:
    port: Value = {"containerPort": 8080, "hostPort": random.choice((8080, 9000))}
    if random.random() < 0.2:
        port["hostIP"] = random.choice(("127.0.0.1", "0.0.0.0", "10.0.0.1"))
    if random.random() < 0.2:
        port["protocol"] = "UDP"
    template["spec"]["containers"][0]["ports"] = [port]
    if random.random() < 0.25:
        template["spec"]["hostNetwork"] = True
        port["containerPort"] = port["hostPort"]


def _init(random: Random, _: list[Value], template: Value) -> None:
    """Init containers and sidecars in any order: what a pod needs depends on it."""
    boxes = []
    for number in range(random.choice((1, 1, 2, 3))):
        amount = {"cpu": f"{random.choice((100, 500, 1000, 2000, 4000))}m"}
        box: Value = {"name": f"i{number}", "image": "registry.example/init:1", "resources": {"requests": amount}}
        if random.random() < 0.4:
            box["restartPolicy"] = "Always"
        boxes.append(box)
    template["spec"]["initContainers"] = boxes


def _second(random: Random, _: list[Value], template: Value) -> None:
    resources: Value = {"requests": {"cpu": f"{random.choice((50, 500, 1000))}m"}}
    if random.random() < 0.4:
        resources = {"limits": {"cpu": "1", "memory": "512Mi"}}
    template["spec"]["containers"].append({"name": "log", "image": "registry.example/log:1", "resources": resources})


def _pod_level(random: Random, _: list[Value], template: Value) -> None:
    requests = {"cpu": f"{random.choice((500, 2000, 4000, 9000))}m", "memory": random.choice(("1Gi", "8Gi"))}
    main = template["spec"]["containers"][0]["resources"]
    inside = _milli(main["requests"].get("cpu", "0"))
    if _milli(requests["cpu"]) < inside:  # refused: a pod asks for at least what its containers ask for
        requests["cpu"] = f"{inside + 100}m"
    if "memory" in main["requests"]:
        del main["requests"]["memory"]
    template["spec"]["resources"] = {"requests": requests}


def _runtime(random: Random, _: list[Value], template: Value) -> None:
    template["spec"]["runtimeClassName"] = random.choice(("heavy", "heavy", "pinned", "missing"))


def _claims(random: Random, _: list[Value], template: Value) -> None:
    name = random.choice(("bound", "bound", "pending", "waits", "single", "missing"))
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    template["spec"]["volumes"] = [volume]


def _other_resources(random: Random, _: list[Value], template: Value) -> None:
    resources = template["spec"]["containers"][0]["resources"]
    kind = random.choice(("ephemeral-storage", "hugepages-2Mi", "example.com/nic", "limits", "limits"))
    if kind == "limits":
        cpus = resources["requests"].pop("cpu", "500m")
        resources["requests"].pop("memory", None)
        resources["limits"] = {**resources.get("limits", {}), "cpu": cpus, "memory": "1Gi"}
        return
    amount = {"ephemeral-storage": random.choice(("5Gi", "30Gi")), "hugepages-2Mi": "256Mi", "example.com/nic": "1"}[
        kind
    ]
    resources["requests"][kind] = amount
    if kind != "ephemeral-storage":
        resources["limits"] = {**resources.get("limits", {}), kind: amount}
    resources["requests"].setdefault("memory", "64Mi")


def _class(random: Random, _: list[Value], template: Value) -> None:
    template["spec"]["priorityClassName"] = random.choice(("high", "low", "patient"))


def _gated(_random: Random, _: list[Value], template: Value) -> None:
    template["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]


def _resource_claims(random: Random, _: list[Value], template: Value) -> None:
    """A device claim that nobody made: the pod is not tried."""
    template["spec"]["resourceClaims"] = [{"name": "gpu", "resourceClaimName": random.choice(("missing", "absent"))}]


Feature = Callable[[Random, list[Value], Value], None]
FEATURES: tuple[Feature, ...] = (
    *(_select, _select, _node_affinity, _node_affinity, _anti_affinity, _anti_affinity, _anti_affinity, _affinity),
    *(_spread, _spread, _ports, _ports, _init, _init, _second, _pod_level, _runtime, _claims, _claims),
    *(_other_resources, _class, _gated, _resource_claims),
)


def _milli(quantity: str) -> int:
    return int(quantity[:-1]) if quantity.endswith("m") else int(quantity) * 1000
