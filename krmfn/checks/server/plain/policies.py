"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings. Whether an expression compiles is not checked.

Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from krmfn.checks.server.formats import check_dns_1035, check_label_key, check_long_name, check_path_segment
from krmfn.checks.server.plain.values import RULE, check_choice, check_label_selector, refuse
from krmfn.checks.server.plain.webhooks import SELECTORS, check_conditions, check_rule, fill_match
from krmfn.checks.server.pods.setting import Object
from krmfn.checks.server.schema import Kind
from krmfn.checks.server.verdict import (
    Cause,
    duplicate,
    find_repeated,
    forbidden,
    invalid,
    invalid_text,
    not_supported,
    required,
)
from krmfn.krm.paths import Path
from krmfn.krm.types import Any
from krmfn.model.gotext import quote

_RULES = ("resourceRules", "excludeResourceRules")
_ACTIONS = ("Audit", "Deny", "Warn")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_TO_MUTATE = ("*", "CONNECT", "CREATE", "UPDATE")
#: The field of a mutation by its type.
_PATCHES = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void"
    "|while"
)
_NO_ITEM = "validations or auditAnnotations must contain at least one item"
_MOST_ANNOTATIONS, _LONGEST_EXPRESSION = 20, 5 * 1024


def fill_policy(kind: Kind, new: dict[str, Any]) -> None:
    spec = new.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    if "matchConstraints" in spec:
        fill_match(spec["matchConstraints"], _RULES)


def fill_policy_binding(kind: Kind, new: dict[str, Any]) -> None:
    spec = new.setdefault("spec", {})
    if "matchResources" in spec:
        fill_match(spec["matchResources"], _RULES)


