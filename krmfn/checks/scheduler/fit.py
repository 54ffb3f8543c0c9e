"""Whether the gangs fit the nodes that the facts list: what capacity.prove finds, in words, by the rule it belongs to,
beside what node pools can add to these nodes; and quotas on the number of objects: those of the input, and those that
controllers make for them before any pod.

An error here is a proof: not even in the empty cluster does the gang start.

Source: KubeRay 1.6.2 raycluster_controller.go and rayjob_controller.go (Services, then pods), JobSet 0.11.1
jobset_controller.go (the Service, then Jobs), LeaderWorkerSet 0.8.0 and Trainer's jobset plugin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from krmfn.capacity import Obeyed, prove
from krmfn.checks.rule import Check, Matches, is_obeyed, rule, spell, tell
from krmfn.config import Settings
from krmfn.krm.item import Item, Items
from krmfn.krm.results import ABSENT
from krmfn.model.findings import Finding, Findings
from krmfn.model.kinds import find_ray_cluster
from krmfn.model.quantity import format_quantity
from krmfn.model.rules import RULES
from krmfn.model.tree import Path
from krmfn.model.values import Fields, Value, as_int, as_list, as_text, dig, group_by
from krmfn.model.wording import count, join
from krmfn.releases import schemastore
from krmfn.survey.census import Census, count_pods, once
from krmfn.survey.facts import ClusterNode, Quota, Resources
from krmfn.survey.pools import INSTANCE_TYPE, NodePool, list_pools

if TYPE_CHECKING:
    from krmfn.capacity.growth import Growth
    from krmfn.capacity.proof import Obstacle


_BESIDE = "beside the pods of DaemonSets"


def _proved(id: str) -> Check:
    """A rule that is found with all the others of what is proved."""

    def find(census: Census, settings: Settings) -> Iterable[Finding]:
        return find_obstacles(census, settings).get(id, ())

    return rule(id)(find)


POD_TOO_LARGE = _proved("pod-too-large")
NO_NODE = _proved("no-node-for-pod")
NODES_TOO_SMALL = _proved("nodes-too-small")
CLAIM = _proved("claim-without-volume")
AFFINITY = _proved("affinity-without-target")
POD_REFUSED = _proved("pod-refused")
GROWS = _proved("node-pool-grows")
KEY_UNKNOWN = _proved("topology-key-unknown")


@rule("quota-too-small")
def find_quota_too_small(census: Census, settings: Settings) -> Matches:
    """The gang needs more than a ResourceQuota of its namespace allows, or does not say what the quota limits."""
    yield from find_obstacles(census, settings).get("quota-too-small", ())
    yield from find_too_many_objects(census)


@once
def find_obstacles(census: Census, settings: Settings) -> Mapping[str, list[Finding]]:
    """What is proved about the gangs of a census, by rule."""

    obeyed = Obeyed(
        trees=is_obeyed(census, settings, "composite-groups"),
        keys=is_obeyed(census, settings, "topology-keys"),
        remembers=not is_obeyed(census, settings, "stale-gang-snapshot"),
        claims=is_obeyed(census, settings, "group-claims"),
    )
    known = defaultdict(list)
    obstacles = [*prove(census, obeyed)]
    told = {id(obstacle.group.item) for obstacle in obstacles}
    spelled = [(obstacle, _spell(obstacle, census, settings)) for obstacle in obstacles]
    findings: Iterable[Finding] = (finding for _, finding in spelled)
    if obstacles and (census.facts.node_pools or census.facts.objects("karpenter.sh", "NodePool")):
        findings = weigh(spelled, census, obeyed)
    for finding in findings:
        known[finding.rule].append(finding)
    left = census
    if census.gangs and census.facts.nodes:
        from krmfn.capacity.world import take_off

        left = census._replace(facts=take_off(census.facts))
    for obstacle in prove(left, obeyed) if left.facts is not census.facts else ():
        finding = _spell(obstacle, left, settings)
        if id(obstacle.group.item) not in told:  # no proof: pods of a higher priority may drive them away
            finding = finding._replace(message=f"{_BESIDE}: {finding.message}", severity="warning")
            known[finding.rule].append(finding)
    return known


def _spell(obstacle: Obstacle, census: Census, settings: Settings) -> Finding:
    if obstacle.cause == "pod":
        return _spell_pod(obstacle, census)
    if obstacle.cause == "bound":
        return _spell_bound(obstacle)
    id, case, path = (_place_in_pods if obstacle.kind else _place_in_group)(obstacle)
    item = obstacle.kind.template.item if obstacle.kind else obstacle.group.item
    current = ABSENT if obstacle.kind else obstacle.key if obstacle.cause == "key" else obstacle.group.quorum
    match = tell(item, path, current, case=case, o=obstacle, consequence=_consequence(obstacle))
    return spell(RULES[id], match, settings)


def _place_in_group(obstacle: Obstacle) -> tuple[str, str, Path]:
    """The rule of an obstacle for a group as a whole, which of its cases, and the field that it is about."""
    if obstacle.cause == "key":
        return "topology-key-unknown", "", (*obstacle.group.path, "schedulingConstraints", "topology", 0, "key")
    if obstacle.cause == "quota":
        return "quota-too-small", "gang", obstacle.group.quorum_path
    case, of_domain = ("", "domain") if obstacle.cause == "resource" else ("packing", "packing-domain")
    return "nodes-too-small", of_domain if obstacle.key else case, obstacle.group.quorum_path


def _place_in_pods(obstacle: Obstacle) -> tuple[str, str, Path]:
    """The same of one for pods of a kind."""
    assert obstacle.kind is not None
    said, path = obstacle.said.lstrip("0123456789 "), obstacle.kind.template.spec_path  # without a number of nodes
    if obstacle.cause == "nobody":
        assert obstacle.bound is not None
        return "affinity-without-target", "", (*path, "affinity", "podAffinity", _REQUIRED, obstacle.bound.place)
    if obstacle.cause == "claim":
        device = said.startswith(("resourceclaim", "request ", "cannot allocate"))
        case = next((case for words, case in _CLAIMS.items() if words in said), "")
        return "claim-without-volume", case, (*path, "resourceClaims" if device else "volumes")
    if obstacle.by.startswith("ResourceQuota"):
        return "quota-too-small", "refused", (*path, "containers")
    told = (case for words, case in _REFUSALS.items() if said.startswith(words) or obstacle.by.startswith(words))
    return "pod-refused", next(told, "" if obstacle.by else "alone"), (*path, "containers")


def _spell_pod(obstacle: Obstacle, census: Census) -> Finding:
    kind = obstacle.kind
    assert kind is not None
    template = kind.template
    reasons = obstacle.reasons
    large = all(reason.startswith("Insufficient ") or reason == "Too many pods" for reason in reasons)
    within = f" in any domain of {obstacle.key}" if obstacle.key else ""
    message = f"{obstacle.said}{within}; {_consequence(obstacle)}"
    hints = []
    nodes = census.facts.nodes or ()
    short = [name for name in kind.requests if f"Insufficient {name}" in reasons]
    most_of = {name: max((node.allocatable.get(name, 0) for node in nodes), default=0) for name in short}
    hopeless = [name for name in short if kind.requests[name] > most_of[name]]
    order = sorted(reasons, key=reasons.__getitem__, reverse=True)
    for reason in order:
        name = reason.removeprefix("Insufficient ")
        if (hopeless and name not in hopeless) or (name in most_of and name not in hopeless and len(reasons) > 1):
            continue  # other nodes have enough of it, or nothing else helps
        if reason.startswith("Insufficient "):
            asked, given = format_quantity(kind.requests[name]), format_quantity(most_of[name])
            less = f"request at most {given} {name} for a pod (now {asked}), or add larger nodes"
            none = f"remove the request for {name} (now {asked}), or add nodes that have it"
            hints.append(less if str(given) != "0" else none)
        else:
            hints.append(schemastore.load("ways.json")["nodes"][reason]["way"])
    hint = f"{'; '.join(hints) or 'add nodes'}."
    path = (*template.spec_path, *_place(order[0] if order else "", template.spec))
    id = "pod-too-large" if large else "no-node-for-pod"
    return Finding(template.item, path, message, hint=hint[0].upper() + hint[1:], rule=id)


def _place(reason: str, spec: Value) -> Path:
    """The field of a pod's spec that a reason is about, where it is written."""
    if not reason or reason.startswith("Insufficient "):
        return ("containers",)
    field = schemastore.load("ways.json")["nodes"][reason]["field"]
    if field not in spec:
        field = "affinity" if "affinity" in spec and field == "nodeSelector" else ""
    return (field,) if field else ()


