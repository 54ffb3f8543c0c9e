"""What can change in a pod that exists, and what a change may keep that a new object could not have; below it what the
server fills into pods, beyond the static defaults that are in the schema, and what a create changes.

Source: k8s.io/kubernetes/pkg/apis/core/validation (ValidatePodUpdate, ValidatePodSpecificAnnotationUpdates) and
pkg/api/pod/util.go (GetValidationOptionsFromPodSpecAndMeta); rule P6 of the reference; pkg/apis/core/v1/defaults.go and
conversion.go, pkg/registry/core/pod/strategy.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_each, check_part
from krmfn.server.pods.containers import add_up
from krmfn.server.pods.spec import ARMOR, LISTS, MIRROR, Setting, check_pod, check_template, is_cost, visit_containers
from krmfn.server.schema import Gates, Kind, Stored
from krmfn.server.spell import Amount, Key, round_up, spell_path, write_json
from krmfn.server.strategy import with_fields
from krmfn.server.verdict import Causes, forbidden, invalid, invalid_text, of_rule

_RULE = "pod-immutable"
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
    if not is_cost(cost):
        found.add("deletion-cost")
    return frozenset(found)


def check_pod_change(kind: Kind, new: Value, old: Stored) -> Causes:
    """P6: what a live pod may change. The server's text goes on with a diff, which is left out here."""
    assert old is not None
    spec, before = new["spec"], old["spec"]
    allowed = list_allowed(old["metadata"], before, kind.gates)
    pod = Setting(spec, kind.gates, new["metadata"], allowed)
    yield from check_pod(pod, spec)
    yield from _check_annotations(pod.annotations, old["metadata"].get("annotations", {}))
    yield from of_rule(_RULE, _check_spec_change(pod, spec, before))


def _check_annotations(new: Value, old: Value) -> Causes:
    path = ("metadata", "annotations")
    for key in old.keys() | new.keys():
        if new.get(key) == old.get(key) or not (key == MIRROR or key.startswith(ARMOR)):
            continue
        what = "mirror pod annotation" if key == MIRROR else "AppArmor annotations"
        verb = "remove or update" if key in old else "add"
        yield forbidden((*path, Key(key)), f"may not {verb} {what}", "pod-annotations")


def _check_spec_change(pod: Setting, spec: Value, before: Value) -> Causes:
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
    rest = {name: value for name, value in spec.items() if name not in ("containers", "initContainers")}
    for name in ("containers", "initContainers"):
        if name in spec:
            theirs = before.get(name, ())
            rest[name] = [with_fields(one, theirs[index], "image") for index, one in enumerate(spec[name])]
    rest = with_fields(rest, before, "activeDeadlineSeconds", "tolerations", "schedulingGates")
    if before.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        rest = with_fields(rest, before, "terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        yield from _check_gated_placement(rest, before)
        rest = with_fields(rest, before, "nodeSelector")
        if dig(rest, "affinity", "nodeAffinity") != dig(before, "affinity", "nodeAffinity"):
            affinity = with_fields(rest.get("affinity", {}), before.get("affinity", {}), "nodeAffinity")
            rest = with_fields(rest, {"affinity": affinity} if affinity or "affinity" in before else {}, "affinity")
    if rest != before:
        yield forbidden(("spec",), _UPDATABLE + (_OF_GATED if pod.is_on("newest-texts") else ""))


def _check_deadline(deadline: int | None, was: int | None) -> Causes:
    path: Path = ("spec", "activeDeadlineSeconds")
    if deadline is None:
        if was is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= deadline < 2**31:
        yield invalid(path, deadline, "must be between 0 and 2147483647, inclusive")
    elif was is not None and was < deadline:
        yield invalid(path, deadline, "must be less than or equal to previous value")


def _check_added_tolerations(pod: Setting, new: Any, old: Any) -> Causes:
    kept = [{key: value for key, value in one.items() if key != "tolerationSeconds"} for one in new]
    path = ("spec", "tolerations")
    for one in old:
        if {key: value for key, value in one.items() if key != "tolerationSeconds"} not in kept:
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


def check_pod_template(kind: Kind, new: Value, old: Stored) -> Causes:
    """A PodTemplate, on every write."""
    yield from check_kept_template(kind, new.get("template", {}), (old or {}).get("template"), ("template",))


def check_kept_template(kind: Kind, template: Value, old: Stored, path: Path) -> Causes:
    """What is wrong in the template of a kind that makes pods. `old` is the stored template on an update."""
    allowed: frozenset[str] = frozenset()
    if old is not None:
        allowed = list_allowed(old.get("metadata", {}), old.get("spec", {}), kind.gates)
    yield from check_template(template, path, kind.gates, allowed)


_POD_RESOURCES = ("cpu", "memory")


def fill_pods(kind: Kind, new: Fields) -> None:
    """A kind that makes pods, whose static defaults are there already."""
    holder = new
    for name in kind.pod_spec[:-1]:
        holder = holder.setdefault(name, {})
    if "spec" in holder:
        _fill_spec(holder["spec"])


def fill_pod(kind: Kind, new: Fields) -> None:
    """A pod whose static defaults are there already."""
    spec = new["spec"]
    _fill_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    for name in LISTS[:2]:
        for container in spec.get(name, ()):
            limits = container.get("resources", {}).get("limits")
            if limits:
                requests = container["resources"].get("requests", {})
                container["resources"]["requests"] = {**limits, **requests}
            if spec.get("hostNetwork"):
                for port in container.get("ports", ()):
                    port.setdefault("hostPort", port.get("containerPort", 0))
    spec.setdefault("enableServiceLinks", True)
    if "resources" in spec and not kind.gates.get("PodLevelResourcesFixDefaulting", False):
        _fill_pod_resources(spec, kind.gates, False)


def prepare_pod(kind: Kind, new: Fields) -> None:
    """What a create of a pod does besides."""
    spec = new["spec"]
    labels = new["metadata"].get("labels", {})
    affinity = spec.get("affinity", {})
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name, {})
        for term in terms.get("requiredDuringSchedulingIgnoredDuringExecution", ()):
            _merge_label_keys(term, labels)
        for weighted in terms.get("preferredDuringSchedulingIgnoredDuringExecution", ()):
            _merge_label_keys(weighted.get("podAffinityTerm", {}), labels)
    if kind.gates.get("MatchLabelKeysInPodTopologySpreadSelectorMerge", False):
        for constraint in spec.get("topologySpreadConstraints", ()):
            _merge_label_keys(constraint, labels)
    if "resources" in spec and kind.gates.get("PodLevelResourcesFixDefaulting", False):
        _fill_pod_resources(spec, kind.gates, True)
    annotations = new["metadata"].get("annotations", {})
    if any(key.startswith(ARMOR) for key in annotations) and spec.get("os", {}).get("name") != "windows":
        _take_over_profiles(spec, annotations)


