"""FlowSchema and PriorityLevelConfiguration. Those that a server makes by itself (`exempt`, `catch-all`) have fixed
contents, which are not compared.

Source: k8s.io/kubernetes/pkg/apis/flowcontrol/validation and pkg/apis/flowcontrol/v1/defaults.go.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.server.formats import check_long_name, check_short_name
from krmfn.server.plain.values import RULE, check_choice, refuse
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, forbidden, invalid, not_supported, required

_SPEC: Path = ("spec",)
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
#: The field of a subject by its kind.
_SUBJECTS = {"Group": "group", "ServiceAccount": "serviceAccount", "User": "user"}
_MOST_QUEUES, _MOST_BITS = 10_000_000, 60


def check_flow_schema(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    if spec["matchingPrecedence"] == 1 and new["metadata"].get("name") != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        yield invalid((*_SPEC, "matchingPrecedence"), RULE, 1, detail)
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        path = (*_SPEC, "distinguisherMethod", "type")
        yield not_supported(path, "enum", "{…}", ("ByNamespace", "ByUser"))


def check_rule(kind: Kind, rule: Object, path: Path) -> Iterator[Cause]:
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield required(path, "required", "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, inner in enumerate(rule.get("resourceRules", ())):
        if not inner.get("namespaces") and not inner.get("clusterScope"):
            detail = "resource rules that are not cluster scoped must supply at least one namespace"
            yield required((*path, "resourceRules", index, "namespaces"), "required", detail)


def check_namespaces(kind: Kind, names: list[str], path: Path) -> Iterator[Cause]:
    for index, name in enumerate(names if "*" not in names else ()):
        wrong = check_short_name(name)
        prefix = "each member of this list must be '*' or a DNS-1123 label; "
        yield from refuse((*path, index), name, [prefix + message for message in wrong])


def check_verbs(kind: Kind, verbs: list[str], path: Path) -> Iterator[Cause]:
    if "*" not in verbs and not set(verbs) <= set(_VERBS):
        yield not_supported(path, "enum", "{…}", _VERBS)


def check_urls(kind: Kind, urls: list[str], path: Path) -> Iterator[Cause]:
    for index, url in enumerate(urls if "*" not in urls else ()):
        yield from refuse((*path, index), url, _find_fault(url))


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


def check_subject(of: Kind, subject: Object, at: Path) -> Iterator[Cause]:
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