def check_policy(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec, before = new["spec"], old["spec"] if old else {}
    at: Path = ("spec",)
    mutating = kind.name.startswith("Mutating")
    yield from check_choice(spec["failurePolicy"], (*at, "failurePolicy"), ("Fail", "Ignore"))
    if "paramKind" in spec:
        yield from _check_param_kind(spec["paramKind"], (*at, "paramKind"))
    if "matchConstraints" not in spec:
        yield required((*at, "matchConstraints"), "required")
    else:
        path = (*at, "matchConstraints")
        yield from _check_match(kind, spec["matchConstraints"], path, mutating)
        if not spec["matchConstraints"].get("resourceRules"):
            yield required((*path, "resourceRules"), "required")
    if not old or any(spec.get(name) != before.get(name) for name in ("paramKind", "matchConditions")):
        yield from check_conditions(spec.get("matchConditions", []), (*at, "matchConditions"))
    for index, variable in enumerate(spec.get("variables", ())):
        yield from _check_variable(variable, (*at, "variables", index))
    yield from _check_mutations(spec, at) if mutating else _check_validations(new, spec, at)


def _check_param_kind(param: Object, at: Path) -> Iterator[Cause]:
    path = (*at, "apiVersion")
    text = param.get("apiVersion", "")
    group, _, version = text.rpartition("/")
    if not text:
        yield required(path, "required")
    elif text.count("/") > 1:
        yield invalid(path, RULE, text, f"unexpected GroupVersion string: {text}")
    else:
        if group and (wrong := check_long_name(group)):
            yield invalid(path, RULE, group, ",".join(wrong))
        if not version:
            yield invalid(path, RULE, text, "version must be specified")
        elif wrong := check_dns_1035(version):
            yield invalid(path, RULE, version, ",".join(wrong))
    name = param.get("kind", "")
    if not name:
        yield required((*at, "kind"), "required")
    elif wrong := check_dns_1035(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        yield invalid((*at, "kind"), RULE, name, detail)


def _check_match(kind: Kind, match: Object, at: Path, mutating: bool) -> Iterator[Cause]:
    yield from check_choice(match["matchPolicy"], (*at, "matchPolicy"), ("Equivalent", "Exact"))
    for name in SELECTORS:
        yield from check_label_selector(kind, match[name], (*at, name))
    for name in _RULES:
        for index, rule in enumerate(match.get(name, ())):
            yield from _check_names(rule.get("resourceNames", []), (*at, name, index, "resourceNames"))
            yield from check_rule(rule, (*at, name, index))
    for rule in match.get("resourceRules", ()) if mutating else ():
        for operation in rule.get("operations", ()):
            yield from check_choice(operation, (*at, "resourceRules", "operations"), _TO_MUTATE)


def _check_names(names: list[str], path: Path) -> Iterator[Cause]:
    again = find_repeated(names)
    for index, name in enumerate(names):
        yield from refuse((*path, index), name, check_path_segment(name))
        if index in again:
            yield duplicate((*path, index), "unique-key", quote(name))


def _check_variable(variable: Object, at: Path) -> Iterator[Cause]:
    name = variable.get("name", "")
    if not name.strip():
        yield required((*at, "name"), "required", "name is not specified")
    elif not re.fullmatch("[_a-zA-Z][_a-zA-Z0-9]*", name) or _RESERVED.fullmatch(name):
        yield invalid((*at, "name"), RULE, name, "must be a valid CEL identifier")
    if not variable.get("expression", "").strip():
        yield required((*at, "expression"), "required", "expression is not specified")


def _check_validations(new: Object, spec: Object, at: Path) -> Iterator[Cause]:
    annotations = spec.get("auditAnnotations", [])
    if not spec.get("validations") and not annotations:
        yield required((*at, "validations"), "required", _NO_ITEM)
        yield required((*at, "auditAnnotations"), "required", _NO_ITEM)
    for index, validation in enumerate(spec.get("validations", ())):
        yield from _check_validation(validation, (*at, "validations", index))
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_text((*at, "auditAnnotations"), RULE, "{…}", detail)
    again = find_repeated([each.get("key", "") for each in annotations])
    for index, each in enumerate(annotations):
        place: Path = (*at, "auditAnnotations", index)
        key, text = each.get("key", ""), each.get("valueExpression", "").strip()
        name = f"{new['metadata'].get('name', '')}/{key}"
        yield from refuse((*place, "key"), name, check_label_key(name))
        if not text:
            yield required((*place, "valueExpression"), "required", "valueExpression is not specified")
        elif len(text.encode()) > _LONGEST_EXPRESSION:
            detail = f"must not exceed {_LONGEST_EXPRESSION} bytes in length"
            yield required((*place, "valueExpression"), "required", detail)
        if index in again:
            yield duplicate((*place, "key"), "unique-key", quote(key))


def _check_validation(validation: Object, at: Path) -> Iterator[Cause]:
    if not validation.get("expression", "").strip():
        yield required((*at, "expression"), "required", "expression is not specified")
    for name in ("messageExpression", "message"):
        text = validation.get(name, "")
        if text and not text.strip():
            yield invalid((*at, name), RULE, text, "must be non-empty if specified")
        elif name == "message" and re.search("[\n\r]", text.strip()):
            yield invalid((*at, name), RULE, text, "must not contain line breaks")
    if "reason" in validation:
        yield from check_choice(validation["reason"], (*at, "reason"), _REASONS)


def _check_mutations(spec: Object, at: Path) -> Iterator[Cause]:
    if not spec.get("mutations"):
        yield required((*at, "mutations"), "required", "mutations must contain at least one item")
    for index, mutation in enumerate(spec.get("mutations", ())):
        place: Path = (*at, "mutations", index)
        wanted = mutation.get("patchType", "")
        if not wanted:
            yield required((*place, "patchType"), "required")
        elif wanted not in _PATCHES:
            yield not_supported((*place, "patchType"), "enum", quote(wanted), tuple(_PATCHES))
        for name, field in _PATCHES.items() if wanted in _PATCHES else ():
            if name != wanted and field in mutation:
                detail = f"must not be specified when patchType is {wanted}"
                yield invalid((*place, field), RULE, f"{{{field}}}", detail)
            elif name == wanted and field not in mutation:
                yield required((*place, field), "required", f"must be specified when patchType is {wanted}")
            elif name == wanted and not mutation[field].get("expression", "").strip():
                yield required((*place, field, "expression"), "required")
    again = spec.get("reinvocationPolicy", "")
    if not again:
        yield required((*at, "reinvocationPolicy"), "required")
    else:
        yield from check_choice(again, (*at, "reinvocationPolicy"), ("IfNeeded", "Never"))


def check_policy_binding(kind: Kind, new: Object, old: Object | None, argument: Any) -> Iterator[Cause]:
    spec = new["spec"]
    at: Path = ("spec",)
    if not spec.get("policyName"):
        yield required((*at, "policyName"), "required")
    else:
        yield from refuse((*at, "policyName"), spec["policyName"], check_long_name(spec["policyName"]))
    if "paramRef" in spec:
        yield from _check_param(kind, spec["paramRef"], (*at, "paramRef"))
    mutating = kind.name.startswith("Mutating")
    if "matchResources" in spec:
        yield from _check_match(kind, spec["matchResources"], (*at, "matchResources"), mutating)
    if not mutating:
        yield from _check_actions(spec.get("validationActions", []), (*at, "validationActions"))


def _check_param(kind: Kind, param: Object, at: Path) -> Iterator[Cause]:
    name, selector = param.get("name", ""), param.get("selector")
    if name:
        yield from refuse((*at, "name"), name, check_path_segment(name))
    yield from check_label_selector(kind, selector, (*at, "selector"))
    if name and selector is not None:
        for each in ("name", "selector"):
            yield forbidden((*at, each), RULE, "name and selector are mutually exclusive")
    if not name and selector is None:
        yield required(at, "required", "one of name or selector must be specified")
    action = param.get("parameterNotFoundAction", "")
    if not action:
        yield required((*at, "parameterNotFoundAction"), "required")
    else:
        yield from check_choice(action, (*at, "parameterNotFoundAction"), ("Deny", "Allow"))


def _check_actions(actions: list[str], path: Path) -> Iterator[Cause]:
    again = find_repeated(actions)
    for index, action in enumerate(actions):
        yield from check_choice(action, (*path, index), _ACTIONS)
        if index in again:
            yield duplicate((*path, index), "unique-key", quote(action))
    if {"Deny", "Warn"} <= set(actions):
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response"
            " and headers serves no purpose)"
        )
        yield invalid_text(path, RULE, "{…}", detail)
    if not actions:
        yield required(path, "required")
