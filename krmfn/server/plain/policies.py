"""ValidatingAdmissionPolicy, MutatingAdmissionPolicy and their bindings. Whether an expression compiles is not checked.

Source: k8s.io/kubernetes/pkg/apis/admissionregistration/validation.
"""

from __future__ import annotations

from collections.abc import Iterator

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.server.cases import check_part
from krmfn.server.formats import check_dns_1035, check_label_key, check_long_name
from krmfn.server.pods.setting import Object
from krmfn.server.schema import Kind
from krmfn.server.verdict import Cause, duplicate, find_repeated, invalid, invalid_text, refuse_text, required

_MOST_ANNOTATIONS, _LONGEST_EXPRESSION = 20, 5 * 1024


def check_policy(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec, before = new["spec"], old["spec"] if old else {}
    at: Path = ("spec",)
    if not old or any(spec.get(name) != before.get(name) for name in ("paramKind", "matchConditions")):
        yield from check_part(kind, "matchConditions", spec.get("matchConditions", []), (*at, "matchConditions"))
    if kind.name.startswith("Validating"):
        yield from _check_validations(new, spec, at)


def check_group_version(kind: Kind, text: str, path: Path) -> Iterator[Cause]:
    group, _, version = text.rpartition("/")
    if text.count("/") > 1:
        yield invalid(path, text, f"unexpected GroupVersion string: {text}")
    else:
        if group and (wrong := check_long_name(group)):
            yield invalid(path, group, ",".join(wrong))
        if not version:
            yield invalid(path, text, "version must be specified")
        elif wrong := check_dns_1035(version):
            yield invalid(path, version, ",".join(wrong))


def check_kind_of_param(kind: Kind, name: str, path: Path) -> Iterator[Cause]:
    if wrong := check_dns_1035(name.lower()):
        yield invalid(path, name, f"may have mixed case, but should otherwise match: {','.join(wrong)}")


def _check_validations(new: Object, spec: Object, at: Path) -> Iterator[Cause]:
    annotations = spec.get("auditAnnotations", [])
    if len(annotations) > _MOST_ANNOTATIONS:
        detail = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        yield invalid_text((*at, "auditAnnotations"), "{…}", detail)
    again = find_repeated([each.get("key", "") for each in annotations])
    for index, each in enumerate(annotations):
        place: Path = (*at, "auditAnnotations", index)
        key, text = each.get("key", ""), each.get("valueExpression", "").strip()
        if name := new["metadata"].get("name", ""):
            yield from refuse_text((*place, "key"), f"{name}/{key}", check_label_key(f"{name}/{key}"))
        else:
            yield invalid((*place, "key"), key, "requires metadata.name be non-empty")
        if not text:
            yield required((*place, "valueExpression"), "valueExpression is not specified")
        elif len(text.encode()) > _LONGEST_EXPRESSION:
            detail = f"must not exceed {_LONGEST_EXPRESSION} bytes in length"
            yield required((*place, "valueExpression"), detail)
        if index in again:
            yield duplicate((*place, "key"), quote(key))


def check_policy_binding(kind: Kind, new: Object, old: Object | None) -> Iterator[Cause]:
    spec = new["spec"]
    if {"Deny", "Warn"} <= set(spec.get("validationActions", ())):
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API response"
            " and headers serves no purpose)"
        )
        yield invalid_text(("spec", "validationActions"), "{…}", detail)
