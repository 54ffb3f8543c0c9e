"""The rules of the kinds that keep pods running: Deployment, ReplicaSet, StatefulSet, DaemonSet, ReplicationController.

Source: k8s.io/kubernetes/pkg/apis/apps/{v1/defaults.go,validation/validation.go} and the ReplicationController's part
of pkg/apis/core.
"""

from __future__ import annotations

from krmfn.krm.paths import Path
from krmfn.model.selectors import match_labels
from krmfn.model.values import Fields, Value
from krmfn.releases import schemastore
from krmfn.server.cases import check_part
from krmfn.server.plain.values import check_kept, count_share
from krmfn.server.pods.changes import check_kept_template
from krmfn.server.pods.defaults import fill_pods
from krmfn.server.pods.spec import check_label_selector
from krmfn.server.schema import Kind, Stored
from krmfn.server.spell import read_written, write_json
from krmfn.server.strategy import with_fields
from krmfn.server.verdict import Cause, Causes, Out, forbidden, invalid_text, of_rule, required

_SELECTOR = "pod-selector"
_SPEC: Path = ("spec",)


def fill_replication_controller(kind: Kind, new: Fields) -> None:
    spec = new["spec"]
    labels = _labels(spec)
    fill_pods(kind, new)
    if labels:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not new["metadata"].get("labels"):
            new["metadata"]["labels"] = dict(labels)


def check_replica_set(kind: Kind, new: Value, old: Stored) -> Causes:
    """Also a Deployment, which is one with a strategy."""
    spec, before = new["spec"], (old or {}).get("spec")
    faults = find_selector_faults(kind, new)
    yield from check_part(kind, "replicas", spec, _SPEC)
    yield from _check_selector(new, faults, "deployment", "invalid label selector")
    if not faults:  # where it is no use, the template is not looked at
        yield from check_kept_template(kind, spec, before, _SPEC)
        yield from check_part(kind, "podsOfReplicaSet", spec, _SPEC)
    yield from check_part(kind, "deployment", spec, _SPEC)
    yield from check_kept(kind, spec, before, "selector")


def check_daemon_set(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "replicas", spec, _SPEC)
    yield from check_selected(new, find_selector_faults(kind, new), _SELECTOR)
    if spec.get("selector") == {}:
        yield invalid_text((*_SPEC, "selector"), "{…}", "empty selector is invalid for daemonset", _SELECTOR)
    yield from check_kept_template(kind, spec, before, _SPEC)
    yield from check_part(kind, "daemonSet", spec, _SPEC)
    yield from check_kept(kind, spec, before, "selector")


def check_stateful_set(kind: Kind, new: Value, old: Stored, argument: str = "") -> Causes:
    """`argument` is the server's text for a change of anything that cannot change, empty where each field has its
    own."""
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "statefulSet", spec, _SPEC)
    if before is None:
        yield from check_part(kind, "newStatefulSet", spec, _SPEC)
    faults = find_selector_faults(kind, new)
    yield from _check_selector(new, faults, "statefulset", "")
    was_wrong = before is not None and any(_check_stateful_template(kind, before, None))
    if not was_wrong and not faults:
        yield from _check_stateful_template(kind, spec, before)
    yield from check_part(kind, "podsOfStatefulSet", spec, _SPEC)
    if not argument:
        fields = ("selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy")
        yield from check_kept(kind, spec, before, *fields)
    elif before is not None:
        changing = schemastore.load("kubernetes/named.json")["changingInStatefulSets"]
        if with_fields(spec, before, *changing) != before:
            yield forbidden(_SPEC, argument, "immutable")