def _take_over_profiles(spec: Fields, annotations: Mapping[str, str]) -> None:
    """AppArmor profiles of annotations become those of containers that have none."""
    of_pod = spec.get("securityContext", {}).get("appArmorProfile")
    for name in LISTS:
        for container in spec.get(name, ()):
            text = annotations.get(ARMOR + container.get("name", ""), "")
            profile = _read_profile(text)
            if profile and profile != of_pod and "appArmorProfile" not in container.get("securityContext", {}):
                container.setdefault("securityContext", {})["appArmorProfile"] = profile


def _read_profile(text: str) -> dict[str, str] | None:
    """The AppArmor profile that an annotation names; None where it names none that is right."""
    local = text.removeprefix("localhost/")
    if local != text:
        right = local == local.strip() and 0 < len(local.encode("utf-8", "replace")) <= 4095
        return {"type": "Localhost", "localhostProfile": local} if right else None
    kind = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault"}.get(text)
    return {"type": kind} if kind else None


def _merge_label_keys(term: Fields, labels: Mapping[str, str]) -> None:
    """The keys whose values come from the pod, as a part of the selector."""
    selector = term.get("labelSelector")
    if selector is None:
        return
    for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(name, ()):
            if key in labels:
                needs = selector.setdefault("matchExpressions", [])
                needs.append({"key": key, "operator": operator, "values": [labels[key]]})


def _fill_pod_resources(spec: Fields, gates: Gates, limits_too: bool) -> None:
    """Of a pod that has resources as a whole: what it leaves out follows from its containers."""
    resources = spec["resources"]
    given = resources.get("limits"), resources.get("requests")
    if not gates.get("PodLevelResources", False) or not any(given):
        return
    limits, requests = dict(given[0] or {}), dict(given[1] or {})
    for name, amount in add_up(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, amount)
    if limits_too or limits:
        for name, amount in add_up(spec, "requests").items():
            if name in _POD_RESOURCES:
                requests.setdefault(name, amount)
        for name, amount in limits.items():
            if name in _POD_RESOURCES or name.startswith("hugepages-"):
                requests.setdefault(name, amount)
    if limits_too:
        _fill_pod_limits(spec, limits, requests)
    for field, amounts in (("limits", limits), ("requests", requests)):
        if amounts:
            resources[field] = amounts


def _fill_pod_limits(spec: Fields, limits: dict[str, Amount], requests: Mapping[str, Amount]) -> None:
    """A limit that every container has is one of the pod, too."""
    containers = [container for name in LISTS for container in spec.get(name, ())]
    total = add_up(spec, "limits")
    for name, amount in requests.items():
        if name in limits or (name not in _POD_RESOURCES and not name.startswith("hugepages-")):
            continue
        if name in total and all(name in one.get("resources", {}).get("limits", {}) for one in containers):
            limits[name] = max(total[name], amount)


def _fill_spec(spec: Fields) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account
    for name in LISTS:
        for container in spec.get(name, ()):
            if "imagePullPolicy" not in container:
                container["imagePullPolicy"] = find_pull_policy(container.get("image", ""))
            resources = container.get("resources")
            if resources:
                _round(resources)
    for volume in spec.get("volumes", ()):
        if len(volume) == ("name" in volume):
            volume["emptyDir"] = {}
        if "image" in volume and "pullPolicy" not in volume["image"]:
            volume["image"]["pullPolicy"] = find_pull_policy(volume["image"].get("reference", ""))
    if "overhead" in spec:
        spec["overhead"] = {name: round_up(amount) for name, amount in spec["overhead"].items()}
    if "resources" in spec:
        _round(spec["resources"])


def _round(resources: Fields) -> None:
    for field in ("limits", "requests"):
        amounts = resources.get(field)
        if amounts:
            resources[field] = {name: round_up(amount) for name, amount in amounts.items()}


_PATH = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-/")


def find_pull_policy(image: str) -> str:
    """Always for the tag `latest` and for no tag; IfNotPresent for others, and for what is no image."""
    if "@" in image:
        return "Always" if image.partition("@")[0].endswith(":latest") else "IfNotPresent"
    host, slash, rest = image.rpartition("/")
    name, colon, tag = rest.partition(":")
    path = name if not slash else f"{host}/{name}"
    if slash:
        first, _, others = path.partition("/")
        if "." in first or ":" in first or first == "localhost" or first != first.lower():
            path = others
    if not path or not _PATH.issuperset(path) or path[0] in "._-/" or path[-1] in "._-/" or (colon and not tag):
        return "IfNotPresent"
    return "Always" if tag in ("", "latest") else "IfNotPresent"
