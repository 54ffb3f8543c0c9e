"""Kubernetes 1.37: Workload and PodGroup v1beta1, CompositePodGroup v1alpha3 (no other version of it is served).

A leaf becomes a flat Workload with one PodGroup; a composite becomes the tree of groups.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from krmfn.model.names import shorten
from krmfn.model.tree import Composite, Gang, Group, Leaf
from krmfn.releases.gates import list_needed
from krmfn.targets.agreement import Agreement, agree
from krmfn.targets.classes import find_policy
from krmfn.targets.describing import Kind, describe
from krmfn.targets.emission import Emission, Link, Target
from krmfn.targets.gates import check_gates
from krmfn.targets.layout import LIST_LIMIT, Node, TooLarge, lay_out, lay_out_flat, prune, walk
from krmfn.targets.remarks import blame, check_quorums, note_layout, note_too_large
from krmfn.targets.revision import revise
from krmfn.targets.workload import link_pods, refer_to_owner

if TYPE_CHECKING:
    from krmfn.config.settings import Settings


_WORKLOAD: Final = Kind("scheduling.k8s.io/v1beta1", "Workload")
_POD_GROUP: Final = Kind("scheduling.k8s.io/v1beta1", "PodGroup")
_COMPOSITE: Final = Kind("scheduling.k8s.io/v1alpha3", "CompositePodGroup")
_MODES: Final = {"Single": "single", "All": "all"}


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects of `gang`. Quorums outside of their bounds, and pods that do not agree, are errors."""
    root = prune(gang.root)
    if root is None:
        return Emission((), (), ())
    try:
        layouts = _lay_out(gang.name, root)
    except TooLarge as large:
        return Emission((), (), (note_too_large(gang, str(large)),))
    agreed = agree(gang)
    common = _common_fields(agreed)
    templates = {_template_list(layouts[0]): [_describe_template(layout, common) for layout in layouts]}
    workload = describe(_WORKLOAD, gang.name, gang, {**refer_to_owner(gang), **templates})
    composites: list[dict[str, Any]] = []
    groups: list[dict[str, Any]] = []
    links: list[Link] = []
    nodes = [node for layout in layouts for node in walk(layout)]
    parents = {child.name: node.name for node in nodes for child in node.children}
    for node in nodes:
        spec: dict[str, Any] = {"parentCompositePodGroupName": parents[node.name]} if node.name in parents else {}
        spec["workloadRef"] = {"workloadName": gang.name, "templateName": node.template}
        spec |= _describe_policy(node, common) | _policy_of_preemption(agreed, settings)
        if isinstance(node.group, Leaf):
            revision = revise(gang, node, spec, ("schedulingPolicy", "gang", "minCount"))
            name = shorten(f"{node.name}-{revision}") if revision else node.name
            groups.append(describe(_POD_GROUP, name, gang, spec, revision))
            links += link_pods(node.group, ("schedulingGroup", "podGroupName"), name)
        else:
            composites.append(describe(_COMPOSITE, node.name, gang, spec))
    objects = (workload, *composites, *groups)
    notes = (
        *agreed.notes,
        *check_quorums(gang, *layouts),
        *check_gates(list_needed(settings.release, objects), settings.feature_gates),
        *note_layout(*layouts),
    )
    return blame(Emission(objects, tuple(links), notes))


def _lay_out(gang_name: str, root: Group) -> tuple[Node, ...]:
    """One tree; or groups side by side where the root would wait for none of them, since that needs fewer gates."""
    if isinstance(root, Composite) and root.min_group_count is None and not root.topology_key:
        flat = lay_out_flat(gang_name, root)
        if len(flat) == len(root.children) <= LIST_LIMIT:
            return flat
    return (lay_out(gang_name, root),)


def _common_fields(agreed: Agreement) -> dict[str, Any]:
    """What every template and every group says alike (C22 compares the templates of a Workload)."""
    return {"priorityClassName": agreed.priority_class} if agreed.priority_class else {}


def _policy_of_preemption(agreed: Agreement, settings: Settings) -> dict[str, Any]:
    """A class with policy Never wants it repeated in the groups where the gate is on; where it is off, the field is
    dropped. Templates go without: C22 does not compare it, and nothing reads it there."""
    if settings.feature_gates.get("PodGroupPreemptionPolicy") is False:
        return {}
    policy = agreed.preemption_policy or find_policy(settings.cluster, agreed.priority_class)
    return {"preemptionPolicy": "Never"} if policy == "Never" else {}


def _template_list(node: Node) -> str:
    return "podGroupTemplates" if isinstance(node.group, Leaf) else "compositePodGroupTemplates"


def _describe_policy(node: Node, common: dict[str, Any]) -> dict[str, Any]:
    group = node.group
    counted, quorum = (
        ("minCount", group.min_count) if isinstance(group, Leaf) else ("minGroupCount", group.min_group_count)
    )
    fields: dict[str, Any] = {"schedulingPolicy": {"basic": {}} if quorum is None else {"gang": {counted: quorum}}}
    if group.topology_key:
        fields["schedulingConstraints"] = {"topology": [{"key": group.topology_key}]}
    if group.disruption_mode and (quorum is not None or group.disruption_mode != "All"):
        fields["disruptionMode"] = {_MODES[group.disruption_mode]: {}}
    return fields | common


def _describe_template(node: Node, common: dict[str, Any]) -> dict[str, Any]:
    template: dict[str, Any] = {"name": node.template, **_describe_policy(node, common)}
    for child in node.children:
        template.setdefault(_template_list(child), []).append(_describe_template(child, common))
    return template


TARGET: Final = Target("Kubernetes", emit)