def _spell_bound(obstacle: Obstacle) -> Finding:
    kind, bound = obstacle.kind, obstacle.bound
    assert kind is not None
    assert bound is not None
    template = kind.template
    where = f"in one domain of {obstacle.key}" if obstacle.key else "in the cluster"
    limit = schemastore.load("ways.json")["limits"][bound.cause]
    fits = f"at most {bound.pods} of the {kind.pods} pods fit {where}"
    message = f"{fits}: {limit['words'].format(key=bound.key)}; {_consequence(obstacle)}"
    by_host = bound.cause == "port" and obstacle.key == "kubernetes.io/hostname"
    id = "topology-host-ports" if by_host else limit["rule"]
    place = (bound.place,) if bound.cause in ("apart", "together", "spread", "host") else ()
    current = template.pods if bound.cause == "room" else obstacle.key or bound.key or None
    return Finding(
        template.item, (*template.spec_path, *limit["path"], *place), message, current, hint=limit["way"], rule=id
    )


#: Words about a claim, and about pods that are refused, each with the case of the rule.
_CLAIMS = {
    "cannot allocate": "devices",
    "StorageClass": "class",
    "persistent volumes": "volume",
    "unbound": "volume",
    "resourceclaimtemplate": "template",
    "request ": "template",
}
_REFUSALS = {"unable to create": "namespace", "persistentvolumeclaims": "claims", "ResourceClaimTemplate": "devices"}
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _consequence(obstacle: Obstacle) -> str:
    group = obstacle.group
    kind = obstacle.kind
    if kind is not None and kind.pods == 1 and obstacle.need <= 1:
        return f"the gang {group.name} needs this pod and is never scheduled"
    return f"the gang {group.name} needs {obstacle.need} of these pods and is never scheduled"


