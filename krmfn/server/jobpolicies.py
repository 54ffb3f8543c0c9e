"""The policies of a Job: which failures of pods count, when it has succeeded, who runs it.

Source: validatePodFailurePolicy, validateSuccessPolicy and what stands around them in
k8s.io/kubernetes/pkg/apis/batch/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote, read_digits
from krmfn.server.cases import check_part
from krmfn.server.formats import count_bytes
from krmfn.server.plain.values import check_least
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.spell import read_written
from krmfn.server.verdict import Cause, duplicate, find_repeated, invalid, invalid_text, too_long, too_many


def check_failure_policy(kind: Kind, new: Object, spec: Object, path: Path) -> Iterator[Cause]:
    """Of the spec of a Job at a path of a new object."""
    rules = spec.get("podFailurePolicy", {}).get("rules", ())
    pods = spec.get("template", {}).get("spec", {})
    names = {one.get("name", "") for field in ("containers", "initContainers") for one in pods.get(field, ())}
    path = (*path, "podFailurePolicy", "rules")
    if len(rules) > 20:
        yield too_many(path, len(rules), 20)
    for index, rule in enumerate(rules):
        at = (*path, index)
        if rule.get("action") == "FailIndex" and "backoffLimitPerIndex" not in spec:
            detail = "requires the backoffLimitPerIndex to be set"
            yield invalid((*at, "action"), rule["action"], detail)
        yield from check_part(kind, "failureRule", rule, at)
        if "onExitCodes" in rule:
            yield from _check_codes(rule["onExitCodes"], names, new, (*at, "onExitCodes"))


def _check_codes(codes: Object, names: set[str], new: Object, path: Path) -> Iterator[Cause]:
    name, values, where = codes.get("containerName"), codes.get("values", []), (*path, "values")
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        yield invalid((*path, "containerName"), name, detail)
    if not values:
        text = "{…}" if read_written(new, *where) == [] else "null"
        yield invalid_text(where, text, "at least one value is required")
    again = find_repeated(values)
    for index, value in enumerate(values):
        if codes.get("operator") == "In" and value == 0:
            yield invalid((*where, index), value, "must not be 0 for the In operator")
        if index in again:
            yield duplicate((*where, index), str(value))
    if values != sorted(values):
        yield invalid_text(where, "{…}", "must be ordered")


def check_success_policy(kind: Kind, spec: Object, path: Path) -> Iterator[Cause]:
    completions = spec["completions"]
    for index, rule in enumerate(spec["successPolicy"].get("rules", ())):
        at = (*path, "successPolicy", "rules", index)
        count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
        total = 0
        if indexes is not None:
            where = (*at, "succeededIndexes")
            if count_bytes(indexes) > 65536:
                yield too_long(where, 65536)
            total, wrong = _count_indexes(indexes, completions)
            if wrong:
                yield invalid(where, indexes, f"error parsing succeededIndexes: {wrong}")
        if count is not None:
            yield from _check_count(count, completions, total if indexes is not None else None, (*at, "succeededCount"))


def _check_count(count: int, completions: int, total: int | None, path: Path) -> Iterator[Cause]:
    yield from check_least(count, 0, path)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        yield invalid(path, count, detail)
    if total is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        yield invalid(path, count, detail)


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
