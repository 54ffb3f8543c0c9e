"""A request through the server: decode, defaults, admission, strategy, validation. The whole order on one page.

Source: k8s.io/apiserver/pkg/endpoints/handlers and pkg/registry/rest; section 2.1 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote
from krmfn.model.values import Fields, Value
from krmfn.server.admission import NO_FACTS, AdmissionFacts, Write
from krmfn.server.body import Address, address_of, check_name, check_version, read_body, refuse_uid
from krmfn.server.declarative import check_create, check_update
from krmfn.server.formats import check_path_segment, check_short_name
from krmfn.server.metadata import check_changed_metadata, check_new_metadata
from krmfn.server.schema import Kind
from krmfn.server.strategy import (
    STORED_UID,
    copy_value,
    drop_gated,
    drop_repeated_owners,
    fill_defaults,
    forget_unreadable_managers,
    generate_name,
    wipe_system_fields,
)
from krmfn.server.verdict import Cause, Out, Verdict, refuse

STORED_VERSION = "4611686018427387904"
_STORED_TIME = "2026-01-01T00:00:00Z"


def create(kind: Kind, value: Any, facts: AdmissionFacts = NO_FACTS, duplicates: Iterable[Path] = ()) -> Verdict:
    """POST of `value`, a JSON value."""
    if not kind.versions:
        return Verdict(404, "the server could not find the requested resource")
    where = address_of(kind, value)
    new, refusal = read_body(kind, value, where, duplicates)
    if refusal:
        return refusal
    meta = new.setdefault("metadata", {})
    _fill(kind, new)
    wipe_system_fields(meta)
    _place(kind, meta, where)
    forget_unreadable_managers(meta)
    warning = drop_repeated_owners(meta)
    warnings: tuple[str, ...] = (warning,) if warning else ()  # sent with every answer from here on
    denial = _admit(kind, "mutating", facts, new, None, meta.get("name") or meta.get("generateName") or "Unknown")
    if denial:
        return denial._replace(warnings=warnings)
    if kind.status_subresource:
        new.pop("status", None)
    generated = generate_name(meta)
    for prepare in kind.prepare:
        prepare(kind, new)
    dropped = _drop(kind, new, None)
    causes = [cause for check in kind.first for cause in check(kind, new, None)]
    if causes:
        return refuse(kind.name, kind.group, meta.get("name", ""), causes, generated)
    if not kind.late_metadata:
        causes.extend(check_new_metadata(kind.meta, meta, kind.check_name, kind))
    _check_by_hand(kind, "create", new, None, causes)
    if kind.late_metadata and not causes:
        causes.extend(check_new_metadata(kind.meta, meta, check_path_segment, kind))
    if kind.declarative:
        check_create(kind.root, new, (), causes)
    if causes:
        refusal = refuse(kind.name, kind.group, meta.get("name", ""), causes, generated)
        return refusal._replace(dropped=dropped, warnings=warnings)
    denial = _admit(kind, "validating", facts, new, None, meta["name"])
    if denial:
        return denial._replace(warnings=warnings)
    warnings += tuple(_warn_of_hostname(kind, meta["name"]))
    if dropped:
        fill_defaults(kind.root, new)  # what was dropped is defaulted again when it is read back
    return Verdict(201, dropped=dropped, warnings=warnings, stored=new)


def update(
    kind: Kind,
    value: Any,
    stored: Fields,
    facts: AdmissionFacts = NO_FACTS,
    address: Address | None = None,
    duplicates: Iterable[Path] = (),
    conditional: bool = True,
) -> Verdict:
    """PUT of `value` over `stored`, a normal object as mark_stored() leaves it.

    Not `conditional`: the request comes from a patch, which names neither a version nor a uid to be met.
    """
    before = stored["metadata"]
    where = address or Address(address_of(kind, value).version, before.get("namespace", ""), before["name"])
    new, refusal = read_body(kind, value, where, duplicates)
    refusal = refusal or check_name(new, where)
    if refusal:
        return refusal
    meta = new.setdefault("metadata", {})
    _fill(kind, new)
    _place(kind, meta, where)
    forget_unreadable_managers(meta)
    warning = drop_repeated_owners(meta, not conditional)
    warnings: tuple[str, ...] = (warning,) if warning else ()  # sent with every answer from here on
    if conditional and meta.get("uid", before["uid"]) != before["uid"]:
        return refuse_uid(kind, where, meta["uid"])._replace(warnings=warnings)
    denial = _admit(kind, "mutating-update", facts, new, stored, where.name)
    denial = denial or check_version(kind, where, meta, before["resourceVersion"])
    if denial:
        return denial._replace(warnings=warnings)
    _take_over(meta, before)
    if kind.status_subresource:
        _put(new, "status", stored.get("status"))
    for prepare in kind.prepare_update:
        prepare(kind, new, stored)
    dropped = _drop(kind, new, stored)
    causes = [cause for check in kind.first for cause in check(kind, new, stored)]
    if causes:
        return refuse(kind.name, kind.group, where.name, causes)
    causes.extend(check_changed_metadata(kind.meta, meta, before, kind))
    _check_by_hand(kind, "update", new, stored, causes)
    if kind.declarative:
        check_update(kind.root, new, stored, causes)
    if causes:
        return refuse(kind.name, kind.group, where.name, causes)._replace(dropped=dropped, warnings=warnings)
    denial = _admit(kind, "validating-update", facts, new, stored, where.name)
    if denial:
        return denial._replace(warnings=warnings)
    return Verdict(200, dropped=dropped, warnings=warnings, stored=new)


def is_live(value: Any) -> bool:
    """Whether a manifest was read from a server: it has what only servers write."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(meta, dict) and all(
        isinstance(meta.get(name), str) and meta[name] for name in ("uid", "resourceVersion", "creationTimestamp")
    )


