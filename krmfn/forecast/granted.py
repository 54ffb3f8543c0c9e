"""What others do before pods are scheduled, for a simulator that has none of them: volumes, devices, tolerations.

A volume that somebody makes when it is needed, and what the facts do not tell, is taken for granted: a pod is handed
over without it, so that nothing is called impossible that only was not known. Claims that are made from templates are
handed over as claims.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from krmfn.capacity.added import list_added_labels, list_added_tolerations
from krmfn.capacity.devices import fill_in
from krmfn.capacity.pods import list_group_claims, read_kinds
from krmfn.capacity.requests import count_requests
from krmfn.capacity.volumes import Volumes
from krmfn.forecast.roster import Pod, Roster
from krmfn.model.values import as_list, as_mapping, as_text, dig, key_of
from krmfn.survey.census import Template
from krmfn.survey.facts import Facts
from krmfn.survey.groups import Group

Value = Mapping[str, Any]
_DEVICES: Final = "resource.k8s.io"


def list_untold(templates: Iterable[Template], facts: Facts) -> list[str]:
    """The claims that pods name and the facts do not tell of."""
    found: dict[str, None] = {}
    for kind in read_kinds(templates, facts):
        for group, name, named in (
            ("", "PersistentVolumeClaim", kind.claims),
            (_DEVICES, "ResourceClaim", kind.devices),
            (_DEVICES, "ResourceClaimTemplate", kind.device_templates),
        ):
            if not facts.lists_all(name):
                known = facts.by_place(group, name)
                found |= {f"{name} {each}": None for each in named if (kind.namespace, each) not in known}
    return list(found)


def grant(roster: Roster, facts: Facts, groups: Mapping[int, Group]) -> Iterator[Value]:
    """The pods as a simulator gets them, each behind the claims that are made for it. Those that are bound are left
    as they are. `groups` are those that may have claims, by the identity of a template of their pods."""
    volumes, devices = Volumes(facts), _GrantedDevices(facts)
    runtimes = facts.by_name("node.k8s.io", "RuntimeClass")
    added: dict[int, tuple[list[Value], Value]] = {}  # by template
    for pod in (*roster.bound, *roster.waiting):
        if pod.node:
            yield pod.value
            continue
        spec = dict(as_mapping(pod.value, "spec"))
        space, _ = key_of(pod.value)
        if "volumes" in spec:
            spec["volumes"] = [each for each in as_list(spec["volumes"]) if _is_told(each, space, volumes)]
            for field in ("volumeMounts", "volumeDevices"):
                _leave_only(_list_names(spec["volumes"]), spec, field)
        if spec.get("runtimeClassName") not in runtimes and not facts.lists_all("RuntimeClass"):
            spec.pop("runtimeClassName", None)
        if "resourceClaims" in spec:
            yield from devices.hand_over(pod, spec, space, groups.get(id(pod.template)))
            _leave_only(_list_names(spec["resourceClaims"]), spec, "resources", "claims")
        if pod.template is not None:
            if id(pod.template) not in added:
                asked = count_requests(spec, {})
                tolerations = list(list_added_tolerations(pod.template.item, asked, facts))
                added[id(pod.template)] = tolerations, list_added_labels(pod.template.item, facts)
            tolerations, labels = added[id(pod.template)]
            if pod.name in roster.assigned:  # then only those besides that are not of flavors
                labels, given = roster.assigned[pod.name]
                tolerations = [*given, *(each for each in tolerations if "/" in as_text(each, "key"))]
            spec |= {"tolerations": [*as_list(spec, "tolerations"), *tolerations]} if tolerations else {}
            spec |= {"nodeSelector": {**labels, **as_mapping(spec, "nodeSelector")}} if labels else {}
        yield {**pod.value, "spec": spec}


def _is_told(volume: object, space: str, volumes: Volumes) -> bool:
    """Whether the scheduler can decide about a volume by what the facts tell."""
    name = as_text(volume, "persistentVolumeClaim", "claimName")
    return dig(volume, "ephemeral") is None and (not name or volumes.is_told(space, name))


def _list_names(values: object) -> set[str]:
    return {as_text(value, "name") for value in as_list(values)}


def _leave_only(names: set[str], spec: dict[str, Any], *path: str) -> None:
    """Of the containers' lists at the path only what has one of the names."""
    for field in ("containers", "initContainers"):
        if field in spec:
            spec[field] = [_cut(as_mapping(box), names, path) for box in as_list(spec[field])]


def _cut(value: Value, names: set[str], path: tuple[str, ...]) -> Value:
    first, *rest = path
    if first not in value:
        return value
    if rest:
        return {**value, first: _cut(as_mapping(value[first]), names, tuple(rest))}
    return {**value, first: [each for each in as_list(value[first]) if as_text(each, "name") in names]}


class _GrantedDevices:
    def __init__(self, facts: Facts) -> None:
        self._templates = facts.by_place(_DEVICES, "ResourceClaimTemplate")
        self._claims = facts.by_place(_DEVICES, "ResourceClaim")
        self._known = facts.lists_all("DeviceClass") and facts.lists_all("ResourceSlice")
        self._made: set[tuple[str, str]] = set()

    def hand_over(self, pod: Pod, spec: dict[str, Any], space: str, group: Group | None) -> Iterator[Value]:
        """The claims that are made for a pod, or for its group if it is the first one of it. `spec` names them then,
        and no longer what is not known."""
        kept: list[Value] = []
        shared = list_group_claims(pod.template, group.spec) if pod.template is not None and group is not None else {}
        for entry in map(as_mapping, as_list(spec["resourceClaims"]) if self._known else ()):
            name, claim = as_text(entry, "name"), as_text(entry, "resourceClaimName")
            template = self._templates.get((space, as_text(entry, "resourceClaimTemplateName")))
            if template is not None:
                owner = group.name if group is not None and name in shared else as_text(pod.value, "metadata", "name")
                claim = f"{owner}-{name}"
                if (space, claim) not in self._made:
                    self._made.add((space, claim))
                    yield {
                        "apiVersion": f"{_DEVICES}/v1",
                        "kind": "ResourceClaim",
                        "metadata": {"name": claim, "namespace": space},
                        "spec": fill_in(dig(template, "spec", "spec")),
                    }
            if template is not None or (space, claim) in self._claims:
                kept.append({"name": name, "resourceClaimName": claim})
        spec["resourceClaims"] = kept
