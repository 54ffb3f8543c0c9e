"""Changes that are sent as a patch, as the update that they lead to.

`apply` is the three-way apply of kubectl and Argo CD: what the server filled in stays, what the old manifest said and
the new one does not is gone. `apply_server_side` is server-side apply by one forced field manager. `merge` is both for
custom resources, whose definition is turned into types like those of built-in kinds.

Values are JSON as written, not normal. Source: k8s.io/kube-openapi/pkg/schemaconv, and kubectl's JSON merge patch for
what is not a Go type.
"""

from __future__ import annotations

from typing import Any

from krmfn.krm.item import HEAD
from krmfn.krm.json_reading import load_json
from krmfn.krm.paths import dig
from krmfn.model.gotext import BadTime, read_time
from krmfn.model.values import Fields, Value, pick
from krmfn.server.admission import AdmissionFacts
from krmfn.server.merging import BadPatch, merge_applied
from krmfn.server.requests import Address, address_of_change, is_live, update
from krmfn.server.schema import Field, Kind, Type
from krmfn.server.spell import to_api
from krmfn.server.structure import Structure
from krmfn.server.threeway import keep_filled, list_managers, read_applied
from krmfn.server.verdict import Mode, Verdict, refuse_whole

_SCALARS = {"string": "string", "boolean": "bool", "integer": "float64", "number": "float64"}


def apply(kind: Kind, new: Any, old: Any, stored: Fields, facts: AdmissionFacts) -> Verdict:
    """Three-way apply: PUT of `new` with what the server had filled into `stored` and no manifest mentions."""
    return update(kind, keep_filled(kind.root, new, find_applied(old), to_api(kind.root, stored)), stored, facts)


def apply_server_side(kind: Kind, new: Any, old: Any, stored: Fields, facts: AdmissionFacts) -> Verdict:
    """Server-side apply of `new` by the forced field manager that had applied `old`."""
    where = address_of_change(kind, new, stored)
    if _manages_fields(new):
        text = "metadata.managedFields must be nil"
        return refuse_whole(400, "Decode", ("metadata", "managedFields"), text, "metadata-managed-fields")
    try:
        before, others = read_applied(kind.root, old, new) if is_live(old) else (old, [])
        body = merge_applied(kind.root, to_api(kind.root, stored), before, new, others)
    except BadPatch as error:
        return _refuse_patch(kind, where, error)
    verdict = update(kind, body, stored, facts, conditional=False)
    if verdict.code == 400 and verdict.causes[0].rule in ("bad-value", "wrong-type"):
        bad = verdict.causes[0]
        unplaced = (bad._replace(message=_unplaced(bad.message)),)
        return _refuse_patch(kind, where, BadPatch(unplaced, converting=True))
    return verdict


def find_applied(old: Any) -> Any:
    """The manifest that kubectl applied before: of an object from a server, the one that is noted on it, if any."""
    if not is_live(old):
        return old
    try:
        noted = load_json(old["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"])
    except (KeyError, TypeError, ValueError):
        return {}
    return noted if isinstance(noted, dict) else {}


def _manages_fields(new: Any) -> bool:
    """Whether the manifest brings managedFields that can be converted; others are refused when it is typed."""
    entries = dig(new, "metadata", "managedFields")
    return isinstance(entries, list) and all(isinstance(entry, dict) and _is_readable(entry) for entry in entries)


def _is_readable(entry: Value) -> bool:
    """Whether an entry of managedFields can be converted: an unreadable one counts as none."""
    texts = ("manager", "operation", "apiVersion", "fieldsType", "subresource", "time")
    if not all(isinstance(entry.get(name, ""), str | None) for name in texts):
        return False
    try:
        return entry.get("time") is None or bool(read_time(entry["time"]))
    except BadTime:
        return False


def _unplaced(message: str) -> str:
    """A decoder's message without the field: the conversion of a patch reads value by value."""
    head, found, rest = message.partition(" into Go struct field ")
    return f"{head} into Go value of type {rest.partition(' of type ')[2]}" if found else message


def _refuse_patch(kind: Kind, where: Address, error: BadPatch) -> Verdict:
    """The 500 of a manifest that cannot be typed."""
    version = f"{kind.group}/{where.version}"
    what = f"({where.namespace}/{where.name}; {version}, Kind={kind.name})"
    texts = [problem.message for problem in error.problems]
    if error.converting:
        texts[0] = f"error decoding from json: {texts[0]}" if texts[0].startswith("illegal base64") else texts[0]
        why = f"failed to convert new object {what} to proper version: unable to convert unstructured object to"
        why += f" {version}, Kind={kind.name}: {texts[0]}"
    else:
        listed = texts[0] if len(texts) == 1 else "errors:" + "".join(f"\n  {text}" for text in texts)
        why = f"failed to create typed patch object {what}: {listed}"
    return Verdict(500, why, error.problems)


def merge(structure: Structure, value: Value, old: Value, update: Mode) -> Value:
    """The object that the change leads to; metadata is the manifest's. The manifest itself where it is replaced.

    Raises BadPatch where a server-side apply does not fit the definition.
    """
    if update == "replace" or (update == "apply" and not is_live(old)):
        return value
    root = _make(structure, structure.root)
    head = pick(value, HEAD)
    new, stored = _leave_head(value), _leave_head(old)
    if update == "apply":
        kept: Fields = keep_filled(root, new, _leave_head(find_applied(old)), stored)
        return head | kept
    managed = is_live(old) and list_managers(old)
    before, others = read_applied(root, old, value) if managed else (stored, [])
    merged = merge_applied(root, stored, _leave_head(before), new, list(map(_leave_head, others)))
    return head | (merged or {})


def _leave_head(value: Value) -> Fields:
    return {name: item for name, item in value.items() if name not in HEAD}


def _make(structure: Structure, schema: Value) -> Type:
    """The type of a schema; those below it are made when they are met."""
    schema = structure.resolve(schema)
    form = schema.get("type", "")
    values, fields = schema.get("additionalProperties"), schema.get("properties")
    if form == "array" and isinstance(schema.get("items"), dict):
        return Type("list", "", _make(structure, schema["items"]))
    if form == "object" and isinstance(values, dict):
        return Type("map", "", _make(structure, values))
    if form == "object" and fields:
        made = Type("struct", "")
        made.keywords = schema
        made._build = lambda: {name: _make_field(structure, name, below) for name, below in fields.items()}
        return made
    if form == "string" and schema.get("format", "byte") != "byte":
        return Type("time", "")  # any scalar, before its format is looked at
    return Type("any" if schema.get("x-kubernetes-int-or-string") else _SCALARS.get(form, "any"), "")


def _make_field(structure: Structure, name: str, schema: Value) -> Field:
    schema = structure.resolve(schema)
    return Field(name, _make(structure, schema), schema, False, {})
