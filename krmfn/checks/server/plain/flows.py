"""FlowSchema and PriorityLevelConfiguration. Those that a server makes by itself (`exempt`, `catch-all`) have fixed
contents, which are not compared.

Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation and pkg/apis/flowcontrol/v1/defaults.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from krmfn.checks.server.formats import check_long_name, check_short_name
from krmfn.checks.server.plain.values import RULE, check_choice, refuse
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import Cause, forbidden, invalid, invalid_text, not_supported, required
from krmfn.krm.paths import Path
from krmfn.krm.types import Any

_SPEC: Path = ("spec",)
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
#: The field of a subject by its kind.
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_MOST_QUEUES, _MOST_BITS = 10_000_000, 60


def fill_flow_schema(kind: Kind, new: dict[str, Any]) -> None:
    spec = new.setdefault("spec", {})
    spec["matchingPrecedence"] = spec.get("matchingPrecedence") or 1000


def fill_priority_level(kind: Kind, new: dict[str, Any]) -> None:
    spec = new.setdefault("spec", {})
    for name, shares in (("limited", 30), ("exempt", 0)):
        if name in spec:
            spec[name].setdefault("nominalConcurrencyShares", shares)
            spec[name].setdefault("lendablePercent", 0)
    queuing = spec.get("limited", {}).get("limitResponse", {}).get("queuing")
    for name, number in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)) if queuing is not None else ():
        queuing[name] = queuing.get(name) or number


def check_flow_schema(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    number, path = spec["matchingPrecedence"], (*_SPEC, "matchingPrecedence")
    if number <= 0:
        yield invalid(path, RULE, number, "must be a positive value")
    if number > 10_000:
        yield invalid(path, RULE, number, "must not be greater than 10000")
    if number == 1 and new["metadata"].get("name") != "exempt":
        yield invalid(path, RULE, number, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        path = (*_SPEC, "distinguisherMethod", "type")
        yield not_supported(path, "enum", "{…}", ("ByNamespace", "ByUser"))
    name, path = spec.get("priorityLevelConfiguration", {}).get("name", ""), (*_SPEC, "priorityLevelConfiguration")
    if not name:
        yield required((*path, "name"), "required", "must reference a priority level")
    else:
        yield from refuse((*path, "name"), name, check_long_name(name))
    for index, rule in enumerate(spec.get("rules", ())):
        yield from _check_rule(rule, (*_SPEC, "rules", index))


def _check_rule(rule: Object, at: Path) -> Iterator[Cause]:
    for index, subject in enumerate(rule.get("subjects", ())):
        yield from _check_subject(subject, (*at, "subjects", index))
    if not rule.get("subjects"):
        yield required((*at, "subjects"), "required", "subjects must contain at least one value")
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(at, "required", "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, inner in enumerate(rule.get("resourceRules", ())):
        place = (*at, "resourceRules", index)
        yield from _check_verbs(inner, place)
        for name, words in (("apiGroups", "api group"), ("resources", "resource")):
            missing = f"resource rules must supply at least one {words}"
            yield from _check_alone(inner.get(name), (*place, name), f"{words}s", missing)
        missing = "resource rules that are not cluster scoped must supply at least one namespace"
        spaces = inner.get("namespaces", [])
        if spaces or not inner.get("clusterScope"):
            yield from _check_alone(spaces, (*place, "namespaces"), "namespaces", missing)
        for number, space in enumerate(spaces if "*" not in spaces else ()):
            wrong = (
                f"each member of this list must be '*' or a DNS-1123 label; {text}" for text in check_short_name(space)
            )
            yield from refuse((*place, "namespaces", number), space, wrong)
    for index, inner in enumerate(rule.get("nonResourceRules", ())):
        place = (*at, "nonResourceRules", index)
        yield from _check_verbs(inner, place)
        urls, missing = inner.get("nonResourceURLs", []), "nonResourceURLs must contain at least one value"
        yield from _check_alone(urls, (*place, "nonResourceURLs"), "non-resource URLs", missing)
        for number, url in enumerate(urls if "*" not in urls else ()):
            yield from refuse((*place, "nonResourceURLs", number), url, _find_fault(url))


def _check_verbs(rule: Object, at: Path) -> Iterator[Cause]:
    verbs, path = rule.get("verbs", []), (*at, "verbs")
    yield from _check_alone(verbs, path, "verbs", "verbs must contain at least one value")
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield not_supported(path, "enum", "{…}", _VERBS)


def _check_alone(values: list[str] | None, path: Path, others: str, missing: str) -> Iterator[Cause]:
    """A list that is not empty, in which `*` is the only one."""
    if not values:
        yield required(path, "required", missing)
    elif "*" in values and len(values) > 1:
        yield invalid_text(path, RULE, "{…}", f"if '*' is present, must not specify other {others}")


def _find_fault(url: str) -> tuple[str, ...]:
    if not url:
        return ("must not be empty",)
    if url == "/":
        return ()
    if not url.startswith("/"):
        return ("must start with slash",)
    if " " in url:
        return ("must not contain white-space",)
    if "//" in url:
        return ("must not contain double slash",)
    right = "*" not in url or (url.count("*") == 1 and url.endswith("/*"))
    return () if right else ("wildcard can only do suffix matching",)


def _check_subject(subject: Object, at: Path) -> Iterator[Cause]:
    wanted = subject.get("kind", "")
    if wanted not in _SUBJECTS:
        yield from check_choice(wanted, (*at, "kind"), tuple(_SUBJECTS))
        return
    for kind, field in _SUBJECTS.items():
        path, found = (*at, field), subject.get(field)
        if kind != wanted:
            if found is not None:
                yield forbidden(path, RULE, f"{field} is forbidden when subject kind is not '{kind}'")
        elif found is None:
            yield required(path, "required", f"{field} is required when subject kind is '{kind}'")
        else:
            name, space = found.get("name", ""), found.get("namespace", "")
            if not name:
                yield required((*path, "name"), "required")
            elif kind == "ServiceAccount" and name != "*":
                yield from refuse((*path, "name"), name, check_long_name(name))
            if kind == "ServiceAccount" and space:
                yield from refuse((*path, "namespace"), space, check_short_name(space))
            elif kind == "ServiceAccount":
                yield required((*path, "namespace"), "required", "must specify namespace for service account")


def check_priority_level(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    wanted, path = spec.get("type", ""), (*_SPEC, "type")
    if (new["metadata"].get("name") == "exempt") != (wanted == "Exempt"):
        yield invalid(path, RULE, wanted, "must be 'Exempt' if and only if `name` is 'exempt'")
    if not wanted:
        yield required(path, "required")
    else:
        yield from check_choice(wanted, path, ("Exempt", "Limited"))
    for name, field in (("Exempt", "exempt"), ("Limited", "limited")):
        if field in spec and name == wanted:
            yield from _check_level(spec[field], (*_SPEC, field))
        elif field in spec:
            yield forbidden((*_SPEC, field), RULE)
    if "limited" in spec:
        yield from _check_response(
            spec["limited"].get("limitResponse", {}), (*_SPEC, "limited", "limitResponse"), wanted
        )
    elif wanted == "Limited":
        yield required((*_SPEC, "limited"), "required")


def _check_level(level: Object, at: Path) -> Iterator[Cause]:
    if level["nominalConcurrencyShares"] < 0:
        path = (*at, "nominalConcurrencyShares")
        yield invalid(path, RULE, level["nominalConcurrencyShares"], "must be a non-negative integer")
    if not 0 <= level["lendablePercent"] <= 100:
        yield invalid((*at, "lendablePercent"), RULE, level["lendablePercent"], "must be between 0 and 100, inclusive")
    if level.get("borrowingLimitPercent", 0) < 0:
        path, detail = (*at, "borrowingLimitPercent"), "if specified, must be a non-negative integer"
        yield invalid(path, RULE, level["borrowingLimitPercent"], detail)


def _check_response(response: Object, at: Path, wanted: str) -> Iterator[Cause]:
    found, queuing = response.get("type", ""), response.get("queuing")
    if not found:
        yield required((*at, "type"), "required")
    else:
        yield from check_choice(found, (*at, "type"), ("Queue", "Reject"))
    if found == "Queue" and queuing is None:
        yield required((*at, "queuing"), "required")
    elif found != "Queue" and queuing is not None:
        yield forbidden((*at, "queuing"), RULE)
    elif queuing is not None and wanted == "Limited":
        yield from _check_queues(queuing, (*at, "queuing"))


def _check_queues(queuing: Object, at: Path) -> Iterator[Cause]:
    for name in ("queueLengthLimit", "queues", "handSize"):
        if queuing[name] <= 0:
            yield invalid((*at, name), RULE, queuing[name], "must be positive")
    queues, hand = queuing["queues"], queuing["handSize"]
    if queues > _MOST_QUEUES:
        yield invalid((*at, "queues"), RULE, queues, f"must not be greater than {_MOST_QUEUES}")
    if hand > queues:
        yield invalid((*at, "handSize"), RULE, hand, f"should not be greater than queues ({queues})")
    elif hand > 0 and math.ceil(math.log2(queues) * hand) > _MOST_BITS:
        detail = (
            f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_MOST_BITS}"
        )
        yield invalid((*at, "handSize"), RULE, hand, detail)
