"""What can change in a pod that exists, and what a change may keep that a new object could not have.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidatePodUpdate, ValidatePodSpecificAnnotationUpdates) and
pkg/api/pod/util.go (GetValidationOptionsFromPodSpecAndMeta).
"""

from __future__ import annotations

import re
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_each, check_part
from krmfn.server.pods.spec import APP_ARMOR, MIRROR, PodContext, check_pod, check_template, is_int32, visit_containers
from krmfn.server.schema import Gates, Kind, Stored
from krmfn.server.spell import Key, spell_path, write_json
from krmfn.server.strategy import with_fields
from krmfn.server.verdict import Causes, forbidden, invalid, invalid_text, of_rule

_UPDATABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
#: What 1.38 adds to it.
_OF_GATED = (
    ",`spec.schedulingGates` (only deletions of existing scheduling gates),"
    "`spec.nodeSelector` (only additions, and only while the pod has scheduling gates),"
    "`spec.affinity.nodeAffinity` (only while the pod has scheduling gates)"
)
_NEEDED = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def list_allowed(meta: Value, spec: Value, gates: Gates) -> frozenset[str]:
    """What is wrong or out of order in a stored spec, and may therefore stay. Almost always nothing."""
    texts = [f"{spell_path(cause.path)}: {cause.message}" for cause in check_template({"spec": spec}, (), gates)]
    rows = schemastore.load("kubernetes/kept.json")["pod"] if texts else ()
    found = {name for pattern, name in rows if any(re.search(pattern, text) for text in texts)}
    for container, _ in visit_containers(spec, ()):
        if any("fileKeyRef" in variable.get("valueFrom", {}) for variable in container.get("env", ())):
            found.add("EnvFiles")
        if "restartPolicyRules" in container:
            found.add("ContainerRestartRules")
    if spec.get("hostUsers") is False and spec.get("hostNetwork"):
        found.add("UserNamespacesHostNetworkSupport")
    cost = meta.get("annotations", {}).get("controller.kubernetes.io/pod-deletion-cost", "0")
    if not is_int32(cost):
        found.add("deletion-cost")
    return frozenset(found)


def check_pod_change(kind: Kind, new: Value, old: Stored) -> Causes:
    """What a live pod may change. The server's text goes on with a diff, which is left out here."""
    assert old is not None
    spec, before = new["spec"], old["spec"]
    allowed = list_allowed(old["metadata"], before, kind.gates)
    pod = PodContext(spec, kind.gates, new["metadata"], allowed)
    yield from check_pod(pod, spec)
    yield from _check_annotations(pod.annotations, old["metadata"].get("annotations", {}))
    yield from of_rule("pod-immutable", _check_spec_change(pod, spec, before))


def _check_annotations(new: Value, old: Value) -> Causes:
    path = ("metadata", "annotations")
    for key in old.keys() | new.keys():
        if new.get(key) == old.get(key) or not (key == MIRROR or key.startswith(APP_ARMOR)):
            continue
        what = "mirror pod annotation" if key == MIRROR else "AppArmor annotations"
        verb = "remove or update" if key in old else "add"
        yield forbidden((*path, Key(key)), f"may not {verb} {what}", "pod-annotations")


