"""From a JSON value to the object that the server holds in memory, or to the text of its HTTP 400.

The result is *normal*: a key is there only when its value is set. Zero values of plain fields, empty lists, empty
maps and nulls are left out; a pointer keeps what was written, also `{}`, `0` and `""`. Two normal objects are equal
exactly when the server's semantic comparison finds them equal.

Expects the values that `json.loads` gives: dict, list, str, bool, int, float, None. A float is written back with
repr() in messages, unless it has another spelling in `text`. Closures that know one type each read what is right; at
the first doubt they give up. Knows no rule of validation.

Source: sigs.k8s.io/json (case-sensitive keys, strict errors, first type error wins, an error of an unmarshaler ends
all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from krmfn.krm.paths import Path, format_path
from krmfn.model.gotext import BadTime, quote, read_microtime, read_time
from krmfn.model.quantity import BadQuantity
from krmfn.model.values import Fields, Names
from krmfn.server.formats import find_corrupt_base64
from krmfn.server.schema import Type
from krmfn.server.spell import read_amount
from krmfn.server.verdict import Cause

_INT32 = range(-(2**31), 2**31)
_INT64 = range(-(2**63), 2**63)


#: Makes a value of a type normal.
Read: TypeAlias = "Callable[[Any], Any]"
_NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


class Normal(dict[str, "Any"]):
    """The root of a normal object, with the value that it was read from."""

    __slots__ = ("written",)
    written: Any


class Unclean(Exception):
    """Something in the value is not as it should be: an _Explainer says what."""


class Decoded(NamedTuple):
    """`value` is normal; `problems` is empty or ends the request (HTTP 400) with `text` behind "cannot be handled
    as"."""

    value: Fields
    problems: tuple[Cause, ...] = ()
    text: str = ""


def read(root: Type, value: Any, version: str, duplicates: Iterable[Path] = ()) -> Decoded:
    """The normal form of `value`, or what is wrong with it. `version` names the Go package of the kind's own types in
    messages, `duplicates` are the paths of keys that the text had twice (a dict cannot say so)."""
    if not duplicates:
        try:
            return Decoded(decode(root, value))
        except Unclean:
            pass
    return _Explainer(version, duplicates).run(root, value)


def decode(root: Type, value: Any) -> Fields:
    """The normal form of `value` as `root`. Raises Unclean."""
    try:
        return _decoder(root)(value) if value is not None else {}
    except (KeyError, BadTime, BadQuantity):
        raise Unclean from None


def _decoder(of: Type) -> Read:
    made: Read | None = of.cache.get("decode")
    if made is None:
        made = of.cache["decode"] = _make(of)
    return made


def _make(of: Type) -> Read:
    if of.kind == "struct":
        return _make_struct(of)
    if of.kind in ("list", "map"):
        return _make_items(of)
    if of.kind == "quantity":
        return partial(read_amount, exponents=bool(of.keywords.get("exponents")))
    return _PLAIN[of.kind]


def _make_struct(of: Type) -> Read:
    table: dict[str, tuple[type | None, Read, bool]] = {}

    def decode_struct(value: Any) -> Any:
        if type(value) is not dict:
            raise Unclean
        if not table and of.fields:
            for field in of.fields.values():
                table[field.name] = (_AS_IT_IS.get(field.type.kind), _decoder(field.type), field.pointer)
        out = {}
        for key, item in value.items():
            as_it_is, read, pointer = table[key]
            if item is not None:
                content = item if type(item) is as_it_is else read(item)
                if content or pointer:
                    out[key] = content
        return out

    return decode_struct