def find_too_many_objects(census: Census) -> Matches:
    """Objects beyond a quota are refused; where that is what controllers make for an object, it never has pods."""
    for quota in census.facts.quotas:
        for name, hard in quota.hard.items():
            resource = name.removeprefix("count/")
            most = hard // 10**9
            if "/" not in name and resource not in ("services", "pods"):
                continue
            if resource == "pods":
                yield from _find_no_submitter(census, quota, name, most)
                continue
            mine, total = [], 0
            about: Fields = {"quota": quota, "most": most, "resource": resource, "name": name}
            for item in _list_linked(census).get(quota.namespace, ()):
                made = _list_made(item).get(resource, 0)
                if f"{item.kind.lower()}s.{item.group}".rstrip(".") == resource:
                    mine.append(item)
                    total += 1
                total += made
                if made and total > most:
                    yield tell(item, (), case="made", total=total, made=made, **about)
                    break
            for item in mine[most:] if most == 0 else mine[most : most + 1]:
                yield tell(item, (), mine=mine, refused=len(mine) - most, **about)


@once
def _list_linked(census: Census) -> Mapping[str, Items]:
    """The groups of the input and what makes their pods, by namespace, and all of them for a quota without one."""
    linked = [
        item
        for item in census.objects
        if item.group == "scheduling.k8s.io" or any(each.link for each in census.templates_of(item))
    ]
    return {**group_by(lambda item: item.space, linked), "": linked}


def _list_made(item: Item) -> Resources:
    """How many objects of other kinds a controller makes for an object before its pods."""
    value = item.value
    match item.group_kind:
        case "ray.io", "RayCluster" | "RayJob" | "RayService":
            if dig(value, "spec", "clusterSelector"):
                return {}
            groups = as_list(value, *find_ray_cluster(item.kind), "workerGroupSpecs")
            several = any((as_int(group, "numOfHosts") or 1) > 1 for group in groups)
            clusters, jobs = int(item.kind != "RayCluster"), int(_has_submitter(value))
            return {"services": 1 + several, "rayclusters.ray.io": clusters, "jobs.batch": jobs}
        case "jobset.x-k8s.io", "JobSet":
            replicas = (dig(job, "replicas") for job in as_list(value, "spec", "replicatedJobs"))
            jobs = sum(1 if number is None else as_int(number) or 0 for number in replicas)
            return {
                "jobs.batch": jobs,
                "services": int(dig(value, "spec", "network", "enableDNSHostnames") is not False),
            }
        case "leaderworkerset.x-k8s.io", "LeaderWorkerSet":
            size = as_int(value, "spec", "leaderWorkerTemplate", "size") or 1
            replicas = dig(value, "spec", "replicas")
            number: int = 1 if replicas is None else as_int(replicas) or 0
            return {"statefulsets.apps": 1 + number * (size > 1)}
        case "trainer.kubeflow.org", "TrainJob":
            return {"jobsets.jobset.x-k8s.io": 1}
    return {}


