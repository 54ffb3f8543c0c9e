"""A request through the server: decode, defaults, admission, strategy, validation. The whole order on one page.

Source: k8s.io/apiserver/pkg/endpoints/handlers and pkg/registry/rest; section 2.1 of the reference.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from krmfn.checks.server.admission import PLUGINS, Facts
from krmfn.checks.server.causes import Cause, invalid
from krmfn.checks.server.declarative import check_create, check_update
from krmfn.checks.server.decode import Decoded, Normal, decode, name_json_type
from krmfn.checks.server.handwritten import RULES
from krmfn.checks.server.jobs import fill_job, select_own_pods
from krmfn.checks.server.kinds import Kind, find_kind
from krmfn.checks.server.objectmeta import check_changed_metadata, check_new_metadata
from krmfn.checks.server.pods import check_pod_spec, drop_from_pod_spec, warn_of_hostname
from krmfn.checks.server.reader import BadJson, read_json
from krmfn.checks.server.spell import quote
from krmfn.checks.server.strategy import (
    STORED_UID,
    copy_value,
    drop_gated,
    drop_repeated_owners,
    forget_unreadable_managers,
    fill_defaults,
    generate_name,
    wipe_system_fields,
)
from krmfn.checks.server.verdict import Verdict, refuse
from krmfn.krm.paths import Path

_NO_FACTS = Facts()
_STORED_VERSION = "1"
_STORED_TIME = "2026-01-01T00:00:00Z"

#: Defaults that depend on other fields (`x-kubernetes-default-functions`), and what a create adds (`x-kubernetes-prepare`).
_DEFAULT = {"job": fill_job}
_PREPARE = {"own-pods": select_own_pods}


class Address(NamedTuple):
    """Where a request goes: the version in the URL, the namespace, the name (empty for a create)."""

    version: str
    namespace: str
    name: str = ""


def address_of(kind: Kind, value: Any) -> Address:
    """Where clients send the object: its own version if that is served, its own namespace or `default`."""
    api_version = value.get("apiVersion") if isinstance(value, dict) else None
    version = api_version.rpartition("/")[2] if isinstance(api_version, str) else ""
    meta = value.get("metadata") if isinstance(value, dict) else None
    namespace = meta.get("namespace") if isinstance(meta, dict) else None
    name = meta.get("name") if isinstance(meta, dict) else None
    if not isinstance(namespace, str) or not namespace or not namespace.isprintable() or set(namespace) & set("/%"):
        namespace = "default"
    if version not in kind.versions or api_version != _api_version(kind, version):
        version = kind.versions[0] if kind.versions else ""
    return Address(version, namespace, name if isinstance(name, str) else "")


def _api_version(kind: Kind, version: str) -> str:
    return f"{kind.group}/{version}" if kind.group else version


def create(
    kind: Kind, value: Any, facts: Facts = _NO_FACTS, address: Address | None = None, duplicates: Iterable[Path] = ()
) -> Verdict:
    """POST of `value`, a JSON value."""
    if not kind.versions:
        return Verdict(404, "the server could not find the requested resource")
    where = address or address_of(kind, value)
    new, refusal = read_body(kind, value, where, duplicates)
    if refusal:
        return refusal
    meta = new.setdefault("metadata", {})
    _fill(kind, new)
    wipe_system_fields(meta)
    meta.setdefault("namespace", where.namespace)
    forget_unreadable_managers(meta)
    warning = drop_repeated_owners(meta)
    denial = _admit(kind, "mutating", facts, new, None, meta.get("name") or meta.get("generateName") or "Unknown")
    if denial:
        return denial
    if kind.status:
        new.pop("status", None)
    generate_name(meta)
    for name in kind.prepare:
        _PREPARE[name](new)
    dropped = tuple(_drop(kind, new, None))
    causes: list[Cause] = []
    check_new_metadata(kind.meta, meta, causes)
    _check_by_hand(kind, "create", new, None, causes)
    if kind.declarative:
        check_create(kind.root, new, (), causes)
    if causes:
        return refuse(kind.name, kind.group, meta.get("name", ""), causes)._replace(dropped=dropped)
    denial = _admit(kind, "validating", facts, new, None, meta["name"])
    if denial:
        return denial
    warnings = [warning] if warning else []
    warnings += warn_of_hostname(kind, meta["name"])
    return Verdict(201, dropped=dropped, warnings=tuple(warnings), stored=new)


def create_from_text(kind: Kind, body: bytes, facts: Facts = _NO_FACTS) -> Verdict:
    """POST of an exact body."""
    try:
        value = read_json(body)
    except BadJson as error:
        return refuse_body(kind, body, (), f"couldn't get version/kind; json parse error: {error}")
    return create(kind, value, facts)


def update(
    kind: Kind,
    value: Any,
    stored: dict[str, Any],
    facts: Facts = _NO_FACTS,
    address: Address | None = None,
    duplicates: Iterable[Path] = (),
) -> Verdict:
    """PUT of `value` over `stored`, a normal object that a create or an update left behind (see mark_stored)."""
    before = stored["metadata"]
    where = address or Address(address_of(kind, value).version, before["namespace"], before["name"])
    new, refusal = read_body(kind, value, where, duplicates)
    refusal = refusal or _check_name(new, where)
    if refusal:
        return refusal
    meta = new.setdefault("metadata", {})
    _fill(kind, new)
    meta.setdefault("namespace", where.namespace)
    forget_unreadable_managers(meta)
    warning = drop_repeated_owners(meta)
    if meta.get("uid", before["uid"]) != before["uid"]:
        return _conflict(kind, where, meta["uid"], before["uid"])
    denial = _admit(kind, "mutating-update", facts, new, stored, where.name)
    if denial:
        return denial
    if "resourceVersion" not in meta:
        if not kind.unconditional_update:
            cause = invalid(("metadata", "resourceVersion"), "resource-version", 0, "must be specified for an update")
            return refuse(kind.resource, kind.group, where.name, [cause])
    _take_over(meta, before)
    if kind.status:
        _put(new, "status", stored.get("status"))
    dropped = tuple(_drop(kind, new, stored))
    causes: list[Cause] = []
    check_changed_metadata(kind.meta, meta, before, causes, kind.names_on_update)
    _check_by_hand(kind, "update", new, stored, causes)
    if kind.declarative:
        check_update(kind.root, new, stored, (), causes)
    if causes:
        return refuse(kind.name, kind.group, where.name, causes)._replace(dropped=dropped)
    denial = _admit(kind, "validating-update", facts, new, stored, where.name)
    if denial:
        return denial
    return Verdict(200, dropped=dropped, warnings=(warning,) if warning else (), stored=new)


def update_status(
    kind: Kind, value: Any, stored: dict[str, Any], address: Address | None = None, duplicates: Iterable[Path] = ()
) -> Verdict:
    """PUT of `value` to the /status subresource: only the status is taken over."""
    before = stored["metadata"]
    where = address or Address(address_of(kind, value).version, before["namespace"], before["name"])
    new, refusal = read_body(kind, value, where, duplicates)
    refusal = refusal or _check_name(new, where)
    if refusal:
        return refusal
    meta = new.setdefault("metadata", {})
    if meta.get("uid", before["uid"]) != before["uid"]:
        return _conflict(kind, where, meta["uid"], before["uid"])
    if "resourceVersion" not in meta and not kind.unconditional_update:
        cause = invalid(("metadata", "resourceVersion"), "resource-version", 0, "must be specified for an update")
        return refuse(kind.resource, kind.group, where.name, [cause])
    new["metadata"] = dict(before)
    _put(new, "spec", stored.get("spec"))
    dropped = tuple(_drop_from_status(kind, new, stored))
    causes: list[Cause] = []
    _check_by_hand(kind, "status", new, stored, causes)
    if kind.declarative:
        check_update(kind.root, new, stored, (), causes)
    if causes:
        return refuse(kind.name, kind.group, where.name, causes)._replace(dropped=dropped)
    return Verdict(200, dropped=dropped, stored=new)


def mark_stored(kind: Kind, stored: dict[str, Any]) -> dict[str, Any]:
    """What a create left behind, as the next request meets it: defaulted once more, with the server's own metadata."""
    held: dict[str, Any] = copy_value(stored)
    _fill(kind, held)
    meta = held["metadata"]
    meta["uid"], meta["creationTimestamp"], meta["resourceVersion"] = STORED_UID, _STORED_TIME, _STORED_VERSION
    return held


