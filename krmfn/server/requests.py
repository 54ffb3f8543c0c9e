"""A request through the server: decode, defaults, admission, strategy, validation. The whole order on one page.

Below it: where a request goes, and the 400 for a body that does not belong there.

Source: k8s.io/apiserver/pkg/endpoints/handlers, pkg/registry/rest, k8s.io/apimachinery/pkg/runtime/serializer/json.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote, read_digits
from krmfn.model.values import Fields, Names, Value, as_mapping, as_text, pick
from krmfn.server.admission import NO_FACTS, AdmissionFacts, Write
from krmfn.server.declarative import check_declared
from krmfn.server.decode import Normal, read
from krmfn.server.formats import check_path_segment, check_short_name
from krmfn.server.metadata import check_changed_metadata, check_new_metadata
from krmfn.server.schema import Kind, Stored
from krmfn.server.strategy import (
    STORED_UID,
    clean_new_metadata,
    copy_value,
    drop_gated,
    drop_repeated_owners,
    fill_defaults,
    forget_unreadable_managers,
    generate_name,
)
from krmfn.server.verdict import Cause, Verdict, invalid, refuse, refuse_whole

#: The resourceVersion and the time of creation of objects that a create in Git stands for: nobody knows them.
STORED_VERSION = "4611686018427387904"
_STORED_TIME = "2026-01-01T00:00:00Z"


def create(kind: Kind, value: Any, facts: AdmissionFacts = NO_FACTS, duplicates: Iterable[Path] = ()) -> Verdict:
    """The answer to a POST of `value`, a JSON value. `duplicates` are the paths of keys that its text has twice."""
    if not kind.versions:
        return Verdict(404, "the server could not find the requested resource")
    where = address_of(kind, value)
    new = read_body(kind, value, where, duplicates)
    if isinstance(new, Verdict):
        return new
    meta = _complete(kind, new, where)
    warnings = clean_new_metadata(meta)  # sent with every answer from here on
    denial = _admit(kind, "mutating", facts, new, None, meta.get("name") or meta.get("generateName") or "Unknown")
    if denial:
        return denial._replace(warnings=warnings)
    generated = generate_name(meta)
    verdict = _validate(kind, new, None, facts, generated)
    if verdict.accepted:
        warnings += _warn_of_hostname(kind, meta["name"])
        if verdict.dropped:
            fill_defaults(kind.root, new)  # what was dropped is defaulted again when it is read back
    return verdict._replace(warnings=warnings) if warnings else verdict


def update(
    kind: Kind,
    value: Any,
    stored: Fields,
    facts: AdmissionFacts = NO_FACTS,
    address: Address | None = None,
    conditional: bool = True,
) -> Verdict:
    """The answer to a PUT of `value` over `stored`, a normal object as mark_stored() leaves it.

    Not `conditional`: the request comes from a patch, so neither its resourceVersion nor its uid is a precondition.
    """
    before = stored["metadata"]
    where = address or address_of_change(kind, value, stored)
    new = read_body(kind, value, where)
    if isinstance(new, Verdict):
        return new
    meta = _complete(kind, new, where)
    forget_unreadable_managers(meta)
    warnings = drop_repeated_owners(meta, not conditional)  # sent with every answer from here on
    if conditional and meta.get("uid", before["uid"]) != before["uid"]:
        return refuse_uid(kind, where, meta["uid"])._replace(warnings=warnings)
    denial = _admit(kind, "mutating-update", facts, new, stored, where.name)
    denial = denial or check_version(kind, where, meta, before["resourceVersion"])
    if denial:
        return denial._replace(warnings=warnings)
    _take_over(meta, before)
    return _validate(kind, new, stored, facts)._replace(warnings=warnings)


def _validate(kind: Kind, new: Fields, stored: Stored, facts: AdmissionFacts, generated: str = "") -> Verdict:
    """The answer to a request whose object was admitted: the kind's strategy, validation, and the validating plugins.
    `generated` is the name that was made from generateName."""
    if kind.status_subresource:
        _put(new, "status", None if stored is None else stored.get("status"))
    if stored is None:
        for prepare in kind.prepare:
            prepare(kind, new)
    else:
        for prepare in kind.prepare_update:
            prepare(kind, new, stored)
    meta = new["metadata"]
    dropped = tuple(drop_gated(kind, new, stored))
    causes = [cause for check in kind.first for cause in check(kind, new, stored)]
    name = meta.get("name", "")
    if causes:
        return refuse(kind.name, kind.group, name, causes, generated)
    if stored is not None:
        causes.extend(check_changed_metadata(kind.meta, meta, stored["metadata"], kind))
    elif not kind.late_metadata:
        causes.extend(check_new_metadata(kind.meta, meta, kind.check_name, kind))
    for check, argument in kind.handwritten.get("create" if stored is None else "update", ()):
        causes.extend(check(kind, new, stored) if argument is None else check(kind, new, stored, argument))
    if stored is None and kind.late_metadata and not causes:
        causes.extend(check_new_metadata(kind.meta, meta, check_path_segment, kind))
    if kind.declarative:
        check_declared(kind.root, new, stored, (), causes, update=stored is not None)
    if causes:
        return refuse(kind.name, kind.group, name, causes, generated)._replace(dropped=dropped)
    denial = _admit(kind, "validating" if stored is None else "validating-update", facts, new, stored, name)
    return denial or Verdict(201 if stored is None else 200, dropped=dropped, stored=new)


def is_live(value: Any) -> bool:
    """Whether a manifest was read from a server: it has a name, and the metadata that only servers write."""
    meta = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(meta, dict) and all(
        isinstance(meta.get(field), str) and meta[field]
        for field in ("name", "uid", "resourceVersion", "creationTimestamp")
    )


def hold(kind: Kind, value: Any, facts: AdmissionFacts = NO_FACTS) -> Fields | None:
    """The manifest `value` as the server stores it, or None when the server would refuse it. One that was read from a
    server is only defaulted. Any other is what a create of it leaves behind."""
    if not is_live(value):
        created = create(kind, value, facts)
        return mark_stored(kind, created.stored) if created.accepted else None
    where = address_of(kind, value)
    held = read_body(kind, value, where)
    if isinstance(held, Verdict):
        return None
    own = _complete(kind, held, where)
    if not (own["resourceVersion"].isascii() and own["resourceVersion"].isdigit()):
        own["resourceVersion"] = STORED_VERSION
    return held


def mark_stored(kind: Kind, stored: Fields) -> Fields:
    """What a create left behind, as the next request finds it: defaulted again, with the metadata of the server."""
    held: Fields = copy_value(stored)
    _fill(kind, held)
    for settle in kind.settle:
        settle(kind, held)
    meta = held["metadata"]
    meta["uid"], meta["creationTimestamp"], meta["resourceVersion"] = STORED_UID, _STORED_TIME, STORED_VERSION
    return held


def _complete(kind: Kind, new: Fields, where: Address) -> Fields:
    """Fill in the defaults and the namespace. Returns the metadata."""
    meta: Fields = new.setdefault("metadata", {})
    _fill(kind, new)
    if kind.cluster:
        meta.pop("namespace", None)
    else:
        meta.setdefault("namespace", where.namespace)
    return meta


def _take_over(meta: Fields, before: Value) -> None:
    """Put back the fields of metadata that an update cannot change."""
    meta.setdefault("uid", before["uid"])
    for name in ("creationTimestamp", "resourceVersion", "generation"):
        _put(meta, name, before.get(name))
    meta.update(pick(before, ("deletionTimestamp", "deletionGracePeriodSeconds")))
    meta.pop("selfLink", None)


def _fill(kind: Kind, new: Fields) -> None:
    fill_defaults(kind.root, new)
    if kind.defaults:
        from krmfn.server.cases import fill_part  # what groups do not need

        fill_part(kind, kind.defaults, new)
    for fill in kind.default_functions:
        fill(kind, new)


def _warn_of_hostname(kind: Kind, name: str) -> Names:
    """The warning about the name of a pod that is not a DNS label: it becomes a host name."""
    text = kind.root.keywords.get("x-kubernetes-hostname-warning")
    wrong = check_short_name(name) if text else ()
    return (f"{text}[{' '.join(wrong)}]",) if wrong else ()


def _put(target: Fields, name: str, value: Any) -> None:
    """Set a field, or remove it if the value is None."""
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value


def _admit(kind: Kind, phase: str, facts: AdmissionFacts, new: Fields, old: Stored, name: str) -> Verdict | None:
    """The refusal of the first admission plugin that refuses, None without one."""
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


_VERSION = ("metadata", "resourceVersion")


class Address(NamedTuple):
    """Where a request goes: the version in the URL, the namespace, the name (empty for a create)."""

    version: str
    namespace: str
    name: str = ""


def address_of(kind: Kind, value: Any) -> Address:
    """Where clients send the object: its own version if that is served, or else the first served one; its own
    namespace, or else `default`."""
    head = as_mapping(value)
    meta = as_mapping(head.get("metadata"))
    namespace = as_text(meta.get("namespace"))
    if kind.cluster:
        namespace = ""
    elif not namespace or not namespace.isprintable() or "/" in namespace or "%" in namespace:
        namespace = "default"
    meant = [version for version in kind.versions if write_api_version(kind, version) == head.get("apiVersion")]
    return Address((*meant, *kind.versions, "")[0], namespace, as_text(meta.get("name")))


def address_of_change(kind: Kind, value: Any, stored: Fields) -> Address:
    """Where clients send what `stored` is changed to."""
    meta = stored["metadata"]
    return Address(address_of(kind, value).version, meta.get("namespace", ""), meta["name"])


def write_api_version(kind: Kind, version: str) -> str:
    return f"{kind.group}/{version}" if kind.group else version


def read_body(kind: Kind, value: Any, where: Address, duplicates: Iterable[Path] = ()) -> Fields | Verdict:
    """The normal object, or the 400 that ends the request."""
    if value is None:
        value = {}
    head = {"kind": kind.name, "apiVersion": write_api_version(kind, where.version)}
    for key, wanted in head.items():
        given = as_text(as_mapping(value).get(key)).removeprefix("/") or wanted  # `/v1` is of the core group, too
        if given != wanted:
            word = "API version" if key == "apiVersion" else key
            text = f"the {word} in the data ({given}) does not match the expected {word} ({wanted})"
            return refuse_whole(400, "Decode", (key,), text, "wrong-kind")
    found = read(kind.root, value, where.version, duplicates)
    if found.problems:
        text = f'{kind.name} in version "{where.version}" cannot be handled as a {kind.name}: {found.text}'
        return Verdict(400, text, found.problems)
    new = Normal(found.value, **head)
    new.written = value
    meta = new.get("metadata", {})
    name, namespace = meta.get("name", ""), "" if kind.cluster else meta.get("namespace", where.namespace)
    if namespace != where.namespace:
        text = "the namespace of the provided object does not match the namespace sent on the request"
        return refuse_whole(400, "Decode", ("metadata", "namespace"), text, "namespace-of-request")
    if name == where.name:
        return new
    if name:
        text = f"the name of the object ({name}) does not match the name on the URL ({where.name})"
    else:
        text = f"the name of the object ({where.name} based on URL) was undeterminable: name must be provided"
    return refuse_whole(400, "Decode", ("metadata", "name"), text, "wrong-kind")


#: The prefixes of keys in etcd that are not the name of the resource.
_PREFIXES = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
}


def refuse_uid(kind: Kind, where: Address, given: str) -> Verdict:
    """The refusal of an update whose uid is another one than that of the stored object."""
    place = _PREFIXES.get(kind.qualified_resource, kind.resource)
    key = f"/{place}/{where.namespace}/{where.name}".replace("//", "/")
    text = (
        f"Operation cannot be fulfilled on {kind.qualified_resource} {quote(where.name)}: StorageError: invalid object,"
        f" Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {given}, UID in object meta: <uid>"
    )
    return refuse_whole(409, "Conflict", ("metadata", "uid"), text, "metadata-immutable")


def check_version(kind: Kind, where: Address, meta: Value, held: str) -> Verdict | None:
    """The refusal of an update whose resourceVersion is not the stored one, `held`; None where it is, or need not be
    there. In etcd it is a uint64."""
    given = meta.get("resourceVersion", "")
    digits = given.isascii() and given.isdigit()
    version = read_digits(given or "0", 20)
    if version is None or version >= 2**64:
        text = f"strconv.ParseUint: parsing {quote(given)}: {'value out of range' if digits else 'invalid syntax'}"
        return refuse_whole(500, "Conflict", _VERSION, text, "resource-version")
    if not version:
        if kind.unconditional_update:
            return None
        cause = invalid(_VERSION, 0, "must be specified for an update", "resource-version")
        return refuse(kind.resource, kind.group, where.name, [cause])
    if version == int(held):
        return None
    text = (
        f"Operation cannot be fulfilled on {kind.qualified_resource} {quote(where.name)}: the object has been modified;"
        " please apply your changes to the latest version and try again"
    )
    return refuse_whole(409, "Conflict", _VERSION, text, "resource-version")