def _has_submitter(value: Value) -> bool:
    """Whether KubeRay makes a Job that submits the entrypoint of a RayJob."""
    return as_text(value, "kind") == "RayJob" and as_text(value, "spec", "submissionMode") in ("", "K8sJobMode")


def _find_no_submitter(census: Census, quota: Quota, name: str, most: int) -> Matches:
    """A quota that lets the cluster of a RayJob start, and not the pod that gives it something to do."""
    for item in _list_linked(census).get(quota.namespace, ()) if not quota.scope else ():
        pods = count_pods(each for each in census.templates_of(item) if each.link)
        if pods == most and item.kind == "RayJob" and _has_submitter(item.value):
            yield tell(item, (), case="submitter", quota=quota, most=most, name=name, needed=most + 1)


def weigh(told: Sequence[tuple[Obstacle, Finding]], census: Census, obeyed: Obeyed) -> Findings:
    """The findings about obstacles: an info where pools can add the nodes that are missing, a warning where nobody
    knows what they can add."""
    from krmfn.capacity.growth import OF_NODES, find_growth, find_key

    growths, untold = find_growth(census, obeyed, [obstacle for obstacle, _ in told])
    for obstacle, finding in told:
        growth = growths.get(find_key(obstacle.group, census, obeyed))
        if obstacle.cause not in OF_NODES:
            yield finding
        elif growth is not None and growth.within:
            group = obstacle.group
            message = f"{_spell_today(obstacle)}; {_spell_growth(growth)}"
            yield Finding(group.item, group.quorum_path, message, group.quorum, rule="node-pool-grows")
        elif untold:
            pools = _spell_pools(untold)
            message = f"{finding.message}, unless {pools} can add nodes: of which kind is not known"
            hint = f"{finding.hint} Tell what {pools} can add: instanceTypes or allocatable in the data of the cluster."
            yield finding._replace(message=message, hint=hint, severity="warning")
        elif growth is not None and growth.added:
            pool, node, number = growth.added[0]
            nodes = f"{number} more nodes of the node pool {pool.name}{_spell_sort(pool, node)}"
            needs = f"the gang needs {nodes}, whose limit is {pool.limit}: the gang is never scheduled"
            message = f"{_spell_today(obstacle)}; {needs}"
            more = count(number - node.number, "node")
            hint = f"Raise the limit of the node pool {pool.name} by {more}, or make the gang smaller."
            yield finding._replace(message=message, hint=hint)
        else:
            pools = _spell_pools([pool.name for pool in list_pools(census.facts)])
            yield finding._replace(message=f"{finding.message}; no node that {pools} can add changes that")


def _spell_pools(names: Sequence[str]) -> str:
    return f"the node pool{'s' if len(names) > 1 else ''} {join(names)}"


def _spell_today(obstacle: Obstacle) -> str:
    """What the nodes of today lack."""
    need, have = format_quantity(obstacle.need), format_quantity(obstacle.have)
    text: str = schemastore.load("ways.json")["today"][obstacle.cause]
    return text.format(o=obstacle, need=need, have=have, nodes=count(obstacle.nodes, "node"))


def _spell_growth(growth: Growth) -> str:
    if len(growth.added) == 1:
        pool, node, number = growth.added[0]
        most = f"by {node.number}" if pool.limit else "without a limit"
        return (
            f"the node pool {pool.name} can grow {most}{_spell_sort(pool, node)}: the gang can start if it grows by "
            f"{number}"
        )
    parts = [f"{pool.name} by {number}{_spell_sort(pool, node)}" for pool, node, number in growth.added]
    return f"the gang can start if node pools grow: {join(parts)}"


def _spell_sort(pool: NodePool, node: ClusterNode) -> str:
    kind = node.labels.get(INSTANCE_TYPE, "")
    return f" (instance type {kind})" if len(pool.nodes) > 1 and kind else ""
