"""What the server fills into pods, beyond the static defaults that are in the schema; and what a create changes.

Source: k8s.io/kubernetes/pkg/apis/core/v1/defaults.go and conversion.go, pkg/registry/core/pod/strategy.go,
pkg/api/pod/util.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from krmfn.krm.paths import dig
from krmfn.model.values import Fields
from krmfn.server.pods.containers import add_up
from krmfn.server.pods.spec import APP_ARMOR, LISTS
from krmfn.server.schema import Gates, Kind
from krmfn.server.spell import Amount, round_up

_POD_RESOURCES = ("cpu", "memory")


def fill_pods(kind: Kind, new: Fields) -> None:
    """A kind that makes pods, whose static defaults are there already."""
    spec = dig(new, *kind.pod_spec)
    if spec is not None:
        _fill_spec(spec)


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
    if "resources" in spec and not kind.is_on("PodLevelResourcesFixDefaulting"):
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
    if kind.is_on("MatchLabelKeysInPodTopologySpreadSelectorMerge"):
        for constraint in spec.get("topologySpreadConstraints", ()):
            _merge_label_keys(constraint, labels)
    if "resources" in spec and kind.is_on("PodLevelResourcesFixDefaulting"):
        _fill_pod_resources(spec, kind.gates, True)
    annotations = new["metadata"].get("annotations", {})
    if annotations and spec.get("os", {}).get("name") != "windows":
        _take_over_profiles(spec, annotations)


def _take_over_profiles(spec: Fields, annotations: Mapping[str, str]) -> None:
    """AppArmor profiles of annotations become those of containers that have none."""
    of_pod = spec.get("securityContext", {}).get("appArmorProfile")
    for name in LISTS:
        for container in spec.get(name, ()):
            text = annotations.get(APP_ARMOR + container.get("name", ""), "")
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
    path = host + slash + name
    first, slash, others = path.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        path = others
    if not path or not _PATH.issuperset(path) or path.strip("._-/") != path or (colon and not tag):
        return "IfNotPresent"
    return "Always" if tag in ("", "latest") else "IfNotPresent"
