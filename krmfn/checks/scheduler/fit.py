"""Whether the gangs fit the nodes that the facts list: what capacity.prove finds, in words, by the rule it belongs to.

An error here is a proof: not even in the empty cluster does the gang start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from krmfn.capacity import Obeyed, prove
from krmfn.checks.rule import Check, Match, is_obeyed, rule
from krmfn.checks.scheduler.objects import find_too_many_objects
from krmfn.config import Settings
from krmfn.model.findings import Finding
from krmfn.model.quantity import format_quantity
from krmfn.model.tree import Path
from krmfn.model.values import Value
from krmfn.releases import schemastore
from krmfn.survey.census import Census, once

if TYPE_CHECKING:
    from krmfn.capacity.proof import Obstacle

_BESIDE: Final = "beside the pods of DaemonSets"


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
def find_quota_too_small(census: Census, settings: Settings) -> Iterator[Finding | Match]:
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
    known: dict[str, list[Finding]] = {}
    obstacles = [*prove(census, obeyed)]
    told = {id(obstacle.group.item) for obstacle in obstacles}
    findings: Iterable[Finding] = [_spell(obstacle, census) for obstacle in obstacles]
    if obstacles and (census.facts.node_pools or census.facts.objects("karpenter.sh", "NodePool")):
        from krmfn.checks.scheduler.growing import weigh

        findings = weigh(list(zip(obstacles, findings, strict=True)), census, obeyed)
    for finding in findings:
        known.setdefault(finding.rule, []).append(finding)
    left = _take_off_agents(census) if census.gangs and census.facts.nodes else census
    for obstacle in prove(left, obeyed) if left.facts is not census.facts else ():
        finding = _spell(obstacle, left)
        if id(obstacle.group.item) not in told:  # no proof: pods of a higher priority may drive them away
            finding = finding._replace(message=f"{_BESIDE}: {finding.message}", severity="warning")
            known.setdefault(finding.rule, []).append(finding)
    return known


def _take_off_agents(census: Census) -> Census:
    from krmfn.capacity.world import take_off

    return census._replace(facts=take_off(census.facts))


def _spell(obstacle: Obstacle, census: Census) -> Finding:
    write = {
        "pod": _spell_pod,
        "refused": _spell_refused,
        "quota": _spell_quota,
        "claim": _spell_claim,
        "nobody": _spell_nobody,
        "bound": _spell_bound,
        "resource": _spell_resource,
        "packing": _spell_packing,
        "key": _spell_key,
    }[obstacle.cause]
    return write(obstacle, census)


def _spell_pod(obstacle: Obstacle, census: Census) -> Finding:
    kind = obstacle.kind
    assert kind is not None
    template = kind.template
    reasons = dict(obstacle.reasons)
    large = all(reason.startswith("Insufficient ") or reason == "Too many pods" for reason in reasons)
    message = f"{obstacle.said}{_within(obstacle)}; {_consequence(obstacle)}"
    hints: list[str] = []
    nodes = census.facts.nodes or ()
    short = [name for name in kind.requests if f"Insufficient {name}" in reasons]
    most_of = {name: max((node.allocatable.get(name, 0) for node in nodes), default=0) for name in short}
    hopeless = [name for name in short if kind.requests[name] > most_of[name]]
    for reason in sorted(reasons, key=lambda reason: -reasons[reason]):
        name = reason.removeprefix("Insufficient ")
        if (hopeless and name not in hopeless) or (name in most_of and name not in hopeless and len(reasons) > 1):
            continue  # other nodes have enough of it, or nothing else helps
        if reason.startswith("Insufficient "):
            largest = most_of[name]
            asked, given = format_quantity(kind.requests[name]), format_quantity(largest)
            less = f"request at most {given} {name} for a pod (now {asked}), or add larger nodes"
            none = f"remove the request for {name} (now {asked}), or add nodes that have it"
            hints.append(less if str(given) != "0" else none)
        else:
            hints.append(schemastore.load("ways.json")["nodes"][reason])
    hint = f"{'; '.join(hints) or 'add nodes'}."
    most = max(reasons, key=lambda reason: reasons[reason], default="")
    path = (*template.spec_path, *_place(most, template.spec))
    id = "pod-too-large" if large else "no-node-for-pod"
    return Finding(template.item, path, message, hint=hint[0].upper() + hint[1:], rule=id)


def _place(reason: str, spec: Value) -> Path:
    """The field of a pod's spec that a reason is about, where it is written."""
    if not reason or reason.startswith("Insufficient ") or reason == "Too many pods":
        return ("containers",)
    fields = {
        "taint": "tolerations",
        "ports": "containers",
        "selector": "nodeSelector",
        "olume": "volumes",
        "spread": "topologySpreadConstraints",
    }
    field = next((field for word, field in fields.items() if word in reason), "affinity")
    if field not in spec:
        field = "affinity" if "affinity" in spec and field == "nodeSelector" else ""
    return (field,) if field else ()


