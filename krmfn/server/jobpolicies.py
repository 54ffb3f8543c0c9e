"""The policies of a Job: which failures of pods count, when it has succeeded, who runs it.

Source: validatePodFailurePolicy, validateSuccessPolicy and what stands around them in
k8s.io/kubernetes/pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote, read_digits
from krmfn.server.formats import STATUSES, check_label_key, count_bytes
from krmfn.server.plain.values import check_domain_path
from krmfn.server.pods.setting import Object
from krmfn.server.spell import read_written, write_json
from krmfn.server.verdict import (
    Cause,
    duplicate,
    find_repeated,
    invalid,
    invalid_text,
    not_supported,
    refuse_text,
    required,
    too_long,
    too_many,
)

_FAILURE = "job-failure-policy"
_SUCCESS = "job-success-policy"
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")


def check_policies(spec: Object, new: Object, path: Path) -> Iterator[Cause]:
    """All policies of the spec of a Job at a path of a new object."""
    if "managedBy" in spec:
        yield from _check_manager(spec["managedBy"], (*path, "managedBy"))
    if "podFailurePolicy" in spec:
        yield from _check_failure_policy(spec, new, (*path, "podFailurePolicy", "rules"))
    if "successPolicy" in spec:
        where = (*path, "successPolicy")
        if spec.get("completionMode", "NonIndexed") != "Indexed":
            yield invalid_text(where, "job-completion-mode", "{…}", "requires indexed completion mode")
        else:
            yield from _check_success_policy(spec, (*where, "rules"))
    replacement = spec.get("podReplacementPolicy")
    known = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    if replacement is not None and replacement not in known:
        yield not_supported((*path, "podReplacementPolicy"), _FAILURE, write_json(replacement), known)


def _check_manager(name: str, path: Path) -> Iterator[Cause]:
    """A controller by a path with a domain."""
    if not name:
        yield required(path, "job-managed-by")
    else:
        yield from check_domain_path(name, path, "job-managed-by")
    if count_bytes(name) > 63:
        yield too_long(path, "job-managed-by", 63)


def _check_failure_policy(spec: Object, new: Object, path: Path) -> Iterator[Cause]:
    rules = spec["podFailurePolicy"].get("rules", ())
    pods = spec.get("template", {}).get("spec", {})
    names = {one.get("name", "") for field in ("containers", "initContainers") for one in pods.get(field, ())}
    if len(rules) > 20:
        yield too_many(path, _FAILURE, len(rules), 20)
    for index, rule in enumerate(rules):
        at = (*path, index)
        action = rule.get("action", "")
        where = (*at, "action")
        if not action:
            yield required(where, _FAILURE, _values(_ACTIONS))
        elif action == "FailIndex":
            if "backoffLimitPerIndex" not in spec:
                detail = "requires the backoffLimitPerIndex to be set"
                yield invalid_text(where, _FAILURE, write_json(action), detail)
        elif action not in _ACTIONS:
            yield not_supported(where, _FAILURE, write_json(action), _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        if codes is not None:
            yield from _check_codes(codes, names, new, (*at, "onExitCodes"))
        if conditions:
            yield from _check_conditions(conditions, (*at, "onPodConditions"))
        if codes is not None and conditions:
            text = "specifying both OnExitCodes and OnPodConditions is not supported"
            yield Cause("Invalid", at, f"Invalid value: {text}", _FAILURE)
        if codes is None and not conditions:
            text = "specifying one of OnExitCodes and OnPodConditions is required"
            yield Cause("Invalid", at, f"Invalid value: {text}", _FAILURE)


def _values(values: tuple[str, ...]) -> str:
    return f"valid values: [{' '.join(map(quote, values))}]"


def _check_conditions(conditions: list[Any], path: Path) -> Iterator[Cause]:
    if len(conditions) > 20:
        yield too_many(path, _FAILURE, len(conditions), 20)
    for index, pattern in enumerate(conditions):
        at = (*path, index)
        kind, status = pattern.get("type", ""), pattern.get("status", "")
        yield from refuse_text((*at, "type"), _FAILURE, kind, check_label_key(kind))
        if not status:
            yield required((*at, "status"), _FAILURE, _values(STATUSES))
        elif status not in STATUSES:
            yield not_supported((*at, "status"), _FAILURE, write_json(status), STATUSES)


def _check_codes(codes: Object, names: set[str], new: Object, path: Path) -> Iterator[Cause]:
    operator, name, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values", [])
    if not operator:
        yield required((*path, "operator"), _FAILURE, _values(("In", "NotIn")))
    elif operator not in ("In", "NotIn"):
        yield not_supported((*path, "operator"), _FAILURE, write_json(operator), ("In", "NotIn"))
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid((*path, "containerName"), _FAILURE, name, detail)
    where = (*path, "values")
    if not values:
        text = "[]" if read_written(new, *where) == [] else "null"
        yield invalid_text(where, _FAILURE, text, "at least one value is required")
    elif len(values) > 255:
        yield too_many(where, _FAILURE, len(values), 255)
    again = find_repeated(values)
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid((*where, index), _FAILURE, value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate((*where, index), _FAILURE, str(value))
    if values != sorted(values):
        yield invalid_text(where, _FAILURE, write_json(values), "must be ordered")


def _check_success_policy(spec: Object, path: Path) -> Iterator[Cause]:
    rules = spec["successPolicy"].get("rules", ())
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        yield required(path, _SUCCESS, detail)
    if len(rules) > 20:
        yield too_many(path, _SUCCESS, len(rules), 20)
    completions = spec.get("completions")
    for index, rule in enumerate(rules):
        at = (*path, index)
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        if count is None and indexes is None:
            detail = "at least one of succeededCount or succeededIndexes must be specified"
            yield required(at, _SUCCESS, detail)
        if completions is None:
            continue  # the server has said so
        total = 0
        if indexes is not None:
            where = (*at, "succeededIndexes")
            if count_bytes(indexes) > 65536:
                yield too_long(where, _SUCCESS, 65536)
            total, wrong = _count_indexes(indexes, completions)
            if wrong:
                yield invalid(where, _SUCCESS, indexes, f"error parsing succeededIndexes: {wrong}")
        if count is not None:
            yield from _check_count(count, completions, total if indexes is not None else None, (*at, "succeededCount"))


def _check_count(count: int, completions: int, total: int | None, path: Path) -> Iterator[Cause]:
    if count < 0:
        yield invalid(path, _SUCCESS, count, "must be greater than or equal to 0")
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(path, _SUCCESS, count, detail)
    if total is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        yield invalid(path, _SUCCESS, count, detail)


def _count_indexes(text: str, completions: int) -> tuple[int, str]:
    """How many indexes `0,2-4` names, or what is wrong with it."""
    total, last = 0, None
    for part in text.split(",") if text else ():
        first, end, wrong = _read_interval(part, completions)
        if wrong:
            return 0, wrong
        if last is not None and last >= first:
            return 0, f"non-increasing order, previous: {last}, current: {first}"
        total += end - first + 1
        last = end
    return total, ""


def _read_interval(text: str, completions: int) -> tuple[int, int, str]:
    limits = text.split("-")
    if len(limits) > 2:
        what = "violates the requirement that an index interval can have at most two parts separated by '-'"
        return 0, 0, f"the fragment {quote(text)} {what}"
    found = []
    for limit in limits:
        digits = limit.removeprefix("+")
        number = read_digits(digits)
        if number is None:
            return 0, 0, f"cannot convert string to integer for index: {quote(limit)}"
        if number >= completions:
            return 0, 0, f"too large index: {quote(limit)}"
        found.append(number)
    if len(found) > 1 and found[0] >= found[1]:
        return 0, 0, f"non-increasing order, previous: {found[0]}, current: {found[1]}"
    return found[0], found[-1], ""
