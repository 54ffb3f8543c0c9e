"""What was probably meant by what a server cannot decode, where that is sure: the words of other releases, of the
enhancement proposals and of other schedulers, and values in another form.

The words are data (`schemas/kubernetes/dialects.json`): by Go type, a field that it does not have, and where its value
belongs, as a path from the same struct; null where the server would only drop it, and `.` where what is in it belongs
one level up. Edits no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from krmfn.krm.editing import REMOVED, edit_copy
from krmfn.krm.paths import Path, dig
from krmfn.krm.results import ABSENT
from krmfn.model.findings import EditStep
from krmfn.model.gotext import parse_int
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.releases.release import Release
from krmfn.releases.spelling import read_mode
from krmfn.server.schema import Type
from krmfn.server.verdict import Cause

#: How alike a mistyped field is to the only one that was meant.
_ALIKE: Final = 0.85


class Mend(NamedTuple):
    """The steps that mend a cause, in order, and the name or the form that was meant, for people."""

    steps: tuple[EditStep, ...]
    meant: str


def find_mend(root: Type, value: Any, cause: Cause, release: Release) -> Mend | None:
    """What mends a cause of a server that could not decode `value`, None where nobody can be sure."""
    if cause.rule == "unknown-field" and isinstance(cause.path[-1], str):
        parent = find_type(root, cause.path[:-1])
        return _move(parent, value, cause.path, release) if parent and parent.kind == "struct" else None
    if cause.rule == "wrong-type" and cause.path:
        of, written = find_type(root, cause.path), dig(value, *cause.path)
        fitted = written if of is None else _fit(of, written, release)
        if fitted is not written and fitted != written:
            return Mend((EditStep(cause.path, fitted),), f"{_spell(fitted)}")
    return None


def carry_out(value: Any, steps: Iterable[EditStep]) -> Any:
    """The object after some steps; collections on the way are copied. Raises EditRefused."""
    for path, new, key in steps:
        if key:
            *above, word = path
            holder = dig(value, *above)
            value = edit_copy(value, tuple(above), 0, {key if name == word else name: holder[name] for name in holder})
        else:
            value = edit_copy(value, path, 0, REMOVED if new is ABSENT else new)
    return value


def find_type(root: Type, path: Path) -> Type | None:
    """The type of the value at a path, None where the type has nothing there."""
    of: Type | None = root
    for part in path:
        if of is None:
            return None
        if of.kind == "struct":
            field = of.fields.get(str(part))
            of = field.type if field else None
        else:
            of = of.item
    return of


def _move(parent: Type, value: Any, path: Path, release: Release) -> Mend | None:
    """A field under another name, or at another place below the same struct."""
    *above, word = path
    target = _find_target(parent, str(word))
    written = dig(value, *path)
    if target is None:
        return None
    if not target:
        return Mend((EditStep(path),), "")
    if target == ".":
        return _lift(parent, value, path, release)
    names = target.split(".")
    place = (*above, *names)
    of = find_type(parent, tuple(names))
    if word == "apiVersion" and names == ["apiGroup"] and isinstance(written, str):
        written = written.rpartition("/")[0]
    if of is None:
        return None
    fitted = _fit(of, written, release)
    if not _suits(of, fitted):
        return None
    there = dig(value, *place, default=ABSENT)
    if there is not ABSENT:
        return Mend((EditStep(path),), target) if there == fitted else None
    if len(names) > 1:
        return Mend((EditStep(place, fitted), EditStep(path)), target)
    changed = (EditStep(place, fitted),) if fitted != dig(value, *path) else ()
    return Mend((EditStep(path, key=target), *changed), target)


def _lift(parent: Type, value: Any, path: Path, release: Release) -> Mend | None:
    """What is in a field, one level up. A text there is the first field that the struct has."""
    written, above = dig(value, *path), path[:-1]
    if isinstance(written, str):
        written = {next(iter(parent.fields)): written}
    fitted = _fit(parent, written, release) if isinstance(written, dict) else None
    if not isinstance(fitted, dict) or not fitted.keys() <= parent.fields.keys():
        return None
    if any(dig(value, *above, name, default=each) != each for name, each in fitted.items()):
        return None
    return Mend((*(EditStep((*above, name), each) for name, each in fitted.items()), EditStep(path)), ", ".join(fitted))


def _find_target(parent: Type, word: str) -> str | None:
    """Where the value of a field that `parent` does not have belongs; empty for nowhere, None where it is not sure."""
    row: Mapping[str, str | None] = schemastore.load("kubernetes/dialects.json").get(parent.go.rpartition(".")[2], {})
    if word in row:
        target = row[word]
        if target is None or target == ".":
            return target or ""
        return target if find_type(parent, tuple(target.split("."))) else None
    return find_nearest(word, parent.fields, _ALIKE) or None


def _fit(of: Type, value: Any, release: Release) -> Any:
    """The value in the form of a type, where one is meant for sure; else the value itself."""
    if of.go.endswith("DisruptionMode") and (mode := _read_mode(value)) in release.modes:
        return release.modes[mode]
    if of.kind == "struct":
        return _fit_struct(of, value, release)
    if of.kind == "list" and of.item:
        values = value if isinstance(value, list) else [value]
        fitted = [_fit(of.item, each, release) for each in values]
        wraps = not isinstance(value, list) and isinstance(fitted[0], dict) != (of.item.kind == "struct")
        return value if wraps else fitted
    if of.kind == "map" and of.item and isinstance(value, dict):
        return {key: _fit(of.item, each, release) for key, each in value.items()}
    return _fit_scalar(of, value)


def _suits(of: Type, value: Any) -> bool:
    """Whether a value has the form of a type."""
    return isinstance(value, {"struct": dict, "map": dict, "list": list}.get(of.kind, str | int | float))


def _fit_struct(of: Type, value: Any, release: Release) -> Any:
    if isinstance(value, list):
        return _fit(of, value[0], release) if len(value) == 1 else value
    if isinstance(value, dict):
        return _fit_fields(of, value, release)
    if isinstance(value, str) and value.lower() == "basic" and "basic" in of.fields:
        return {"basic": {}}
    if len(of.fields) == 1 and isinstance(value, str | int):
        ((name, field),) = of.fields.items()
        fitted = _fit(field.type, value, release)
        if field.type.kind in ("string", "int32", "int64") and isinstance(fitted, str) == (field.type.kind == "string"):
            return {name: fitted}
    return value


def _fit_fields(of: Type, value: Mapping[str, Any], release: Release) -> dict[str, Any]:
    """The fields of a struct under the names that it has; what is not sure stays."""
    made: Any = {}
    for key, each in value.items():
        target = key if key in of.fields else _find_target(of, key)
        if target == ".":
            inner = {next(iter(of.fields)): each} if isinstance(each, str) else each
            made |= _fit_fields(of, inner, release) if isinstance(inner, dict) else {key: each}
        elif target:
            place = tuple(target.split("."))
            below = find_type(of, place)
            if dig(made, *place, default=ABSENT) is ABSENT and below:
                made = edit_copy(made, place, 0, _fit(below, each, release))
        elif target is None:
            made[key] = each
    return dict(made)


def _fit_scalar(of: Type, value: Any) -> Any:
    if of.kind == "string":
        if isinstance(value, dict) and list(value) == ["name"] and isinstance(value["name"], str):
            return value["name"]
        return str(value).lower() if isinstance(value, bool) else str(value) if type(value) is int else value
    if of.kind in ("int32", "int64") and isinstance(value, str):
        number = parse_int(value)
        return value if number is None else number
    if of.kind == "bool" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def _read_mode(written: Any) -> str:
    """The name of a disruption mode, as releases and proposals write it."""
    if not isinstance(written, str):
        return read_mode(written)
    word = written.removeprefix("DisruptionMode")
    return read_mode(word) or read_mode(word.lower()) or word


def _spell(value: Any) -> str:
    import json

    return json.dumps(value)
