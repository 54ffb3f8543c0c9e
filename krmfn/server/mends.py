"""What was probably meant by what a server cannot decode, where that is sure: the words of other releases, of the
enhancement proposals and of other schedulers, and values in another form or at another place.

The words are data: `schemas/kubernetes/dialects.json`, which README.md beside it explains. Edits no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from krmfn.krm.editing import REMOVED, edit_copy
from krmfn.krm.errors import EditRefused
from krmfn.krm.paths import Path, dig, format_path
from krmfn.krm.results import ABSENT
from krmfn.model.findings import EditStep
from krmfn.model.gotext import parse_int
from krmfn.model.kinds import KINDS
from krmfn.model.values import Fields, Value
from krmfn.model.wording import find_nearest
from krmfn.releases import schemastore
from krmfn.releases.release import Release
from krmfn.releases.spelling import read_mode
from krmfn.server.schema import Type, field_of
from krmfn.server.verdict import Cause

#: How alike a mistyped field is to the only one that was meant.
_ALIKE = 0.85
#: Fields that people leave out, or write too early, on the way to the one that they mean.
_WRAPS = ("spec", "template")
#: Fields that objects have at several places.
_ALWAYS = frozenset({"metadata", "spec", "kind", "apiVersion"})
#: What a reference may have besides a name, which the field that takes the name implies.
_IMPLIED = frozenset({"name", "kind", "apiVersion", "apiGroup", "group"})


class Mend(NamedTuple):
    """The steps that mend a cause, in order; the name or the form that was meant, for people (empty: nothing is), and
    what has no place in it, or why."""

    steps: tuple[EditStep, ...]
    meant: str
    dropped: str = ""


def find_mend(root: Type, value: Any, cause: Cause, release: Release) -> Mend | None:
    """What mends a cause of a server that could not decode `value`, None where nobody can be sure."""
    fitting = _Reshaper(release)
    mend: Mend | None = None
    if cause.rule == "unknown-field" and isinstance(cause.path[-1], str):
        if cause.path[0] == "status":
            return Mend((EditStep(("status",)),), "", "the server fills it in")
        for above in _list_around(cause.path):
            mend = mend or _move(root, value, cause.path, above, fitting)
    elif cause.rule == "wrong-type" and cause.path:
        mend = _reshape(root, value, cause.path, fitting)
    return mend._replace(dropped=", ".join(fitting.dropped)) if mend and fitting.dropped else mend


def carry_out(value: Any, steps: Iterable[EditStep]) -> Any:
    """The object after some steps; collections on the way are copied. Raises EditRefused."""
    for path, new, key in steps:
        if key:
            *above, word = path
            holder = dig(value, *above)
            if not isinstance(holder, dict):
                raise EditRefused(f"{format_path(path)} does not exist")
            value = edit_copy(value, tuple(above), 0, {key if name == word else name: holder[name] for name in holder})
        else:
            value = edit_copy(value, path, 0, REMOVED if new is ABSENT else new)
    return value


def find_type(root: Type, path: Path) -> Type | None:
    """The type of the value at a path, None where the type has nothing there."""
    of: Type | None = root
    for part in path:
        of, _ = field_of(of, str(part))
    return of


def find_advice(parent: Type, word: str) -> str:
    """What to do about a field that `parent` does not have, where that is not one edit; empty where it is not known."""
    return next((each[1:] for each in _read_row(parent, word) if each[0] == "?"), "")


def _read_row(parent: Type, word: str) -> list[str]:
    """What the dialects say of a field of a type."""
    rows: Value = schemastore.load("kubernetes/dialects.json").get(parent.go.rpartition(".")[2], {})
    row = rows.get(word, rows.get(word[:1].lower() + word[1:], []))
    return row if isinstance(row, list) else ["#" if row is None else row]


def _find_targets(parent: Type, word: str, alike: float = _ALIKE) -> list[str]:
    """Where the value of a field that `parent` does not have may belong, the likeliest first; `#` and a reason for
    nowhere, none where it is not sure."""
    targets = _read_row(parent, word)
    known = [each for each in targets if each[0] in ".#" or find_type(parent, tuple(each.split(".")))]
    if known or find_advice(parent, word):
        return known
    if near := find_nearest(word, parent.fields, alike):
        return [near]
    inside = [(name, parent.fields[name].type) for name in _WRAPS if name in parent.fields]
    found = [(name, _find_targets(of, word, alike)) for name, of in inside if of.kind == "struct"]
    return [f"{name}.{target}" for name, targets in found for target in targets if target[0] not in ".#"]


def _list_around(path: Path) -> Iterator[Path]:
    """The struct that a field is in, and those around it up to the next list, which a wrong indentation may mean."""
    for length in range(len(path) - 1, -1, -1):
        yield path[:length]
        if length and (isinstance(path[length - 1], int) or path[-1] in _ALWAYS):
            return


def _move(root: Type, value: Any, path: Path, above: Path, fitting: _Reshaper) -> Mend | None:
    """A field under another name, or at another place of the struct at `above`."""
    word, is_here = str(path[-1]), above == path[:-1]
    parent = find_type(root, above)
    if parent is None or parent.kind != "struct":
        return None
    written = dig(value, *path)
    labels = (*above[:-1], "template", "metadata", "labels", word)
    if parent.go.endswith("LabelSelector") and dig(value, *labels, default=ABSENT) == written:
        return Mend((EditStep((*above, "matchLabels", word), written), EditStep(path)), "matchLabels")
    targets = [word] if word in parent.fields else _find_targets(parent, word, _ALIKE if is_here else 1)
    if not is_here:
        targets = [each for each in targets if each[0] not in ".#"]
    if not targets:
        return None
    target, fitted = fitting.choose(parent, word, written, targets)
    if target[0] == "#":
        return Mend((EditStep(path),), "", target[1:])
    if target == ".":
        return _lift(parent, value, path, fitted)
    names: Path = tuple(int(each) if each.isdigit() else each for each in target.split("."))
    place = (*above, *names)
    of = find_type(parent, names)
    if of is None or not _suits(of, fitted):
        return None
    if 0 in names:
        end = names.index(0)
        listed = (*above, *names[:end])
        known = of.fields if (of := find_type(root, path[:-1])) else {}
        is_alone = all(key in known or key == word for key in dig(value, *path[:-1]))  # another may be the list
        there, name = dig(value, *listed), dig(value, "metadata", "name")
        if not there and is_alone and isinstance(name, str):
            entry = edit_copy({"name": name}, names[end + 1 :], 0, fitted)
            return Mend((EditStep(listed, [entry]), EditStep(path)), target)
        if len(there or ()) != 1:
            return None  # of several, nobody can say which
    there = dig(value, *place, default=ABSENT)
    merged = _merge(there, fitted)
    if merged is ABSENT:
        return None
    renames = there is ABSENT and is_here and len(names) == 1
    changed = (EditStep(place, merged),) if merged != (written if renames else there) else ()
    return Mend((EditStep(path, key=target), *changed) if renames else (*changed, EditStep(path)), target)


def _lift(parent: Type, value: Any, path: Path, fitted: Any) -> Mend | None:
    """What is in a field, one level up, where nothing else is there."""
    above = path[:-1]
    if not isinstance(fitted, dict) or not fitted.keys() <= parent.fields.keys():
        return None
    if any(dig(value, *above, key, default=each) != each for key, each in fitted.items()):
        return None
    return Mend((*(EditStep((*above, key), each) for key, each in fitted.items()), EditStep(path)), ", ".join(fitted))


def _reshape(root: Type, value: Any, path: Path, fitting: _Reshaper) -> Mend | None:
    """A value in the form of its type, with what stands beside it and belongs into it."""
    *above, word = path
    of, parent, written = find_type(root, path), find_type(root, tuple(above)), dig(value, *path)
    if of is None:
        return None
    if written is False and of.kind == "struct":
        return Mend((EditStep(path),), "", "without it, it is off")
    fitted, beside = fitting.fit(of, written), list[EditStep]()
    holder = dig(value, *above)
    if isinstance(fitted, dict) and fitted != written and parent and parent.kind == "struct":
        for key in holder:
            targets = [] if key in parent.fields else _find_targets(parent, key)
            if targets and targets[0].startswith(f"{word}."):
                inner = tuple(targets[0].split(".")[1:])
                more = edit_copy({}, inner, 0, fitting.fit(find_type(of, inner) or of, holder[key]))
                fitted, beside = _merge(fitted, more), [*beside, EditStep((*above, key))]
    if fitted is ABSENT or fitted == written or (isinstance(written, str | bool) and not is_whole(of, fitted)):
        return None
    import json  # few mistakes are of this kind

    return Mend((EditStep(path, fitted), *beside), json.dumps(fitted))


def _merge(one: Any, other: Any) -> Any:
    """Both values in one; ABSENT where they contradict each other."""
    if one is ABSENT or one == other:
        return other
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ABSENT
    made = {**one, **{key: _merge(one.get(key, ABSENT), each) for key, each in other.items()}}
    return ABSENT if any(each is ABSENT for each in made.values()) else made


def _suits(of: Type, value: Any) -> bool:
    """Whether a value has the form of a type."""
    return isinstance(value, {"struct": dict, "map": dict, "list": list}.get(of.kind, str | int | float))


def is_whole(of: Type, value: Any) -> bool:
    """Whether a value has the form of a type, all that it has to have and nothing else."""
    if not _suits(of, value):
        return False
    if of.kind == "list":
        return all(of.item is None or is_whole(of.item, each) for each in value)
    if of.kind != "struct":
        return True
    needed = {name for name, field in of.fields.items() if field.required}
    if not needed <= value.keys() <= of.fields.keys():
        return False
    return all(is_whole(of.fields[key].type, each) for key, each in value.items())


class _Reshaper:
    """Puts values into the form of types, where one is meant for sure, and keeps what has no place there: `dropped`."""

    def __init__(self, release: Release) -> None:
        self.dropped: list[str] = []
        self._release = release

    def choose(self, parent: Type, word: str, value: Any, targets: list[str]) -> tuple[str, Any]:
        """The target that takes a value as a whole, else the first, with the value in the form of its type."""
        tried = []
        for target in targets:
            trial = _Reshaper(self._release)
            of = parent if target == "." else find_type(parent, tuple(target.split(".")))
            if word == "apiVersion" and target == "apiGroup" and isinstance(value, str):
                fitted = value.rpartition("/")[0]
            else:
                fitted = trial.fit(of, value) if of else value
            tried.append((target, fitted, trial.dropped, target[0] == "#" or (of and is_whole(of, fitted))))
        target, fitted, dropped, _ = next((each for each in tried if each[3]), tried[0])
        self.dropped += dropped
        return target, fitted

    def fit(self, of: Type, value: Any) -> Any:
        """The value in the form of a type, where one is meant for sure; else the value itself."""
        modes = self._release.modes if of.go.endswith("DisruptionMode") else {}
        if (mode := _read_mode(value)) in modes:
            return modes[mode]
        if of.kind == "struct":
            return self._fit_struct(of, value)
        if of.kind == "list" and of.item:
            return self._fit_list(of.item, value)
        if of.kind == "map" and of.item and isinstance(value, dict):
            return {key: self.fit(of.item, each) for key, each in value.items()}
        return _fit_scalar(of, value)

    def _fit_list(self, of: Type, value: Any) -> Any:
        if isinstance(value, list):
            return [self.fit(of, each) for each in value]
        if isinstance(value, dict) and value and of.kind == "struct" and "name" in of.fields:
            named = [{"name": key, **each} for key, each in value.items() if isinstance(each, dict)]
            if len(named) == len(value) and not any(key in of.fields or _find_targets(of, key) for key in value):
                return [self.fit(of, each) for each in named]
        fitted = self.fit(of, value)
        return [fitted] if isinstance(fitted, dict) == (of.kind == "struct") else value

    def _fit_struct(self, of: Type, value: Any) -> Any:
        if isinstance(value, list):
            return self.fit(of, value[0]) if len(value) == 1 else value
        if isinstance(value, dict):
            return self._fit_fields(of, value)
        if value is True:
            return {}
        if isinstance(value, str) and of.union:
            member = next((each for each in (value.lower(), *_read_row(of, value)) if each in of.union), "")
            return {member: {}} if member else value
        if isinstance(value, str) and "apiGroup" in of.fields and (found := _read_reference(value)):
            return found
        own = next(iter(of.fields if len(of.fields) == 1 else _read_row(of, "")), "")
        if own in of.fields and isinstance(value, str | int):
            field = of.fields[own].type
            fitted = self.fit(field, value)
            if _suits(field, fitted) and (
                field.kind == "struct" or isinstance(fitted, str) == (field.kind == "string")
            ):
                return {own: fitted}
        return value

    def _fit_fields(self, of: Type, value: Value) -> Fields:
        """The fields of a struct under the names that it has; what is not sure stays."""
        made: Any = {}
        for key, each in value.items():
            targets = [key] if key in of.fields else _find_targets(of, key)
            target, fitted = self.choose(of, key, each, targets) if targets else ("", each)
            if target.startswith("#"):
                self.dropped.append(key)
                continue
            if target == ".":
                fits = isinstance(fitted, dict) and fitted.keys() <= of.fields.keys()
                more = fitted if fits else {key: each}
            else:
                more = edit_copy({}, tuple(target.split(".")) if targets else (key,), 0, fitted)
            merged = _merge(made, more)
            made = {**made, key: each} if merged is ABSENT else merged
        return dict(made)


def _fit_scalar(of: Type, value: Any) -> Any:
    if of.kind == "string":
        if isinstance(value, dict) and isinstance(value.get("name"), str) and value.keys() <= _IMPLIED:
            return value["name"]
        return str(value).lower() if isinstance(value, int) else value
    if of.kind in ("int32", "int64"):
        if isinstance(value, dict) and len(value) == 1:
            [inner] = value.values()
            return inner if type(inner) is int else value
        number = parse_int(value.strip()) if isinstance(value, str) else None
        return value if number is None else number
    if of.kind == "bool" and isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def _read_reference(written: str) -> dict[str, str]:
    """What `Job/train` refers to: the kind of Kubernetes of that name, else the only one that is known."""
    kind, _, name = written.partition("/")
    found = [each for each in KINDS.values() if name and each.name.lower() == kind.lower()]
    found = [each for each in found if "." not in each.group] or found
    return {"apiGroup": found[0].group, "kind": found[0].name, "name": name} if len(found) == 1 else {}


def _read_mode(written: Any) -> str:
    """The name of a disruption mode, as releases and proposals write it."""
    if not isinstance(written, str):
        return read_mode(written)
    word = written.removeprefix("DisruptionMode")
    return read_mode(word) or read_mode(word.lower()) or word