def read_body(kind: Kind, value: Any, where: Address, duplicates: Iterable[Path] = ()) -> tuple[dict[str, Any], Verdict | None]:
    """The normal object, or the 400 that ends the request."""
    expected = _api_version(kind, where.version)
    if value is None:
        value = {}
    named, version, problem = _interpret(kind, value, where)
    if problem:
        return {}, problem
    found: Decoded = decode(kind.root, value, version, duplicates)
    if found.problems:
        causes = tuple(Cause("Decode", bad.path, bad.message, bad.kind) for bad in found.problems)
        text = f'{named} in version "{version}" cannot be handled as a {kind.name}: {found.text}'
        return {}, Verdict(400, text, causes)
    new = Normal(found.value, value)
    new["apiVersion"], new["kind"] = expected, kind.name
    namespace = new.get("metadata", {}).get("namespace", where.namespace)
    if namespace != where.namespace:
        text = "the namespace of the provided object does not match the namespace sent on the request"
        return {}, Verdict(400, text, (Cause("Decode", ("metadata", "namespace"), text, "namespace-of-request"),))
    return new, None


def _interpret(kind: Kind, value: Any, where: Address) -> tuple[str, str, Verdict | None]:
    """The kind and version that the body says it is, with the address's where it is silent."""
    if not isinstance(value, dict):
        return "", "", _unrecognized(kind, value, (), value)
    api_version, name = value.get("apiVersion"), value.get("kind")
    for key, text in value.items():
        if key in ("apiVersion", "kind") and text is not None and not isinstance(text, str):
            return "", "", _unrecognized(kind, value, (key,), text)
    api_version, name = api_version or "", name or ""
    if api_version.count("/") > 1:
        why = f"unexpected GroupVersion string: {api_version}"
        return "", "", _unreadable(kind, value, ("apiVersion",), why)
    group, slash, version = api_version.partition("/")
    if not slash:
        group, version = "", api_version
    name = name or kind.name
    if not version and group in ("", kind.group):
        group, version = kind.group, where.version
    if (group, version, name) != (kind.group, where.version, kind.name):
        return name, version, _wrong_kind(kind, value, group, version, name, where)
    return name, version, None


