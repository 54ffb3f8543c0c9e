"""The 400 for a body that says it is something else than its address. The rig asks so; clients send every object to
the address of its own kind and version, so krmfn does not know these texts.

Source: k8s.io/apimachinery/pkg/runtime/serializer (json, recognizer, versioning).
"""

from __future__ import annotations

import json
from typing import Any

from krmfn.krm.paths import Path, dig
from krmfn.server.decode import name_json_type, read
from krmfn.server.requests import Address, write_api_version
from krmfn.server.schema import Kind, find_kind
from krmfn.server.verdict import Cause, Verdict, refuse_whole


def check_envelope(kind: Kind, value: Any, where: Address) -> Verdict | None:
    """What a body does not say is the address's."""
    if not isinstance(value, dict):
        return None if value is None else _unrecognized(kind, value, ())
    for key, text in value.items():
        if key in ("apiVersion", "kind") and text is not None and not isinstance(text, str):
            return _unrecognized(kind, value, (key,))
    api_version, name = value.get("apiVersion") or "", value.get("kind") or kind.name
    if api_version.count("/") > 1:
        return _unreadable(kind, value, ("apiVersion",), f"unexpected GroupVersion string: {api_version}")
    group, _, version = api_version.rpartition("/")
    if not version and group in ("", kind.group):
        group, version = kind.group, where.version
    if (group, version, name) == (kind.group, where.version, kind.name):
        return None
    return _wrong_kind(kind, value, group, version, name, where)


def _wrong_kind(kind: Kind, value: Any, group: str, version: str, name: str, where: Address) -> Verdict:
    path: Path = ("kind",) if name != kind.name else ("apiVersion",)
    other = find_kind(group, name, kind.release, kind.gates, version)
    if other is None or version not in other.versions:
        qualified = f"{group}/{version}" if group else version
        line = 110 if kind.is_on("newest-texts") else 111
        why = f'no kind "{name}" is registered for version "{qualified}" in scheme "pkg/runtime/scheme.go:{line}"'
    elif (other.group, other.name) == (kind.group, kind.name):
        # The body is decoded in its own version before the versions are compared.
        found = read(kind.root, value, version)
        if found.problems:
            text = f'{name} in version "{version}" cannot be handled as a {name}: {found.text}'
            return Verdict(400, text, found.problems)
        expected = write_api_version(kind, where.version)
        why = f"the API version in the data ({group}/{version}) does not match the expected API version ({expected})"
        return refuse_whole(400, "Decode", path, why, "wrong-kind")
    else:
        # A strict error waits until the conversion has failed; a type error does not get that far.
        found = read(other.root, value, version)
        fatal = found.text if any(bad.rule in ("wrong-type", "bad-value") for bad in found.problems) else ""
        target = f"{kind.group.partition('.')[0] or 'core'}.{kind.name}"
        why = fatal or f"converting ({version}.{name}) to ({target}): unknown conversion"
    text = f'{name} in version "{version}" cannot be handled as a {kind.name}: {why}'
    return Verdict(400, text, (Cause("Decode", path, why, "wrong-kind"),))


def _unrecognized(kind: Kind, value: Any, path: Path) -> Verdict:
    """The body is no object, or its kind is no text."""
    target = (
        'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
        ' Kind string "json:\\"kind,omitempty\\"" }'
    )
    if path:
        target = f"Go struct field .{path[0]} of type string"
    wrong = name_json_type(dig(value, *path))
    why = f"couldn't get version/kind; json parse error: json: cannot unmarshal {wrong} into {target}"
    return _unreadable(kind, value, path, why)


def _unreadable(kind: Kind, value: Any, path: Path, why: str) -> Verdict:
    return refuse_body(kind, json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"), path, why)


def refuse_body(kind: Kind, body: bytes, path: Path, why: str) -> Verdict:
    """The 400 for a body of which not even the kind can be read. Shows its beginning, in hex when it is no object."""
    shown = body[:30].decode("utf-8", "replace") if body[:1] == b"{" else body[:30].hex()
    shown = shown + " ..." if len(body) > 30 else shown or "<empty>"
    text = f"the object provided is unrecognized (must be of type {kind.name}): {why} ({shown})"
    return Verdict(400, text, (Cause("Decode", path, why, "wrong-kind"),))