def _make_items(of: Type) -> Read:
    """The decoder of a list or a map."""
    assert of.item is not None
    as_it_is, read, zero = _AS_IT_IS.get(of.item.kind), _decoder(of.item), zero_of(of.item)

    def decode_list(value: Any) -> Any:
        if type(value) is not list:
            raise Unclean
        return [item if type(item) is as_it_is else zero() if item is None else read(item) for item in value]

    def decode_map(value: Any) -> Any:
        if type(value) is not dict:
            raise Unclean
        return {
            key: item if type(item) is as_it_is else zero() if item is None else read(item)
            for key, item in value.items()
        }

    return decode_list if of.kind == "list" else decode_map


def zero_of(of: Type) -> Callable[[], Any]:
    """What an item of a list or a map is where it is null."""
    if of.kind == "quantity":
        return lambda: read_amount(0)
    return {"struct": dict, "map": dict, "list": list, "string": str, "bytes": str, "bool": bool}.get(of.kind, int)


def _make_plain(fits: Callable[[Any], bool]) -> Read:
    def decode_plain(value: Any) -> Any:
        if fits(value):
            return value
        raise Unclean

    return decode_plain


def _fits_bytes(value: Any) -> bool:
    if type(value) is list:  # Go reads bytes one by one, too
        return all(item is None or (type(item) is int and 0 <= item <= 255) for item in value)
    return type(value) is str and find_corrupt_base64(value) is None


def _make_time(read: Callable[[str], str]) -> Read:
    def decode_time(value: Any) -> Any:
        if type(value) is not str:
            raise Unclean
        return read(value)

    return decode_time


#: What is taken as it is, without a call.
_AS_IT_IS = {"string": str, "bool": bool}
_TEXT = _make_plain(lambda value: type(value) is str)
_PLAIN = {
    "string": _TEXT,
    "duration": _TEXT,
    "bool": _make_plain(lambda value: type(value) is bool),
    "int32": _make_plain(lambda value: type(value) is int and value in _INT32),
    "int64": _make_plain(lambda value: type(value) is int and value in _INT64),
    "bytes": _make_plain(_fits_bytes),
    "time": _make_time(read_time),
    "microtime": _make_time(read_microtime),
    "intorstring": _make_plain(lambda value: type(value) is str or (type(value) is int and value in _INT32)),
    "float64": _make_plain(lambda value: type(value) is int or type(value) is float),
    "any": _make_plain(lambda value: True),
}


