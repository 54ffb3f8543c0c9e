"""The rules of where a pod can run: selectors, affinities, tolerations, spreading over domains.

Source: validateAffinity, ValidateTolerations, validateTopologySpreadConstraints of
k8s.io/kubernetes/pkg/apis/core/validation; ValidateLabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/validation.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import parse_int, quote
from krmfn.model.values import Value
from krmfn.server.cases import check_each, check_part
from krmfn.server.formats import check_label_key, check_label_value, find_format
from krmfn.server.plain.values import check_labels
from krmfn.server.pods.spec import Setting
from krmfn.server.verdict import Causes, duplicate, forbidden, invalid, refuse_text, required

_NO_SELECTOR = "must not be specified when labelSelector is not set"
_TWICE = "exists in both matchLabelKeys and labelSelector"


def check_label_selector(kind: Any, selector: Value | None, path: Path, any_value: bool = False) -> Causes:
    """A label selector. `any_value`: the stored object has values that are no labels."""
    if not selector:
        return
    yield from check_labels(kind, selector.get("matchLabels", {}), (*path, "matchLabels"))
    for index, need in enumerate(selector.get("matchExpressions", ())):
        yield from _check_need(kind, need, (*path, "matchExpressions", index), any_value)


def _check_need(kind: Any, need: Value, at: Path, any_value: bool, name: str = "need") -> Causes:
    """A key, an operator, and values that go with it."""
    yield from check_part(kind, name, need, at)
    for index, value in enumerate(() if any_value else need.get("values", ())):
        yield from refuse_text((*at, "values", index), value, check_label_value(value))


def check_nodes(pod: Setting, selector: Value, path: Path) -> Causes:
    """Terms of which a node has to meet one."""
    any_value = "node-affinity-values" in pod.allowed  # the stored object has values that are no labels
    where = (*path, "nodeSelectorTerms")
    terms = selector.get("nodeSelectorTerms", ())
    if not terms:
        yield required(where, "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _check_node_term(pod, term, (*where, index), any_value)


def check_preference(pod: Setting, term: Value, at: Path) -> Causes:
    yield from _check_node_term(pod, term, at, True)


def _check_node_term(pod: Setting, term: Value, at: Path, any_value: bool) -> Causes:
    for index, need in enumerate(term.get("matchExpressions", ())):
        yield from _check_need(pod, need, (*at, "matchExpressions", index), any_value, "nodeNeed")
    yield from check_each(pod, "fieldNeed", term.get("matchFields", ()), (*at, "matchFields"))


def check_pod_selector(pod: Setting, selector: Value, path: Path) -> Causes:
    yield from check_label_selector(pod, selector, path, "affinity-values" in pod.allowed)


def check_label_keys(pod: Setting, term: Value, at: Path) -> Causes:
    """Keys whose values come from the pod, and are added to the selector when it is stored."""
    matched, unmatched = term.get("matchLabelKeys", ()), term.get("mismatchLabelKeys", ())
    selector = term.get("labelSelector")
    for name, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", unmatched)):
        if keys and selector is None:
            yield forbidden((*at, name), _NO_SELECTOR)
        else:
            for index, key in enumerate(keys):
                yield from refuse_text((*at, name, index), key, check_label_key(key))
    if selector is not None:
        places = {key: index for index, key in enumerate(matched)}
        seen = set(selector.get("matchLabels", ()))
        for need in selector.get("matchExpressions", ()):
            key = need.get("key", "")
            if key in places and key in seen:
                yield invalid((*at, places[key]), key, _TWICE)
            seen.add(key)
    for index, key in enumerate(matched):
        if key in unmatched:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid((*at, "matchLabelKeys", index), key, detail)


def check_number(kind: Any, value: str, path: Path) -> Causes:
    yield from refuse_text(path, value, find_format("decimal")(value))
    digits = value[1:] if value[:1] in ("+", "-") else value
    if not (digits.isascii() and digits.isdigit()):
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: invalid syntax")
    elif parse_int(value) is None:
        yield invalid(path, value, f"strconv.ParseInt: parsing {quote(value)}: value out of range")


def check_spread(pod: Setting, constraints: list[Any], path: Path) -> Causes:
    """How evenly pods are spread over domains."""
    for index, one in enumerate(constraints):
        at = (*path, index)
        yield from check_part(pod, "spread", one, at)
        key, action = one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")
        for other in constraints[index + 1 :]:
            if (other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) == (key, action):
                where = (*at, "{topologyKey, whenUnsatisfiable}")
                yield duplicate(where, quote(f"{{{key}, {action}}}"))
                break
        if "minDomains" in one and action != "DoNotSchedule":
            detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            yield invalid((*at, "minDomains"), one["minDomains"], detail)
        selector = one.get("labelSelector")
        if "matchLabelKeys" in one:
            yield from _check_spread_keys(pod, one, at)
        if "spread-selector" not in pod.allowed:
            yield from check_label_selector(pod, selector, (*at, "labelSelector"))


def _check_spread_keys(pod: Setting, one: Value, at: Path) -> Causes:
    keys, selector = one["matchLabelKeys"], one.get("labelSelector")
    merged = pod.is_on("MatchLabelKeysInPodTopologySpread")
    if merged and pod.is_on("MatchLabelKeysInPodTopologySpreadSelectorMerge") != ("spread-keys" in pod.allowed):
        yield from check_label_keys(pod, one, at)
        return
    path = (*at, "matchLabelKeys")
    if selector is None:
        yield forbidden(path, _NO_SELECTOR)
    known = set((selector or {}).get("matchLabels", ()))
    known.update(need.get("key", "") for need in (selector or {}).get("matchExpressions", ()))
    for index, key in enumerate(keys):
        yield from refuse_text((*path, index), key, check_label_key(key))
        if key in known:
            yield invalid((*path, index), key, _TWICE)