def _check_spec_change(pod: PodContext, spec: Value, before: Value) -> Causes:
    for name in ("containers", "initContainers"):
        mine, theirs = spec.get(name, ()), before.get(name, ())
        if len(mine) != len(theirs):
            yield forbidden(("spec", name), "pod updates may not add or remove containers")
            return
        for index, container in enumerate(mine):
            yield from check_part(pod, "changedContainer", container, ("spec", name, index), "pod-containers")
    yield from (wrong := list(_check_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))))
    if wrong and "activeDeadlineSeconds" in spec:
        return
    yield from _check_added_tolerations(pod, spec.get("tolerations", ()), before.get("tolerations", ()))
    yield from _check_gates(spec.get("schedulingGates", ()), before.get("schedulingGates", ()))
    if spec == before:
        return
    rest = with_containers(spec, before, "image")
    rest = with_fields(rest, before, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        rest = with_fields(rest, before, "terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        yield from _check_gated_placement(rest, before)
        rest = with_fields(rest, before, "nodeSelector")
        if dig(rest, "affinity", "nodeAffinity") != dig(before, "affinity", "nodeAffinity"):
            rest = with_node_affinity(rest, before)
    if rest != before:
        yield forbidden(("spec",), _UPDATABLE + (_OF_GATED if pod.is_on("newest-texts") else ""))


def with_containers(spec: Value, other: Value, field: str) -> Fields:
    """A copy of a pod's spec, with a field of each container as in another spec, where that has the same containers."""
    out = dict(spec)
    for name in ("containers", "initContainers"):
        mine, theirs = spec.get(name, ()), other.get(name, ())
        if mine and len(mine) == len(theirs):
            out[name] = [
                with_fields(one, each, field) if one.get("name") == each.get("name") else one
                for one, each in zip(mine, theirs, strict=True)
            ]
    return out


def with_node_affinity(spec: Value, other: Value) -> Fields:
    """A copy of a pod's spec, with the affinity to nodes that another one has."""
    affinity = with_fields(spec.get("affinity", {}), other.get("affinity", {}), "nodeAffinity")
    return with_fields(spec, {"affinity": affinity} if affinity or "affinity" in other else {}, "affinity")


def _check_deadline(deadline: int | None, was: int | None) -> Causes:
    path: Path = ("spec", "activeDeadlineSeconds")
    if deadline is None:
        if was is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= deadline < 2**31:
        yield invalid(path, deadline, "must be between 0 and 2147483647, inclusive")
    elif was is not None and was < deadline:
        yield invalid(path, deadline, "must be less than or equal to previous value")


def _check_added_tolerations(pod: PodContext, new: Any, old: Any) -> Causes:
    kept = [with_fields(one, {}, "tolerationSeconds") for one in new]
    path = ("spec", "tolerations")
    for one in old:
        if with_fields(one, {}, "tolerationSeconds") not in kept:
            yield forbidden(path, "existing toleration can not be modified except its tolerationSeconds")
            return
    yield from check_each(pod, "toleration", new, path, "pod-tolerations")


def _check_gates(new: Any, old: Any) -> Causes:
    known = {gate.get("name", "") for gate in old}
    # Of several gates with one name the last one is told.
    for name, index in {gate.get("name", ""): index for index, gate in enumerate(new)}.items():
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(("spec", "schedulingGates", index, "name"), detail)


def _check_gated_placement(spec: Value, before: Value) -> Causes:
    """A pod that waits at a gate may narrow down its nodes."""
    mine, theirs = spec.get("nodeSelector", {}), before.get("nodeSelector", {})
    if any(mine.get(key) != value for key, value in theirs.items()):
        detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        text = write_json(dict(sorted(mine.items())) or None)
        yield invalid_text(("spec", "nodeSelector"), text, detail)
    terms, terms_were = (dig(each, *_NEEDED, default=[]) for each in (spec, before))
    path = ("spec", *_NEEDED)
    if terms_were and len(terms) != len(terms_were):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid_text(path, "{…}", detail)
        return
    for index, was in enumerate(terms_were):
        if not _only_adds(terms[index], was):
            detail = "only additions are allowed (no mutations or deletions)"
            yield invalid_text((*path, index), "{…}", detail)


def _only_adds(new: Value, old: Value) -> bool:
    names = ("matchExpressions", "matchFields")
    if not any(old.get(name) for name in names) and any(new.get(name) for name in names):
        return False
    return all(new.get(name, [])[: len(old[name])] == old[name] for name in names if old.get(name))


def check_kept_template(kind: Kind, holder: Value, old: Stored, path: Path = ()) -> Causes:
    """What is wrong in the template of a PodTemplate, or of the spec at a path. `old` is the stored one in updates."""
    allowed: frozenset[str] = frozenset()
    if old is not None:
        template = old.get("template", {})
        allowed = list_allowed(template.get("metadata", {}), template.get("spec", {}), kind.gates)
    yield from check_template(holder.get("template", {}), (*path, "template"), kind.gates, allowed)