def _wrong_kind(kind: Kind, value: Any, group: str, version: str, name: str, where: Address) -> Verdict | None:
    path: Path = ("kind",) if name != kind.name else ("apiVersion",)
    other = find_kind(group, name, kind.release, kind.gates)
    if other is None or version not in other.root.keywords["x-kubernetes-versions"]:
        qualified = f"{group}/{version}" if group else version
        why = f'no kind "{name}" is registered for version "{qualified}" in scheme "pkg/runtime/scheme.go:111"'
    elif other is kind:
        expected = _api_version(kind, where.version)
        why = f"the API version in the data ({group}/{version}) does not match the expected API version ({expected})"
        return Verdict(400, why, (Cause("Decode", path, why, "wrong-kind"),))
    else:
        # A strict error waits until the conversion has failed; a type error does not get that far.
        found = decode(other.root, value, version)
        fatal = found.text if any(bad.kind in ("wrong-type", "bad-value") for bad in found.problems) else ""
        target = f"{kind.group.partition('.')[0] or 'core'}.{kind.name}"
        why = fatal or f"converting ({version}.{name}) to ({target}): unknown conversion"
    text = f'{name} in version "{version}" cannot be handled as a {kind.name}: {why}'
    return Verdict(400, text, (Cause("Decode", path, why, "wrong-kind"),))


def _unrecognized(kind: Kind, value: Any, path: Path, wrong: Any) -> Verdict:
    """The body is no object, or its kind is no text."""
    target = f"Go struct field .{path[0]} of type string" if path else (
        'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
        ' Kind string "json:\\"kind,omitempty\\"" }'
    )
    why = f"couldn't get version/kind; json parse error: json: cannot unmarshal {name_json_type(wrong)} into {target}"
    return _unreadable(kind, value, path, why)


