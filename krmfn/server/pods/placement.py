"""The rules of where a pod can run: selectors, affinities, tolerations, spreading over domains.

Source: validateAffinity, ValidateTolerations, validateTopologySpreadConstraints of
k8s.io/kubernetes/pkg/apis/core/validation; ValidateLabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int, quote
from krmfn.server.formats import check_decimal, check_label_key, check_label_value, check_long_name, check_short_name
from krmfn.server.pods.setting import Object, Setting
from krmfn.server.schema import Kind
from krmfn.server.spell import write_json
from krmfn.server.verdict import Cause

_AFFINITY = "pod-affinity"
_SPREAD = "pod-topology-spread"
_TOLERATION = "pod-tolerations"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_OPERATOR = "not a valid selector operator"
_NO_VALUES = "must be specified when `operator` is 'In' or 'NotIn'"
_VALUES = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
_NO_SELECTOR = "must not be specified when labelSelector is not set"
_TWICE = "exists in both matchLabelKeys and labelSelector"


def check_labels(labels: Mapping[str, str], path: Path, rule: str, pod: Setting) -> None:
    """Labels that are asked for; the server names the map, not the entry."""
    for key, value in labels.items():
        pod.refuse(path, rule, key, check_label_key(key))
        pod.refuse(path, rule, value, check_label_value(value))


def _check_key(key: str, path: Path, rule: str, pod: Setting) -> None:
    pod.refuse(path, rule, key, check_label_key(key))


def check_selector(selector: Object | None, path: Path, rule: str, pod: Setting, any_value: bool = False) -> None:
    """A label selector. `any_value`: the stored object has values that are no labels."""
    if not selector:
        return
    check_labels(selector.get("matchLabels", {}), (*path, "matchLabels"), rule, pod)
    for index, need in enumerate(selector.get("matchExpressions", ())):
        at = (*path, "matchExpressions", index)
        _check_need(need, at, rule, any_value, pod)


def _check_need(need: Object, at: Path, rule: str, any_value: bool, pod: Setting, of_node: bool = False) -> None:
    """A key, an operator, and values that go with it. Labels of nodes can be compared as numbers."""
    operator, values = need.get("operator", ""), need.get("values", ())
    if operator in ("In", "NotIn"):
        if not values:
            pod.required((*at, "values"), rule, _NO_VALUES)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            pod.forbidden((*at, "values"), rule, _VALUES)
    elif of_node and operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            pod.required((*at, "values"), rule, detail)
    else:
        pod.invalid_text((*at, "operator"), rule, write_json(operator), _NO_OPERATOR)
    _check_key(need.get("key", ""), (*at, "key"), rule, pod)
    for index, value in enumerate(() if any_value else values):
        pod.refuse((*at, "values", index), rule, value, check_label_value(value))


def check_label_selector(
    kind: Kind, selector: Object | None, path: Path, any_value: bool = False, rule: str = "invalid-value"
) -> list[Cause]:
    out: list[Cause] = []
    check_selector(selector, path, rule, Setting({}, kind.gates, out), any_value)
    return out


def check_affinity(affinity: Object, path: Path, pod: Setting) -> None:
    """Towards nodes and towards other pods."""
    nodes = affinity.get("nodeAffinity")
    if nodes is not None:
        _check_node_affinity(nodes, (*path, "nodeAffinity"), pod)
    for name in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(name)
        if terms is None:
            continue
        for index, term in enumerate(terms.get(_REQUIRED, ())):
            _check_pod_term(term, (*path, name, _REQUIRED, index), pod)
        for index, weighted in enumerate(terms.get(_PREFERRED, ())):
            at = (*path, name, _PREFERRED, index)
            _check_weight(weighted, at, pod)
            _check_pod_term(weighted.get("podAffinityTerm", {}), (*at, "podAffinityTerm"), pod)


def _check_weight(weighted: Object, at: Path, pod: Setting) -> None:
    weight = weighted.get("weight", 0)
    if not 1 <= weight <= 100:
        pod.invalid((*at, "weight"), _AFFINITY, weight, "must be in the range 1-100")


def _check_node_affinity(affinity: Object, path: Path, pod: Setting) -> None:
    needed = affinity.get(_REQUIRED)
    if needed is not None:
        check_node_selector(needed, (*path, _REQUIRED), "node-affinity-values" in pod.allowed, pod)
    for index, preferred in enumerate(affinity.get(_PREFERRED, ())):
        at = (*path, _PREFERRED, index)
        _check_weight(preferred, at, pod)
        _check_node_term(preferred.get("preference", {}), (*at, "preference"), True, pod)


def check_node_selector(selector: Object, path: Path, any_value: bool, pod: Setting) -> None:
    """Terms of which a node has to meet one. `any_value`: the stored object has values that are no labels."""
    where = (*path, "nodeSelectorTerms")
    terms = selector.get("nodeSelectorTerms", ())
    if not terms:
        pod.required(where, _AFFINITY, "must have at least one node selector term")
    for index, term in enumerate(terms):
        _check_node_term(term, (*where, index), any_value, pod)


def _check_node_term(term: Object, at: Path, any_value: bool, pod: Setting) -> None:
    for index, need in enumerate(term.get("matchExpressions", ())):
        _check_need(need, (*at, "matchExpressions", index), _AFFINITY, any_value, pod, of_node=True)
    for index, need in enumerate(term.get("matchFields", ())):
        where = (*at, "matchFields", index)
        operator, values = need.get("operator", ""), need.get("values", ())
        if operator not in ("In", "NotIn"):
            pod.invalid_text((*where, "operator"), _AFFINITY, write_json(operator), _NO_OPERATOR)
        elif len(values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            pod.required((*where, "values"), _AFFINITY, detail)
        key = need.get("key", "")
        if key != "metadata.name":
            pod.invalid((*where, "key"), _AFFINITY, key, "not a valid field selector key")
            continue
        for place, value in enumerate(values):
            pod.refuse((*where, "values", place), _AFFINITY, value, check_long_name(value))


def _check_pod_term(term: Object, at: Path, pod: Setting) -> None:
    selector = term.get("labelSelector")
    any_value = "affinity-values" in pod.allowed
    check_selector(selector, (*at, "labelSelector"), _AFFINITY, pod, any_value)
    check_selector(term.get("namespaceSelector"), (*at, "namespaceSelector"), _AFFINITY, pod, any_value)
    for name in term.get("namespaces", ()):
        pod.refuse((*at, "namespace"), _AFFINITY, name, check_short_name(name))
    if "matchLabelKeys" in term or "mismatchLabelKeys" in term:
        matched, unmatched = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
        _check_label_keys(matched, unmatched, selector, at, _AFFINITY, pod)
    key = term.get("topologyKey", "")
    if not key:
        pod.required((*at, "topologyKey"), _AFFINITY, "can not be empty")
    _check_key(key, (*at, "topologyKey"), _AFFINITY, pod)


def _check_label_keys(matched: Any, unmatched: Any, selector: Object | None, at: Path, rule: str, pod: Setting) -> None:
    """Keys whose values come from the pod, and are added to the selector when it is stored."""
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", unmatched)):
        if keys and selector is None:
            pod.forbidden((*at, name), rule, _NO_SELECTOR)
        else:
            for index, key in enumerate(keys):
                _check_key(key, (*at, name, index), rule, pod)
    if selector is not None:
        places = {key: index for index, key in enumerate(matched)}
        seen = set(selector.get("matchLabels", ()))
        for need in selector.get("matchExpressions", ()):
            key = need.get("key", "")
            if key in places and key in seen:
                pod.invalid((*at, places[key]), rule, key, _TWICE)
            seen.add(key)
    for index, key in enumerate(matched):
        if key in unmatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            pod.invalid((*at, "matchLabelKeys", index), rule, key, detail)


def check_tolerations(tolerations: Iterable[Any], path: Path, pod: Setting) -> None:
    """Which taints the pod bears."""
    for index, one in enumerate(tolerations):
        at = (*path, index)
        key, operator, value = one.get("key", ""), one.get("operator", ""), one.get("value", "")
        effect = one.get("effect", "")
        if key:
            _check_key(key, (*at, "key"), _TOLERATION, pod)
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            pod.invalid_text((*at, "operator"), _TOLERATION, write_json(operator), detail)
        if "tolerationSeconds" in one and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            pod.invalid_text((*at, "effect"), _TOLERATION, write_json(effect), detail)
        _check_operator(operator, value, at, pod)
        if effect:
            values = ("NoSchedule", "PreferNoSchedule", "NoExecute")
            pod.check_choice((*at, "effect"), _TOLERATION, effect, values)


def _check_operator(operator: str, value: str, at: Path, pod: Setting) -> None:
    where = (*at, "operator")
    if operator in ("", "Equal"):
        wrong = check_label_value(value)
        if wrong:
            pod.invalid(where, _TOLERATION, value, ";".join(wrong))
    elif operator == "Exists":
        if value:
            pod.invalid(where, _TOLERATION, value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        if pod.is_on("TaintTolerationComparisonOperators"):
            _check_number(value, (*at, "value"), pod)
        else:
            values = ("Equal", "Exists", "Lt", "Gt")
            pod.not_supported(where, _TOLERATION, write_json(operator), values)
    else:
        pod.not_supported(where, _TOLERATION, write_json(operator), ("Equal", "Exists"))


def _check_number(value: str, path: Path, pod: Setting) -> None:
    pod.refuse(path, _TOLERATION, value, check_decimal(value))
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()):
        pod.invalid(path, _TOLERATION, value, f"strconv.ParseInt: parsing {quote(value)}: invalid syntax")
    elif parse_int(value) is None:
        pod.invalid(path, _TOLERATION, value, f"strconv.ParseInt: parsing {quote(value)}: value out of range")


def check_spread(constraints: list[Any], path: Path, pod: Setting) -> None:
    """How evenly pods are spread over domains."""
    for index, one in enumerate(constraints):
        at = (*path, index)
        skew, key, action = one.get("maxSkew", 0), one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")
        if skew <= 0:
            pod.invalid((*at, "maxSkew"), _SPREAD, skew, "must be greater than zero")
        if not key:
            pod.required((*at, "topologyKey"), _SPREAD, "can not be empty")
        pod.check_choice((*at, "whenUnsatisfiable"), _SPREAD, action, ("DoNotSchedule", "ScheduleAnyway"))
        for other in constraints[index + 1 :]:
            if (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == (key, action):
                where = (*at, "{topologyKey, whenUnsatisfiable}")
                pod.duplicate(where, _SPREAD, quote(f"{{{key}, {action}}}"))
                break
        _check_min_domains(one, action, (*at, "minDomains"), pod)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            pod.check_option(one, name, at, _SPREAD, ("Honor", "Ignore"))
        selector = one.get("labelSelector")
        if "matchLabelKeys" in one:
            _check_spread_keys(one["matchLabelKeys"], selector, at, pod)
        if "spread-selector" not in pod.allowed:
            check_selector(selector, (*at, "labelSelector"), _SPREAD, pod)


def _check_min_domains(one: Object, action: str, path: Path, pod: Setting) -> None:
    least = one.get("minDomains")
    if least is None:
        return
    if least <= 0:
        pod.invalid(path, _SPREAD, least, "must be greater than zero")
    if action != "DoNotSchedule":
        pod.invalid(path, _SPREAD, least, f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}")


def _check_spread_keys(keys: list[str], selector: Object | None, at: Path, pod: Setting) -> None:
    merged = pod.gates.get("MatchLabelKeysInPodTopologySpread", False)
    if merged and pod.gates.get("MatchLabelKeysInPodTopologySpreadSelectorMerge", False) != (
        "spread-keys" in pod.allowed
    ):
        _check_label_keys(keys, (), selector, at, _SPREAD, pod)
        return
    path = (*at, "matchLabelKeys")
    if selector is None:
        pod.forbidden(path, _SPREAD, _NO_SELECTOR)
    known = set((selector or {}).get("matchLabels", ()))
    known.update(need.get("key", "") for need in (selector or {}).get("matchExpressions", ()))
    for index, key in enumerate(keys):
        _check_key(key, (*path, index), _SPREAD, pod)
        if key in known:
            pod.invalid((*path, index), _SPREAD, key, _TWICE)
