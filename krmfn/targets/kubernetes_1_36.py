"""Kubernetes 1.36: Workload and PodGroup v1alpha2. There are no trees; nothing in a spec can change once it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from krmfn.model.names import shorten
from krmfn.model.tree import Gang, Leaf
from krmfn.releases.gates import list_needed
from krmfn.targets.agreement import Agreement, agree
from krmfn.targets.describing import Kind, describe
from krmfn.targets.emission import Emission, Link, Target
from krmfn.targets.flat import flatten
from krmfn.targets.gates import check_gates
from krmfn.targets.remarks import blame, check_quorums, note_layout
from krmfn.targets.revision import revise
from krmfn.targets.workload import link_pods, refer_to_owner

if TYPE_CHECKING:
    from krmfn.config.settings import Settings


_WORKLOAD: Final = Kind("scheduling.k8s.io/v1alpha2", "Workload")
_POD_GROUP: Final = Kind("scheduling.k8s.io/v1alpha2", "PodGroup")
_MODES: Final = {"Single": "Pod", "All": "PodGroup"}


def emit(gang: Gang, settings: Settings) -> Emission:
    """The objects of `gang`: a Workload with a template per group, and a PodGroup per template."""
    nodes, notes = flatten(gang, settings.release)
    if not nodes:
        return Emission((), (), notes)
    agreed = agree(gang)
    templates, groups = [], []
    links: list[Link] = []
    for node in nodes:
        if isinstance(node.group, Leaf):
            fields = _describe(node.group, agreed, settings)
            templates.append({"name": node.template, **fields})
            reference = {"workloadName": gang.name, "podGroupTemplateName": node.template}
            spec = {"podGroupTemplateRef": {"workload": reference}, **fields}
            revision = revise(gang, node, spec, ())
            name = shorten(f"{node.name}-{revision}") if revision else node.name
            groups.append(describe(_POD_GROUP, name, gang, spec, revision))
            links += link_pods(node.group, ("schedulingGroup", "podGroupName"), name)
    workload = describe(_WORKLOAD, gang.name, gang, {**refer_to_owner(gang), "podGroupTemplates": templates})
    objects = (workload, *groups)
    agreed_notes = (note for note in agreed.notes if note.rule != "preemption-policy-not-shared")
    checks = check_gates(list_needed(settings.release, objects), settings.feature_gates)
    return blame(
        Emission(
            objects, tuple(links), (*notes, *agreed_notes, *check_quorums(gang, *nodes), *checks, *note_layout(*nodes))
        )
    )


def _describe(leaf: Leaf, agreed: Agreement, settings: Settings) -> dict[str, Any]:
    """What a template and its group say alike. The priority class is left out where the gate that keeps it is off:
    nobody asked for it, it only repeats what the pods say."""
    quorum = leaf.min_count
    fields: dict[str, Any] = {"schedulingPolicy": {"basic": {}} if quorum is None else {"gang": {"minCount": quorum}}}
    if leaf.topology_key:
        fields["schedulingConstraints"] = {"topology": [{"key": leaf.topology_key}]}
    if leaf.disruption_mode and (quorum is not None or leaf.disruption_mode != "All"):
        fields["disruptionMode"] = _MODES[leaf.disruption_mode]
    if agreed.priority_class and settings.has("group-priority"):
        fields["priorityClassName"] = agreed.priority_class
    return fields


TARGET: Final = Target("Kubernetes", emit)
