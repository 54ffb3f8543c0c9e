"""The rules of where a pod can run: selectors, affinities, tolerations, spreading over domains.

Source: validateAffinity, ValidateTolerations, validateTopologySpreadConstraints of
k8s.io/kubernetes/pkg/apis/core/validation; ValidateLabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int, quote
from krmfn.model.values import Value
from krmfn.server.cases import check_each, check_part
from krmfn.server.formats import check_label_key, check_label_value, find_format
from krmfn.server.plain.values import check_labels
from krmfn.server.pods.setting import Setting
from krmfn.server.verdict import Causes, Out, invalid, note_rule, refuse_text

_NO_SELECTOR = "must not be specified when labelSelector is not set"
_TWICE = "exists in both matchLabelKeys and labelSelector"


def _check_key(pod: Setting, key: str, path: Path) -> None:
    pod.refuse(path, key, check_label_key(key))


def check_selector(pod: Setting, selector: Value | None, path: Path, any_value: bool = False) -> None:
    """A label selector. `any_value`: the stored object has values that are no labels."""
    if not selector:
        return
    pod.out.extend(check_labels(pod, selector.get("matchLabels", {}), (*path, "matchLabels")))
    for index, need in enumerate(selector.get("matchExpressions", ())):
        at = (*path, "matchExpressions", index)
        _check_need(pod, need, at, any_value)


def _check_need(pod: Setting, need: Value, at: Path, any_value: bool, name: str = "need") -> None:
    """A key, an operator, and values that go with it."""
    check_part(pod, name, need, at)
    for index, value in enumerate(() if any_value else need.get("values", ())):
        pod.refuse((*at, "values", index), value, check_label_value(value))


def check_label_selector(
    kind: Any, selector: Value | None, path: Path, any_value: bool = False, rule: str = "invalid-value"
) -> Out:
    out: Out = []
    check_selector(Setting({}, kind.gates, out), selector, path, any_value)
    note_rule(out, 0, rule)
    return out


def check_nodes(pod: Setting, selector: Value, path: Path) -> None:
    """Terms of which a node has to meet one."""
    any_value = "node-affinity-values" in pod.allowed  # the stored object has values that are no labels
    where = (*path, "nodeSelectorTerms")
    terms = selector.get("nodeSelectorTerms", ())
    if not terms:
        pod.required(where, "must have at least one node selector term")
    for index, term in enumerate(terms):
        _check_node_term(pod, term, (*where, index), any_value)


def check_preference(pod: Setting, term: Value, at: Path) -> None:
    _check_node_term(pod, term, at, True)


def _check_node_term(pod: Setting, term: Value, at: Path, any_value: bool) -> None:
    for index, need in enumerate(term.get("matchExpressions", ())):
        _check_need(pod, need, (*at, "matchExpressions", index), any_value, "nodeNeed")
    check_each(pod, "fieldNeed", term.get("matchFields", ()), (*at, "matchFields"))


def check_pod_selector(pod: Setting, selector: Value, path: Path) -> None:
    check_selector(pod, selector, path, "affinity-values" in pod.allowed)


def check_label_keys(pod: Setting, term: Value, at: Path) -> None:
    matched, unmatched = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    _check_label_keys(pod, matched, unmatched, term.get("labelSelector"), at)


def _check_label_keys(pod: Setting, matched: Any, unmatched: Any, selector: Value | None, at: Path) -> None:
    """Keys whose values come from the pod, and are added to the selector when it is stored."""
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", unmatched)):
        if keys and selector is None:
            pod.forbidden((*at, name), _NO_SELECTOR)
        else:
            for index, key in enumerate(keys):
                _check_key(pod, key, (*at, name, index))
    if selector is not None:
        places = {key: index for index, key in enumerate(matched)}
        seen = set(selector.get("matchLabels", ()))
        for need in selector.get("matchExpressions", ()):
            key = need.get("key", "")
            if key in places and key in seen:
                pod.invalid((*at, places[key]), key, _TWICE)
            seen.add(key)
    for index, key in enumerate(matched):
        if key in unmatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            pod.invalid((*at, "matchLabelKeys", index), key, detail)


def check_tolerations(pod: Setting, tolerations: Iterable[Any], path: Path) -> None:
    """Which taints the pod bears."""
    check_each(pod, "toleration", tolerations, path, "pod-tolerations")


def check_number(kind: Any, value: str, path: Path) -> Causes:
    yield from refuse_text(path, value, find_format("decimal")(value))
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()):
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: invalid syntax")
    elif parse_int(value) is None:
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: value out of range")


def check_spread(pod: Setting, constraints: list[Any], path: Path) -> None:
    """How evenly pods are spread over domains."""
    for index, one in enumerate(constraints):
        at = (*path, index)
        check_part(pod, "spread", one, at)
        key, action = one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")
        for other in constraints[index + 1 :]:
            if (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == (key, action):
                where = (*at, "{topologyKey, whenUnsatisfiable}")
                pod.duplicate(where, quote(f"{{{key}, {action}}}"))
                break
        if "minDomains" in one and action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            pod.invalid((*at, "minDomains"), one["minDomains"], detail)
        selector = one.get("labelSelector")
        if "matchLabelKeys" in one:
            _check_spread_keys(pod, one["matchLabelKeys"], selector, at)
        if "spread-selector" not in pod.allowed:
            check_selector(pod, selector, (*at, "labelSelector"))


def _check_spread_keys(pod: Setting, keys: list[str], selector: Value | None, at: Path) -> None:
    merged = pod.is_on("MatchLabelKeysInPodTopologySpread")
    if merged and pod.is_on("MatchLabelKeysInPodTopologySpreadSelectorMerge") != ("spread-keys" in pod.allowed):
        _check_label_keys(pod, keys, (), selector, at)
        return
    path = (*at, "matchLabelKeys")
    if selector is None:
        pod.forbidden(path, _NO_SELECTOR)
    known = set((selector or {}).get("matchLabels", ()))
    known.update(need.get("key", "") for need in (selector or {}).get("matchExpressions", ()))
    for index, key in enumerate(keys):
        _check_key(pod, key, (*path, index))
        if key in known:
            pod.invalid((*path, index), key, _TWICE)