def hold(kind: Kind, value: Any, facts: AdmissionFacts = NO_FACTS) -> Fields | None:
    """The manifest `value` as the server holds it, or None when the server would refuse it.

    One that was read from a server is taken as it stands. Any other is what a create of it leaves behind.
    """
    if not is_live(value):
        created = create(kind, value, facts)
        return mark_stored(kind, created.stored) if created.accepted else None
    where = address_of(kind, value)
    held, refusal = read_body(kind, value, where, ())
    if refusal:
        return None
    _fill(kind, held)
    own = held["metadata"]
    _place(kind, own, where)
    if not (own["resourceVersion"].isascii() and own["resourceVersion"].isdigit()):
        own["resourceVersion"] = STORED_VERSION
    return held


def mark_stored(kind: Kind, stored: Fields) -> Fields:
    """What a create left behind, as the next request meets it: defaulted once more, with the server's own metadata."""
    held: Fields = copy_value(stored)
    _fill(kind, held)
    for settle in kind.settle:
        settle(kind, held)
    meta = held["metadata"]
    meta["uid"], meta["creationTimestamp"], meta["resourceVersion"] = STORED_UID, _STORED_TIME, STORED_VERSION
    return held


def _place(kind: Kind, meta: Fields, where: Address) -> None:
    if kind.cluster:
        meta.pop("namespace", None)
    else:
        meta.setdefault("namespace", where.namespace)


def _take_over(meta: Fields, before: Value) -> None:
    """Fields of metadata that an update cannot touch."""
    meta.setdefault("uid", before["uid"])
    for name in ("creationTimestamp", "resourceVersion", "generation"):
        _put(meta, name, before.get(name))
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if name in before:
            meta[name] = before[name]
    meta.pop("selfLink", None)


def _fill(kind: Kind, new: Fields) -> None:
    fill_defaults(kind.root, new)
    if kind.defaults:
        from krmfn.server.cases import fill_part  # what groups do not need

        fill_part(kind, kind.defaults, new)
    for fill in kind.default_functions:
        fill(kind, new)


def _warn_of_hostname(kind: Kind, name: str) -> list[str]:
    """The warning for names of pods that are no DNS label, since they become host names."""
    text = kind.root.keywords.get("x-kubernetes-hostname-warning")
    wrong = check_short_name(name) if text else ()
    return [f"{text}[{' '.join(wrong)}]"] if wrong else []


def _put(target: Fields, name: str, value: Any) -> None:
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value


def _drop(kind: Kind, new: Fields, stored: Fields | None) -> tuple[tuple[Path, str], ...]:
    dropped: list[tuple[Path, str]] = []
    drop_gated(kind.root, new, stored, (), dropped)
    if kind.pod_spec:
        from krmfn.server.pods.defaults import drop_gated_fields  # what groups do not need

        spec, before = new, stored or {}
        for name in kind.pod_spec:
            spec, before = spec.get(name, {}), before.get(name, {})
        dropped.extend(drop_gated_fields(kind.pod_type, spec, before, tuple(kind.pod_spec)))
    return tuple(dropped)


def _check_by_hand(kind: Kind, operation: str, new: Fields, old: Fields | None, causes: Out) -> None:
    for check, argument in kind.handwritten.get(operation, ()):
        causes.extend(check(kind, new, old) if argument is None else check(kind, new, old, argument))


def _admit(kind: Kind, phase: str, facts: AdmissionFacts, new: Fields, old: Fields | None, name: str) -> Verdict | None:
    plugins = kind.admission.get(phase)
    if not plugins:
        return None
    write = Write(kind.gates, facts, new, old)
    for plugin, argument in plugins:
        denied: Cause | None = plugin(write, argument)
        if denied and denied.type == "InternalError":
            return Verdict(500, denied.message, (denied,))
        if denied:
            return Verdict(403, f"{kind.qualified_resource} {quote(name)} is forbidden: {denied.message}", (denied,))
    return None
