"""What a request carries: where it goes, which kind its body says it is, and the 400 when that cannot be.

Source: k8s.io/apiserver/pkg/endpoints/handlers/{create,update,rest}.go,
k8s.io/apimachinery/pkg/runtime/serializer/json.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from krmfn.krm.paths import Path
from krmfn.model.gotext import quote, read_digits
from krmfn.model.values import Fields, Value
from krmfn.server.decode import Normal, Unclean, decode
from krmfn.server.schema import Kind, find_kind
from krmfn.server.verdict import Cause, Verdict, invalid, refuse

_VERSION: Final = ("metadata", "resourceVersion")


class Address(NamedTuple):
    """Where a request goes: the version in the URL, the namespace, the name (empty for a create)."""

    version: str
    namespace: str
    name: str = ""


def address_of(kind: Kind, value: Any) -> Address:
    """Where clients send the object: its own version if that is served, its own namespace or `default`."""
    api_version, meta = (value.get("apiVersion"), value.get("metadata")) if isinstance(value, dict) else (None, None)
    namespace, name = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else (None, None)
    version = api_version.rpartition("/")[2] if isinstance(api_version, str) else ""
    if kind.cluster:
        namespace = ""
    elif (
        not isinstance(namespace, str)
        or not namespace
        or not namespace.isprintable()
        or "/" in namespace
        or "%" in namespace
    ):
        namespace = "default"
    if version not in kind.versions or api_version != write_api_version(kind, version):
        version = kind.versions[0] if kind.versions else ""
    return Address(version, namespace, name if isinstance(name, str) else "")


def write_api_version(kind: Kind, version: str) -> str:
    return f"{kind.group}/{version}" if kind.group else version


def read_body(kind: Kind, value: Any, where: Address, duplicates: Iterable[Path] = ()) -> tuple[Fields, Verdict | None]:
    """The normal object, or the 400 that ends the request."""
    expected = write_api_version(kind, where.version)
    if value is None:
        value = {}
    named, version, problem = _interpret(kind, value, where)
    if problem:
        return {}, problem
    read, problem = _read(kind, value, named, version, duplicates)
    if problem:
        return {}, problem
    new = Normal(read)
    new.written = value
    new["apiVersion"], new["kind"] = expected, kind.name
    namespace = "" if kind.cluster else new.get("metadata", {}).get("namespace", where.namespace)
    if namespace != where.namespace:
        text = "the namespace of the provided object does not match the namespace sent on the request"
        return {}, Verdict(400, text, (Cause("Decode", ("metadata", "namespace"), text, "namespace-of-request"),))
    return new, None


def _read(
    kind: Kind, value: Any, named: str, version: str, duplicates: Iterable[Path]
) -> tuple[Fields, Verdict | None]:
    if not duplicates:
        try:
            return decode(kind.root, value), None
        except Unclean:
            pass
    from krmfn.server.explain import explain  # rare

    found = explain(kind.root, value, version, duplicates)
    if not found.problems:
        return found.value, None
    text = f'{named} in version "{version}" cannot be handled as a {kind.name}: {found.text}'
    return {}, Verdict(400, text, found.problems)


def _interpret(kind: Kind, value: Any, where: Address) -> tuple[str, str, Verdict | None]:
    """The kind and version that the body says it is, with the address's where it is silent."""
    if not isinstance(value, dict):
        return "", "", _unrecognized(kind, value, (), value)
    api_version, name = value.get("apiVersion"), value.get("kind")
    if api_version == write_api_version(kind, where.version) and name == kind.name:
        return name, where.version, None
    if not (isinstance(api_version, str) and isinstance(name, str)):
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
    other = find_kind(group, name, kind.release, kind.gates, version)
    if other is None or version not in other.versions:
        qualified = f"{group}/{version}" if group else version
        line = 110 if kind.is_on("newest-texts") else 111
        why = f'no kind "{name}" is registered for version "{qualified}" in scheme "pkg/runtime/scheme.go:{line}"'
    elif (other.group, other.name) == (kind.group, kind.name):
        # The body is decoded in its own version before the versions are compared.
        _, problem = _read(kind, value, name, version, ())
        if problem:
            return problem
        expected = write_api_version(kind, where.version)
        why = f"the API version in the data ({group}/{version}) does not match the expected API version ({expected})"
        return Verdict(400, why, (Cause("Decode", path, why, "wrong-kind"),))
    else:
        # A strict error waits until the conversion has failed; a type error does not get that far.
        from krmfn.server.explain import explain

        found = explain(other.root, value, version)
        fatal = found.text if any(bad.rule in ("wrong-type", "bad-value") for bad in found.problems) else ""
        target = f"{kind.group.partition('.')[0] or 'core'}.{kind.name}"
        why = fatal or f"converting ({version}.{name}) to ({target}): unknown conversion"
    text = f'{name} in version "{version}" cannot be handled as a {kind.name}: {why}'
    return Verdict(400, text, (Cause("Decode", path, why, "wrong-kind"),))


def _unrecognized(kind: Kind, value: Any, path: Path, wrong: Any) -> Verdict:
    """The body is no object, or its kind is no text."""
    target = (
        f"Go struct field .{path[0]} of type string"
        if path
        else (
            'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
            ' Kind string "json:\\"kind,omitempty\\"" }'
        )
    )
    from krmfn.server.explain import name_json_type

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


def check_name(new: Fields, where: Address) -> Verdict | None:
    name = new.get("metadata", {}).get("name", "")
    if name == where.name:
        return None
    if not name:
        text = f"the name of the object ({where.name} based on URL) was undeterminable: name must be provided"
    else:
        text = f"the name of the object ({name}) does not match the name on the URL ({where.name})"
    return Verdict(400, text, (Cause("Decode", ("metadata", "name"), text, "wrong-kind"),))


#: Where a server keeps resources that it does not keep under their own name.
_STORED: Final = {
    "replicationcontrollers": "controllers",
    "endpoints": "services/endpoints",
    "nodes": "minions",
    "services": "services/specs",
    "ingresses.networking.k8s.io": "ingress",
}


def refuse_uid(kind: Kind, where: Address, given: str) -> Verdict:
    place = _STORED.get(kind.qualified_resource, kind.resource)
    key = f"/{place}/{where.namespace}/{where.name}".replace("//", "/")
    text = (
        f"Operation cannot be fulfilled on {kind.qualified_resource} {quote(where.name)}: StorageError: invalid object,"
        f" Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition:"
        f" {given}, UID in object meta: <uid>"
    )
    return Verdict(409, text, (Cause("Conflict", ("metadata", "uid"), text, "metadata-immutable"),))


def check_version(kind: Kind, where: Address, meta: Value, held: str) -> Verdict | None:
    """Whether an update meets the version that is stored; None when it does or names none and need not."""
    given = meta.get("resourceVersion", "")
    digits = given.isascii() and given.isdigit()
    version = read_digits(given or "0", 20)
    if version is None or version >= 2**64:
        text = f"strconv.ParseUint: parsing {quote(given)}: {'value out of range' if digits else 'invalid syntax'}"
        return Verdict(500, text, (Cause("Conflict", _VERSION, text, "resource-version"),))
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
    return Verdict(409, text, (Cause("Conflict", _VERSION, text, "resource-version"),))
