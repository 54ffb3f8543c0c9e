"""The rules of the kinds that keep pods running: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController.

Source: k8s.io/kubernetes/pkg/apis/apps/{v1/defaults.go,validation/validation.go} and the ReplicationController's part
of pkg/apis/core.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.selectors import match_labels
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_part
from krmfn.server.formats import check_label_key, check_label_value, check_short_name
from krmfn.server.plain.values import check_kept, count_share
from krmfn.server.pods.changes import check_kept_template
from krmfn.server.pods.defaults import fill_pods
from krmfn.server.pods.spec import check_label_selector
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import read_written, spell, write_json
from krmfn.server.verdict import Cause, Causes, forbidden, invalid_text, of_rule, refuse_text, required

_STRATEGY = "update-strategy"
_SELECTOR = "pod-selector"
_SPEC: Path = ("spec",)
_PODS: Path = ("spec", "template", "spec")


def fill_replication_controller(kind: Kind, new: Fields) -> None:
    spec = new["spec"]
    labels = spec.get("template", {}).get("metadata", {}).get("labels")
    if "template" in spec:
        fill_pods(kind, new)
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not new["metadata"].get("labels"):
            new["metadata"]["labels"] = dict(labels)


def check_replica_set(kind: Kind, new: Value, old: Stored) -> Causes:
    """Also a Deployment, which is one with a strategy."""
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "replicas", spec, _SPEC)
    yield from _check_selector(kind, spec, "deployment")
    selector = spec.get("selector")
    if not is_wrong_selector(selector):  # where it is no use, the template is not looked at
        if selector is None or (_needs(selector) and not match_labels(selector, _labels(spec))):
            yield _mismatch(new)
        yield from check_kept_template(kind, spec["template"], (before or {}).get("template"), (*_SPEC, "template"))
        yield from check_part(kind, "podsOfReplicaSet", spec.get("template", {}).get("spec", {}), _PODS)
    if "strategy" in spec:
        yield from check_part(kind, "deploymentStrategy", spec["strategy"], (*_SPEC, "strategy"), _STRATEGY)
    yield from check_part(kind, "deploymentDeadline", spec, _SPEC)
    yield from check_kept(kind.root.fields["spec"].type, spec, before, _SPEC, "selector")


def check_daemon_set(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "replicas", spec, _SPEC)
    selector = spec.get("selector")
    yield from of_rule(_SELECTOR, check_label_selector(kind, selector, (*_SPEC, "selector")))
    if not is_wrong_selector(selector) and not match_labels(selector, _labels(spec)):
        yield _mismatch(new)
    if selector is not None and not _needs(selector):
        yield invalid_text((*_SPEC, "selector"), "{…}", "empty selector is invalid for daemonset", _SELECTOR)
    yield from check_kept_template(kind, spec["template"], (before or {}).get("template"), (*_SPEC, "template"))
    yield from check_part(kind, "podsOfDaemonSet", spec.get("template", {}).get("spec", {}), _PODS)
    strategy = spec.get("updateStrategy", {})
    yield from check_part(kind, "daemonSetStrategy", strategy, (*_SPEC, "updateStrategy"), _STRATEGY)
    yield from check_kept(kind.root.fields["spec"].type, spec, before, _SPEC, "selector")


def check_stateful_set(kind: Kind, new: Value, old: Stored, argument: Any = None) -> Causes:
    """`argument` is the server's text for a change of anything that cannot change, empty where each field has its
    own."""
    spec, before = new["spec"], (old or {}).get("spec")
    yield from _check_stateful_spec(kind, new, before)
    if before is None:
        return
    if argument:
        changing = schemastore.load("kubernetes/named.json")["changingInStatefulSets"]
        rest, rest_before = (
            {key: value for key, value in one.items() if key not in changing} for one in (spec, before)
        )
        if rest != rest_before:
            yield forbidden(_SPEC, argument, "immutable")
    else:
        fields = ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy")
        yield from check_kept(kind.root.fields["spec"].type, spec, before, _SPEC, *fields)


def _check_stateful_spec(kind: Kind, new: Value, before: Stored) -> Causes:
    spec = new["spec"]
    yield from check_part(kind, "statefulSet", spec, _SPEC)
    skip_template = False
    if before is not None:
        skip_template = any(_check_stateful_template(kind, before, None))
    for index, claim in enumerate(spec.get("volumeClaimTemplates", ()) if before is None else ()):
        at: Path = (*_SPEC, "volumeClaimTemplates", index, "spec")
        yield from check_part(kind, "claimSpec", claim.get("spec", {}), at, "volume-claims")
    name = spec.get("serviceName", "")
    if name and before is None:
        yield from refuse_text((*_SPEC, "serviceName"), name, check_short_name(name), "pod-names")
    yield from _check_selector(kind, spec, "statefulset", "")
    selector = spec.get("selector")
    if not is_wrong_selector(selector):
        if selector is None or (_needs(selector) and not match_labels(selector, _labels(spec))):
            yield _mismatch(new)
        if not skip_template:
            yield from _check_stateful_template(kind, spec, before)
    yield from check_part(kind, "podsOfStatefulSet", spec.get("template", {}).get("spec", {}), _PODS)


def _check_stateful_template(kind: Kind, spec: Value, before: Stored) -> Causes:
    """The template with the volumes that its claims bring, and without the names that each pod gets."""
    template = spec["template"]
    pods = {key: value for key, value in template.get("spec", {}).items() if key not in ("hostname", "subdomain")}
    claims = spec.get("volumeClaimTemplates", ())
    if claims:
        names = dict.fromkeys(claim.get("metadata", {}).get("name", "") for claim in claims)
        made = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} if name else {"persistentVolumeClaim": {}}
            for name in names
        ]
        pods["volumes"] = [*made, *(one for one in pods.get("volumes", ()) if one.get("name", "") not in names)]
    old = (before or {}).get("template")
    yield from check_kept_template(kind, {**template, "spec": pods}, old, (*_SPEC, "template"))


def check_replication_controller(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "replicas", spec, _SPEC)
    selector = spec.get("selector", {})
    if not selector:
        yield required((*_SPEC, "selector"), rule=_SELECTOR)
    template = spec.get("template")
    path = (*_SPEC, "template")
    if template is None:
        yield required(path, rule=_SELECTOR)
        return
    labels = _labels(spec)
    if any(labels.get(key) != value for key, value in selector.items()):
        yield _mismatch(new)
    yield from check_kept_template(kind, template, (before or {}).get("template"), path)
    yield from check_part(kind, "podsOfReplicationController", spec.get("template", {}).get("spec", {}), _PODS)


def _labels(spec: Value) -> Value:
    found: Value = spec.get("template", {}).get("metadata", {}).get("labels", {})
    return found


def _mismatch(new: Value) -> Cause:
    path = (*_SPEC, "template", "metadata", "labels")
    text = spell_labels(_labels(new["spec"]), new, path)
    return invalid_text(path, text, "`selector` does not match template `labels`", _SELECTOR)


def spell_labels(labels: Value, new: Value, path: Path) -> str:
    """The labels at a path of a new object as a text of the server shows them: an empty map is not none."""
    if labels:
        return write_json(dict(sorted(labels.items())))
    return "{}" if read_written(new, *path) == {} else "null"


def _needs(selector: Value) -> int:
    return len(selector.get("matchLabels", ())) + len(selector.get("matchExpressions", ()))


def is_wrong_selector(selector: Value | None) -> bool:
    """Whether the server cannot use a selector: a key, an operator or a value is none."""
    if not selector:
        return False
    for key, value in selector.get("matchLabels", {}).items():
        if check_label_key(key) or check_label_value(value):
            return True
    for need in selector.get("matchExpressions", ()):
        values, operator = need.get("values", ()), need.get("operator", "")
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist") or check_label_key(need.get("key", "")):
            return True
        if bool(values) != (operator in ("In", "NotIn")) or any(map(check_label_value, values)):
            return True
    return False


def _check_selector(kind: Kind, spec: Value, noun: str, wrong: str = "invalid label selector") -> Causes:
    selector = spec.get("selector")
    path = (*_SPEC, "selector")
    if selector is None:
        yield required(path, rule=_SELECTOR)
        return
    yield from of_rule(_SELECTOR, check_label_selector(kind, selector, path))
    if not _needs(selector):
        yield invalid_text(path, "{…}", f"empty selector is invalid for {noun}", _SELECTOR)
    if is_wrong_selector(selector):
        yield invalid_text(path, "{…}", wrong, _SELECTOR)


def check_some_update(kind: Kind, update: Value, path: Path) -> Causes:
    least, most = update.get("maxUnavailable", 0), update.get("maxSurge", 0)
    if count_share(least) == 0 and count_share(most) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        yield invalid_text((*path, "maxUnavailable"), _spell_share(least), detail)


def check_one_way_to_update(kind: Kind, update: Value, path: Path) -> Causes:
    least, most = update.get("maxUnavailable", 0), update.get("maxSurge", 0)
    if count_share(least) and count_share(most):
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid_text((*path, "maxSurge"), _spell_share(most), detail)
    elif not count_share(least) and not count_share(most):
        yield required((*path, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def check_not_zero(kind: Kind, value: int | str, path: Path) -> Causes:
    if count_share(value) == 0:
        yield invalid_text(path, _spell_share(value), "cannot be 0")


def _spell_share(value: int | str) -> str:
    return spell(value) if isinstance(value, int) else write_json(value)
