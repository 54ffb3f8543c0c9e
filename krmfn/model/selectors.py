"""Selectors of labels and of nodes, as the scheduler matches them. Pure; a label that a controller may add is unknown.

Source: k8s.io/apimachinery/pkg/labels, k8s.io/component-helpers/scheduling/corev1/nodeaffinity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from krmfn.model.gotext import parse_int
from krmfn.model.values import Value, as_list, as_mapping, as_text

#: True, False, or None where a controller or the cluster may decide it.
Answer = bool | None
#: Which keys a label may get that is not written; None: no others.
MayGet = Callable[[str], bool] | None

#: Those of selectors of labels; nodes can be selected by numbers, too.
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
#: The label of every namespace that is its name.
_NAMESPACE = "kubernetes.io/metadata.name"


def match_namespace(selector: object, name: str, space: object, complete: bool = False) -> Answer:
    """Whether a label selector selects a namespace. `space` is its object; without one (None) it may have any label
    beside that of its name, unless the known objects are `complete`."""
    labels = {**as_mapping(space, "metadata", "labels"), _NAMESPACE: name}
    return match_labels(selector, labels, None if space is not None or complete else lambda key: key != _NAMESPACE)


def match_labels(selector: object, labels: Value, may_get: MayGet = None) -> Answer:
    """Whether a label selector selects what has these labels; `may_get` tells which further keys it may have.

    No selector selects nothing, an empty one everything.
    """
    if selector is None:
        return False
    answers = [
        _match(key, "In", [value], labels, may_get) for key, value in as_mapping(selector, "matchLabels").items()
    ]
    answers += [_match(*_read_entry(entry), labels, may_get) for entry in as_list(selector, "matchExpressions")]
    return both(*answers)


def both(*answers: Answer) -> Answer:
    """Whether all hold."""
    return False if False in answers else None if None in answers else True


def _match(key: str, operator: str, values: Sequence[Any], labels: Value, may_get: MayGet) -> Answer:
    is_open = key not in labels and may_get is not None and may_get(key)
    return None if is_open or operator not in _OPERATORS else holds(key, operator, values, labels)


def match_node(terms: object, labels: Value, name: str) -> bool:
    """Whether one of the node selector terms selects the node; a term without requirements selects none."""
    for term in as_list(terms):
        expressions, fields = as_list(term, "matchExpressions"), as_list(term, "matchFields")
        entries = [(entry, labels) for entry in expressions] + [(entry, {"metadata.name": name}) for entry in fields]
        if entries and all(holds(*_read_entry(entry), known) for entry, known in entries):
            return True
    return False


def _read_entry(entry: object) -> tuple[str, str, Sequence[Any]]:
    """The key, the operator and the values of a requirement."""
    return as_text(entry, "key"), as_text(entry, "operator"), as_list(entry, "values")


def holds(key: str, operator: str, values: Sequence[Any], labels: Value) -> bool:
    """Whether labels satisfy one requirement."""
    match operator:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt" | "Lt":
            return len(values) == 1 and is_beyond(labels.get(key), values[0], operator == "Gt")
    return False


def is_beyond(text: object, bound: object, above: bool) -> bool:
    """Whether a number is greater (`above`) or less than another one; False for texts that are none."""
    number, limit = parse_int(text), parse_int(bound)
    return number is not None and limit is not None and (number > limit if above else number < limit)


def tolerates(tolerations: Iterable[object], taint: Value) -> bool:
    """Whether one of the tolerations tolerates the taint."""
    key, value, effect = (as_text(taint.get(field)) for field in ("key", "value", "effect"))
    for entry in tolerations:
        operator = as_text(entry, "operator") or "Equal"
        if as_text(entry, "effect") not in ("", effect):
            continue
        wanted = as_text(entry, "key")
        if wanted not in ("", key) or (not wanted and operator != "Exists"):
            continue
        held = as_text(entry, "value")
        if operator == "Exists" or (operator == "Equal" and held == value):
            return True
        if operator in ("Gt", "Lt") and is_beyond(value, held, operator == "Gt"):
            return True
    return False