def _spell_refused(obstacle: Obstacle, _: Census) -> Finding:
    assert obstacle.kind is not None
    template = obstacle.kind.template
    what = "the volume claims of these pods" if obstacle.said.startswith("persistentvolumeclaims") else "these pods"
    if obstacle.by.startswith("ResourceClaimTemplate"):
        what = "the device claims of these pods"
    message = f"the API server refuses {what}: {obstacle.said}; {_consequence(obstacle)}"
    hint = f"Change the pod template{f', or the {obstacle.by}' if obstacle.by else ''}."
    if obstacle.said.startswith("unable to create"):
        hint = "Use another namespace, or apply the files again after this one has been deleted and created again."
    id = "quota-too-small" if obstacle.by.startswith("ResourceQuota") else "pod-refused"
    return Finding(template.item, (*template.spec_path, "containers"), message, hint=hint, rule=id)


def _spell_quota(obstacle: Obstacle, _: Census) -> Finding:
    need, have = (format_quantity(amount) for amount in (obstacle.need, obstacle.have))
    name, group = obstacle.resource, obstacle.group
    message = (
        f"the gang needs {need} {name}, the ResourceQuota {obstacle.by} allows {have}: some of its pods are never "
        "created, and the gang is never scheduled"
    )
    hint = f"Raise {name} in the ResourceQuota {obstacle.by} to at least {need}, or make the gang smaller."
    return Finding(group.item, group.quorum_path, message, group.quorum, hint=hint, rule="quota-too-small")


def _spell_claim(obstacle: Obstacle, _: Census) -> Finding:
    assert obstacle.kind is not None
    device = obstacle.said.startswith(("resourceclaim", "request ", "cannot allocate"))
    message = f"0/{obstacle.nodes} nodes are available: {obstacle.said}; {_consequence(obstacle)}"
    hint = "Create the claim, or use one that exists."
    if obstacle.said.startswith(("resourceclaimtemplate", "request ")):
        hint = "Create it, or use one that exists."
    if "StorageClass" in obstacle.said:
        hint = "Create the StorageClass, or use one that exists."
    elif "persistent volumes" in obstacle.said or "unbound" in obstacle.said:
        hint = "Create a volume for the claim, or use a storage class with a provisioner."
    if obstacle.said.startswith("cannot allocate"):
        hint = "Request devices that one node has: fewer, with other selectors, or with tolerations of their taints."
    path = (*obstacle.kind.template.spec_path, "resourceClaims" if device else "volumes")
    return Finding(obstacle.kind.template.item, path, message, hint=hint, rule="claim-without-volume")


def _spell_nobody(obstacle: Obstacle, _: Census) -> Finding:
    assert obstacle.kind is not None
    assert obstacle.bound is not None
    message = (
        f"this required affinity term matches no pod of the cluster or of the files checked; {_consequence(obstacle)}"
    )
    hint = "Correct the label selector or the namespaces, or prefer the affinity instead of requiring it."
    path = (*obstacle.kind.template.spec_path, "affinity", "podAffinity", _REQUIRED, obstacle.bound.place)
    return Finding(obstacle.kind.template.item, path, message, hint=hint, rule="affinity-without-target")


def _spell_bound(obstacle: Obstacle, _: Census) -> Finding:
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


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _spell_resource(obstacle: Obstacle, _: Census) -> Finding:
    need, have = (format_quantity(amount) for amount in (obstacle.need, obstacle.have))
    where = f"the largest domain of {obstacle.key} has" if obstacle.key else "the nodes that its pods fit on have"
    message = f"the gang needs {need} {obstacle.resource} at once, but {where} {have}: it is never scheduled"
    return _about_group(obstacle, message)


def _spell_packing(obstacle: Obstacle, _: Census) -> Finding:
    where = f"in any domain of {obstacle.key}" if obstacle.key else f"on the {obstacle.nodes} nodes"
    message = f"the {obstacle.need} pods that the gang needs do not fit together {where}: it is never scheduled"
    return _about_group(obstacle, message)


def _about_group(obstacle: Obstacle, message: str) -> Finding:
    group = obstacle.group
    hint = "Add nodes, or make the gang smaller."
    if obstacle.key:
        hint = "Add nodes, make the gang smaller, or use a coarser topology key."
    return Finding(group.item, group.quorum_path, message, group.quorum, hint=hint, rule="nodes-too-small")


def _spell_key(obstacle: Obstacle, _: Census) -> Finding:
    group = obstacle.group
    message = f"none of the {obstacle.nodes} nodes has the label {obstacle.key}: the gang is never scheduled"
    hint = "Label the nodes, or use a key that they have."
    path = (*group.path, "schedulingConstraints", "topology", 0, "key")
    return Finding(group.item, path, message, obstacle.key, hint=hint, rule="topology-key-unknown")


def _within(obstacle: Obstacle) -> str:
    return f" in any domain of {obstacle.key}" if obstacle.key else ""


def _consequence(obstacle: Obstacle) -> str:
    group = obstacle.group
    kind = obstacle.kind
    if kind is not None and kind.pods == 1 and obstacle.need <= 1:
        return f"the gang {group.name} needs this pod and is never scheduled"
    return f"the gang {group.name} needs {obstacle.need} of these pods and is never scheduled"