def _check_stateful_template(kind: Kind, spec: Value, before: Stored) -> Causes:
    """The template with the volumes that its claims bring, and without the names that each pod gets."""
    template = spec["template"]
    pods = with_fields(template.get("spec", {}), {}, "hostname", "subdomain")
    claims = spec.get("volumeClaimTemplates", ())
    if claims:
        names = dict.fromkeys(claim.get("metadata", {}).get("name", "") for claim in claims)
        made = [
            {"name": name, "persistentVolumeClaim": {"claimName": name}} if name else {"persistentVolumeClaim": {}}
            for name in names
        ]
        pods["volumes"] = [*made, *(one for one in pods.get("volumes", ()) if one.get("name", "") not in names)]
    yield from check_kept_template(kind, {"template": {**template, "spec": pods}}, before, _SPEC)


def check_replication_controller(kind: Kind, new: Value, old: Stored) -> Causes:
    spec, before = new["spec"], (old or {}).get("spec")
    yield from check_part(kind, "replicas", spec, _SPEC)
    selector = spec.get("selector", {})
    if not selector:
        yield required((*_SPEC, "selector"), rule=_SELECTOR)
    if "template" not in spec:
        yield required((*_SPEC, "template"), rule=_SELECTOR)
        return
    if not match_labels({"matchLabels": selector}, _labels(spec)):
        yield _mismatch(new, _SELECTOR)
    yield from check_kept_template(kind, spec, before, _SPEC)
    yield from check_part(kind, "podsOfReplicationController", spec, _SPEC)


def _labels(spec: Value) -> Value:
    found: Value = spec.get("template", {}).get("metadata", {}).get("labels", {})
    return found


def find_selector_faults(kind: Kind, new: Value) -> Out:
    """What is wrong with the selector of an object itself, whatever pods it has."""
    return check_label_selector(kind, new["spec"].get("selector"), (*_SPEC, "selector"))


def _check_selector(new: Value, faults: Out, noun: str, wrong: str) -> Causes:
    """A selector that has to be there and to select something; `wrong` is what the server says of one that it cannot
    use, behind what is wrong with it."""
    selector, path = new["spec"].get("selector"), (*_SPEC, "selector")
    if selector is None:
        yield required(path, rule=_SELECTOR)
    yield from check_selected(new, faults, _SELECTOR)
    if selector == {}:
        yield invalid_text(path, "{…}", f"empty selector is invalid for {noun}", _SELECTOR)
    if faults:
        yield invalid_text(path, "{…}", wrong, _SELECTOR)


def check_selected(new: Value, faults: Out, rule: str) -> Out:
    """What is wrong with a selector, its `faults`; or that it does not select the pods of the template."""
    spec = new["spec"]
    fits = match_labels(spec.get("selector"), _labels(spec))
    return of_rule(rule, faults) if faults or fits else [_mismatch(new, rule)]


def _mismatch(new: Value, rule: str) -> Cause:
    path = (*_SPEC, "template", "metadata", "labels")
    labels = dict(sorted(_labels(new["spec"]).items())) or read_written(new, *path)  # an empty map is not none
    return invalid_text(path, write_json(labels), "`selector` does not match template `labels`", rule)


def check_some_update(kind: Kind, update: Value, path: Path) -> Causes:
    least, most = update.get("maxUnavailable", 0), update.get("maxSurge", 0)
    if count_share(least) == 0 and count_share(most) == 0:
        detail = "may not be 0 when `maxSurge` is 0"
        yield invalid_text((*path, "maxUnavailable"), write_json(least), detail)


def check_one_way_to_update(kind: Kind, update: Value, path: Path) -> Causes:
    least, most = update.get("maxUnavailable", 0), update.get("maxSurge", 0)
    if count_share(least) and count_share(most):
        detail = "may not be set when maxUnavailable is non-zero"
        yield invalid_text((*path, "maxSurge"), write_json(most), detail)
    elif not count_share(least) and not count_share(most):
        yield required((*path, "maxUnavailable"), "cannot be 0 when maxSurge is 0")


def check_not_zero(kind: Kind, value: int | str, path: Path) -> Causes:
    if count_share(value) == 0:
        yield invalid_text(path, write_json(value), "cannot be 0")