def _unreadable(kind: Kind, value: Any, path: Path, why: str) -> Verdict:
    import json

    return refuse_body(kind, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), path, why)


def refuse_body(kind: Kind, body: bytes, path: Path, why: str) -> Verdict:
    """The 400 for a body of which not even the kind can be read. Shows its beginning, in hex when it is no object."""
    shown = body[:30].decode("utf-8", "replace") if body[:1] == b"{" else body[:30].hex()
    shown = shown + " ..." if len(body) > 30 else shown or "<empty>"
    text = f"the object provided is unrecognized (must be of type {kind.name}): {why} ({shown})"
    return Verdict(400, text, (Cause("Decode", path, why, "wrong-kind"),))


def _check_name(new: dict[str, Any], where: Address) -> Verdict | None:
    name = new.get("metadata", {}).get("name", "")
    if name == where.name:
        return None
    if not name:
        text = f"the name of the object ({where.name} based on URL) was undeterminable: name must be provided"
    else:
        text = f"the name of the object ({name}) does not match the name on the URL ({where.name})"
    return Verdict(400, text, (Cause("Decode", ("metadata", "name"), text, "name-of-request"),))


def _conflict(kind: Kind, where: Address, given: str, uid: str) -> Verdict:
    key = f"/{kind.resource}/{where.namespace}/{where.name}"
    text = (
        f"Operation cannot be fulfilled on {kind.qualified_resource} {quote(where.name)}: StorageError: invalid object,"
        f" Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {given},"
        " UID in object meta: <uid>"
    )
    return Verdict(409, text, (Cause("Conflict", ("metadata", "uid"), text, "metadata-immutable"),))


def _take_over(meta: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Fields of metadata that an update cannot touch."""
    for name in ("uid", "creationTimestamp", "resourceVersion", "generation"):
        _put(meta, name, before.get(name))
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds"):
        if name in before:
            meta[name] = before[name]
    meta.pop("selfLink", None)


def _fill(kind: Kind, new: dict[str, Any]) -> None:
    fill_defaults(kind.root, new)
    for name in kind.default_functions:
        _DEFAULT[name](new)


def _put(target: dict[str, Any], name: str, value: Any) -> None:
    if value is None:
        target.pop(name, None)
    else:
        target[name] = value


def _drop(kind: Kind, new: dict[str, Any], stored: dict[str, Any] | None) -> Iterable[tuple[Path, str]]:
    yield from drop_gated(kind.root, new, stored)
    if kind.pod_spec:
        yield from drop_from_pod_spec(kind, new, stored)


def _drop_from_status(kind: Kind, new: dict[str, Any], stored: dict[str, Any]) -> Iterable[tuple[Path, str]]:
    """A status that belongs to a gated field of the spec is dropped unless the stored spec has that field."""
    field = kind.root.fields.get("status")
    if field is None or "status" not in new:
        return
    uses = kind.root.keywords.get("x-kubernetes-status-of", {})
    for inner in field.type.fields.values():
        if inner.gate and inner.name in new["status"] and uses.get(inner.name) not in stored.get("spec", {}):
            del new["status"][inner.name]
            yield ("status", inner.name), inner.gate


def _check_by_hand(
    kind: Kind, operation: str, new: dict[str, Any], old: dict[str, Any] | None, causes: list[Cause]
) -> None:
    for name, argument in kind.handwritten.get(operation, ()):
        causes.extend(RULES[name](kind.root, new, old, argument))
    if kind.pod_spec:
        causes.extend(check_pod_spec(kind, new, old))


def _admit(
    kind: Kind, phase: str, facts: Facts, new: dict[str, Any], old: dict[str, Any] | None, name: str
) -> Verdict | None:
    for plugin, argument in kind.admission.get(phase, {}).items():
        denied = PLUGINS[plugin](kind.gates, facts, new, old, argument)
        if denied:
            text = f"{kind.qualified_resource} {quote(name)} is forbidden: {denied.detail}"
            return Verdict(403, text, (Cause("Forbidden", denied.path, denied.detail, denied.rule),))
    return None
