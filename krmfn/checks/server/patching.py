"""Changes that are sent as a patch: the three-way apply and server-side apply, as the update that they lead to.

Source: section 2.5 of the reference.
"""

from __future__ import annotations

import json
from typing import Any

from krmfn.checks.server.admission import Facts
from krmfn.checks.server.apply import BadPatch, Misfit, keep_filled, merge_applied
from krmfn.checks.server.body import Address, address_of
from krmfn.checks.server.causes import Cause
from krmfn.checks.server.gotime import BadTime, parse_time
from krmfn.checks.server.kinds import Kind
from krmfn.checks.server.requests import is_live, update
from krmfn.checks.server.spell import to_api
from krmfn.checks.server.verdict import Verdict

_NO_FACTS = Facts()


def apply(kind: Kind, new: Any, old: Any, stored: dict[str, Any], facts: Facts = _NO_FACTS) -> Verdict:
    """Three-way apply: PUT of `new` with what the server had filled into `stored` and no manifest mentions."""
    body = keep_filled(new, _applied(old), to_api(kind.root, stored))
    return update(kind, body, stored, facts, Address(address_of(kind, new).version, *_place(stored)))


def apply_server_side(kind: Kind, new: Any, old: Any, stored: dict[str, Any], facts: Facts = _NO_FACTS) -> Verdict:
    """Server-side apply of `new` by the forced field manager that had applied `old`."""
    where = Address(address_of(kind, new).version, *_place(stored))
    if _manages_fields(kind, new):
        text = "metadata.managedFields must be nil"
        return Verdict(400, text, (Cause("Decode", ("metadata", "managedFields"), text, "metadata-managed-fields"),))
    try:
        body = merge_applied(kind.root, to_api(kind.root, stored), _applied(old), new)
    except BadPatch as error:
        return _refuse_patch(kind, where, error)
    verdict = update(kind, body, stored, facts, where, conditional=False)
    if verdict.code == 400 and verdict.causes[0].rule in ("bad-value", "wrong-type"):
        bad = verdict.causes[0]
        return _refuse_patch(
            kind, where, BadPatch((Misfit(bad.path, "", f"cannot convert: {_unplaced(bad.message)}"),))
        )
    return verdict


def _applied(old: Any) -> Any:
    """The manifest that was applied before: of an object from a server, the one that kubectl noted on it, if any."""
    if not is_live(old):
        return old
    try:
        noted = json.loads(old["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    except (KeyError, TypeError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _manages_fields(kind: Kind, new: Any) -> bool:
    """Whether the manifest brings readable managedFields; unreadable ones are refused when it is typed."""
    meta = new.get("metadata") if isinstance(new, dict) else None
    entries = meta.get("managedFields") if isinstance(meta, dict) else None
    if not isinstance(entries, list):
        return False
    return all(isinstance(entry, dict) and _is_readable(entry) for entry in entries)


def _is_readable(entry: dict[str, Any]) -> bool:
    """Whether an entry of managedFields can be converted: an unreadable one counts as none."""
    texts = ("manager", "operation", "apiVersion", "fieldsType", "subresource")
    return _is_time(entry.get("time")) and all(isinstance(entry.get(name, ""), str | None) for name in texts)


def _is_time(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(parse_time(value)) if isinstance(value, str) else False
    except BadTime:
        return False


def _unplaced(message: str) -> str:
    """A decoder's message without the field: the conversion of a patch reads value by value."""
    head, found, rest = message.partition(" into Go struct field ")
    return f"{head} into Go value of type {rest.partition(' of type ')[2]}" if found else message


def _place(stored: dict[str, Any]) -> tuple[str, str]:
    return stored["metadata"]["namespace"], stored["metadata"]["name"]


def _refuse_patch(kind: Kind, where: Address, error: BadPatch) -> Verdict:
    """The 500 of a manifest that cannot be typed."""
    version = f"{kind.group}/{where.version}"
    what = f"({where.namespace}/{where.name}; {version}, Kind={kind.name})"
    first = error.problems[0].text
    if first.startswith("cannot convert"):
        why = f"failed to convert new object {what} to proper version: unable to convert unstructured object to"
        why += f" {version}, Kind={kind.name}: "
        why += first.removeprefix("cannot convert: ")
    else:
        texts = [f"{problem.label}: {problem.text}" for problem in error.problems]
        listed = texts[0] if len(texts) == 1 else "errors:" + "".join(f"\n  {text}" for text in texts)
        why = f"failed to create typed patch object {what}: {listed}"
    causes = tuple(
        Cause("Decode", problem.path, problem.text, _PATCH_RULES.get(problem.text[:24], "wrong-type"))
        for problem in error.problems
    )
    return Verdict(500, why, causes)


_PATCH_RULES = {"field not declared in sc": "unknown-field", "duplicate entries for ke": "unique-key"}