class _Hard(Exception):
    """An unmarshaler's own error: reported at once, before type errors that came first."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.path = path
        self.message = message


class _At(NamedTuple):
    """Where a value stands: its path, and the struct and the names of Go on the way to it."""

    path: Path = ()
    struct: str = ""
    names: Names = ()

    def step(self, part: str | int) -> _At:
        return self._replace(path=(*self.path, part))


class _Explainer:
    """The decoder with paths and the server's words: it keeps the first type error, and all strict errors."""

    def __init__(self, version: str, duplicates: Iterable[Path]) -> None:
        self.version = version
        self.duplicates = {format_path(path): path for path in duplicates}
        self.first: Cause | None = None
        self.strict: dict[str, Cause] = {}

    def run(self, root: Type, value: Any) -> Decoded:
        try:
            out = self.read(root, value, _At()) if value is not None else {}
        except _Hard as error:
            return Decoded({}, (Cause("Decode", error.path, error.message, "bad-value"),), error.message)
        if self.first:
            return Decoded({}, (self.first,), self.first.message)
        problems = tuple(self.strict.values())[:100]
        if not problems:
            return Decoded(out)
        return Decoded(out, problems, "strict decoding error: " + ", ".join(problem.message for problem in problems))

    def read(self, of: Type, value: Any, at: _At) -> Any:
        if of.kind == "struct":
            return self._struct(of, value, at)
        if of.item:
            return self._items(of, of.item, value, at)
        try:
            return _decoder(of)(value)
        except BadTime as error:
            raise _Hard(at.path, str(error)) from None
        except (Unclean, BadQuantity):
            return self._scalar(of, value, at)

    def _struct(self, of: Type, value: Any, at: _At) -> Any:
        if not isinstance(value, dict):
            return self._wrong(name_json_type(value), of.go, at)
        name = of.go.rpartition(".")[2]
        out = {}
        for key, item in value.items():
            field = of.fields.get(key)
            where = at.step(key)
            if field is None:
                self._strict("unknown-field", "unknown field", where.path)
                continue
            self._find_duplicate(where.path)
            if item is None:
                continue
            names = (field.embedded, key) if field.embedded else (key,)
            read = self.read(field.type, item, _At(where.path, name, (*at.names, *names)))
            if read or (field.pointer and read is not None):
                out[key] = read
        return out

    def _items(self, of: Type, item: Type, value: Any, at: _At) -> Any:
        """Those of a list or a map."""
        zero = zero_of(item)
        if not isinstance(value, list if of.kind == "list" else dict):
            return self._wrong(name_json_type(value), of.go, at)
        if isinstance(value, list):
            return [
                zero() if each is None else self.read(item, each, at.step(index)) for index, each in enumerate(value)
            ]
        out: Fields = {}
        for key, each in value.items():
            self._find_duplicate((*at.path, key))
            out[key] = zero() if each is None else self.read(item, each, at.step(key))
        return out

    def _scalar(self, of: Type, value: Any, at: _At) -> Any:
        """What is no value of its type, unless it is a number that knows how it was written."""
        kind, word, text = of.kind, name_json_type(value), getattr(value, "text", value)
        if kind == "float64" and word == "number":
            return value
        if kind == "quantity":
            if word not in ("number", "string"):
                raise _Hard(at.path, _NO_QUANTITY)
            try:
                return read_amount(text, bool(of.keywords.get("exponents")))
            except BadQuantity as mistake:
                raise _Hard(at.path, str(mistake)) from None
        if kind in ("time", "microtime"):
            raise _Hard(at.path, self._message(word, "string", at))
        if kind == "intorstring":
            raise _Hard(at.path, self._message(_number_word(value), "int32", at))
        if kind == "bytes" and isinstance(value, list):
            for index, item in enumerate(value):
                if item is not None and (type(item) is not int or not 0 <= item <= 255):
                    self._wrong(_number_word(item), "uint8", at.step(index))
        elif kind == "bytes" and isinstance(value, str):
            message = f"illegal base64 data at input byte {find_corrupt_base64(value)}"
            self.first = self.first or Cause("Decode", at.path, message, "bad-value")
        else:
            self._wrong(_number_word(value) if kind in ("int32", "int64") else word, of.go, at)
        return None

    def _find_duplicate(self, path: Path) -> None:
        if self.duplicates and self.duplicates.get(format_path(path)) == path:
            self._strict("duplicate-field", "duplicate field", path)

    def _strict(self, kind: str, word: str, path: Path) -> None:
        text = f"{word} {quote(format_path(path))}"
        self.strict.setdefault(text, Cause("Decode", path, text, kind))

    def _wrong(self, word: str, go: str, at: _At) -> None:
        self.first = self.first or Cause("Decode", at.path, self._message(word, go, at), "wrong-type")

    def _message(self, word: str, go: str, at: _At) -> str:
        # A type of the kind's own package is written without it in the schema: several versions share the file.
        prefix, bracket, name = go.rpartition("]")
        if name[:1].isupper() and "." not in name:
            name = f"{self.version}.{name}"
        where = f"struct field {at.struct}.{'.'.join(at.names)}" if at.struct else "value"
        return f"json: cannot unmarshal {word} into Go {where} of type {prefix}{bracket}{name}"


def name_json_type(value: Any) -> str:
    """What Go's decoder calls the value: object, array, string, number or bool."""
    if type(value) is bool:
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, float)):
        return "number"
    return "array" if isinstance(value, list) else "object"


def _number_word(value: Any) -> str:
    """Where a number is wanted, a wrong number is named with its spelling."""
    word = name_json_type(value)
    return f"number {getattr(value, 'text', None) or repr(value)}" if word == "number" else word
