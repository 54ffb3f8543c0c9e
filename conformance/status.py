"""A PUT to the subresource status, which the rig records and which no manifest ever sends: so it is not in krmfn.

Source: k8s.io/kubernetes/pkg/apis/scheduling/validation/validation.go; rules B40-B43.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Value
from krmfn.server.declarative import check_declared
from krmfn.server.formats import check_label_key, count_bytes
from krmfn.server.requests import Address, check_version, read_body, refuse_uid
from krmfn.server.schema import Kind
from krmfn.server.spell import write_json
from krmfn.server.verdict import (
    Cause,
    Verdict,
    duplicate,
    find_repeated,
    invalid,
    not_supported,
    refuse,
    refuse_text,
    required,
    too_long,
)

#: Which list of the spec a list of the status follows.
_USES = {"resourceClaimStatuses": "resourceClaims"}

#: Those of a condition.
_STATUSES = ("False", "True", "Unknown")


def update_status(kind: Kind, value: Any, stored: dict[str, Any], where: Address) -> Verdict:
    """PUT of `value` to the /status subresource: only the status is taken over."""
    before = stored["metadata"]
    new = read_body(kind, value, where)
    if isinstance(new, Verdict):
        return new
    meta = new.setdefault("metadata", {})
    if meta.get("uid", before["uid"]) != before["uid"]:
        return refuse_uid(kind, where, meta["uid"])
    refusal = check_version(kind, where, meta, before["resourceVersion"])
    if refusal:
        return refusal
    new["metadata"] = dict(before)
    if "spec" in stored:
        new["spec"] = stored["spec"]
    else:
        new.pop("spec", None)
    dropped = tuple(_drop_from_status(kind, new, stored))
    causes = [*_check_conditions(new, "type" if kind.release == "1.36" else "item")]
    if kind.name == "PodGroup":
        causes += _check_claim_statuses(new)
    if kind.declarative:
        check_declared(kind.root, new, stored, (), causes, update=True)
    if causes:
        return refuse(kind.name, kind.group, where.name, causes)._replace(dropped=dropped)
    return Verdict(200, dropped=dropped, stored=new)


def _drop_from_status(kind: Kind, new: dict[str, Any], stored: dict[str, Any]) -> Iterable[tuple[Path, str]]:
    """A status that belongs to a gated field of the spec is dropped unless the stored spec has that field."""
    field = kind.root.fields.get("status")
    if field is None or "status" not in new:
        return
    for inner in field.type.fields.values():
        if inner.gate and inner.name in new["status"] and _USES.get(inner.name) not in stored.get("spec", {}):
            del new["status"][inner.name]
            yield ("status", inner.name), inner.gate


def _check_claim_statuses(new: Value) -> Iterator[Cause]:
    """B40: a claim's status belongs to a claim of the spec."""
    claims = {claim.get("name", "") for claim in new.get("spec", {}).get("resourceClaims", ())}
    for index, status in enumerate(new.get("status", {}).get("resourceClaimStatuses", ())):
        if status.get("name", "") not in claims:
            path = ("status", "resourceClaimStatuses", index, "name")
            detail = "must match the name of an entry in `spec.resourceClaims`"
            yield invalid(path, status.get("name", ""), detail, "claim-status-name")


_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_NO_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric"
    " characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME', "
    " or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB',"
    f" regex used for validation is '{_REASON}')"
)


def _check_conditions(new: Value, place: str) -> Iterator[Cause]:
    """B43. `place` is `item` where a second condition of a type is reported at the item, `type` where at its
    type."""
    conditions = new.get("status", {}).get("conditions", ())
    again = find_repeated(condition.get("type", "") for condition in conditions)
    for index, condition in enumerate(conditions):
        path: Path = ("status", "conditions", index)
        if index in again:
            at = path if place == "item" else (*path, "type")
            yield duplicate(at, quote(condition.get("type", "")), "conditions")
        yield from _check_one(condition, path, place)


def _check_one(condition: Value, path: Path, place: str) -> Iterator[Cause]:
    kind = condition.get("type", "")
    status = condition.get("status", "")
    if not kind and place == "item":
        yield required((*path, "type"), "is required", "conditions")
    else:
        yield from refuse_text((*path, "type"), kind, check_label_key(kind), "conditions")
    if not status and place == "item":
        yield required((*path, "status"), rule="conditions")
    elif status not in _STATUSES:
        yield not_supported((*path, "status"), write_json(status), _STATUSES, "conditions")
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        detail = "must be greater than or equal to zero"
        yield invalid((*path, "observedGeneration"), generation, detail, "conditions")
    if condition.get("lastTransitionTime", "0001-01-01T00:00:00Z") == "0001-01-01T00:00:00Z":
        yield required((*path, "lastTransitionTime"), rule="conditions")
    reason = condition.get("reason", "")
    if not reason:
        yield required((*path, "reason"), rule="conditions")
    else:
        if not _is_reason(reason):
            yield invalid((*path, "reason"), reason, _NO_REASON, "conditions")
        if count_bytes(reason) > 1024:
            yield too_long((*path, "reason"), 1024, rule="conditions")
    if count_bytes(condition.get("message", "")) > 32768:
        yield too_long((*path, "message"), 32768, rule="conditions")


def _is_reason(text: str) -> bool:
    """Whether the text is a condition's reason: a letter, then letters, digits and `_,:`, no comma or colon at
    the end."""
    return (
        text.isascii()
        and text[0].isalpha()
        and text[-1] not in ",:"
        and all(character.isalnum() or character in "_,:" for character in text)
    )
